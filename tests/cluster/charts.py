# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The chart of deploy/, by the real helm on a real API server.

First what it renders, for many sets of values; then releases of it, installed, upgraded, rolled back
and removed, with kube-scheduler and hamid started as their objects say.
"""

from cluster import chart_tools, charts_released, charts_rendered


def run(results, plane):
    if plane.minor < 30:
        results.skip("charts", "tried with Kubernetes 1.30 or later")
        return {}
    tools = chart_tools.Tools(plane)
    charts_rendered.run(results, plane, tools)
    charts_released.run(results, plane, tools)
    return {"charts_value_sets": len(charts_rendered.SETS)}
