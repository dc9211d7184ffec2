# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A small picture of who waited, was bound and was served when."""

WIDTH = 44


def draw(report, rows=40):
    """Lines of text, a block for each node; at most rows pods are drawn in all."""
    begin = report.begin()
    span = max(report.last_success() - begin, 0.001)
    lines = []
    left = rows
    nodes = sorted(report.by_node().items())
    for node, found in nodes:
        lines.append(_heading(node, found, begin))
        found.sort(key=lambda pod: pod.bound.finished)
        share = max(1, left if len(nodes) == 1 else rows // len(nodes))
        for pod in found[:max(0, min(share, left))]:
            lines.append(_row(pod, begin, span))
            left -= 1
        if len(found) > share:
            lines.append(f"  ... and {len(found) - share} more")
    unbound = [pod for pod in report.created if pod.bound is None]
    if unbound:
        names = ", ".join(pod.name for pod in unbound[:5])
        more = f" and {len(unbound) - 5} more" if len(unbound) > 5 else ""
        lines.append(f"never bound: {names}{more}")
    if nodes:
        lines.append("  . waited   # bound, its Allocate under way   | served   "
                     "! bound and never served")
    return lines


def _heading(node, found, begin):
    served = [pod.allocated.finished for pod in found if pod.allocated]
    text = f"node {node}: {len(found)} pods bound, {len(served)} served"
    return text + (f" in {max(served) - begin:.2f} s" if served else "")


def _row(pod, begin, span):
    created = pod.created.received - begin
    bound = pod.bound.finished - begin
    served = pod.allocated.finished - begin if pod.allocated else None
    end = served if served is not None else span
    bar = [" "] * WIDTH
    for place in range(_place(created, span), _place(bound, span)):
        bar[place] = "."
    for place in range(_place(bound, span), _place(end, span) + 1):
        bar[place] = "#"
    bar[_place(end, span)] = "|" if served is not None else "!"
    label = pod.name if len(pod.name) <= 20 else pod.name[:19] + "~"
    text = f"bound {bound:7.3f} s"
    text += f"  served {served:7.3f} s" if served is not None else "  never served"
    retries = f"  ({pod.failed_binds} failed binds)" if pod.failed_binds else ""
    return f"  {label:<20} {''.join(bar)} {text}{retries}"


def _place(moment, span):
    return min(WIDTH - 1, max(0, int(moment / span * (WIDTH - 1))))
