# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Bursts on a simulated API server, which is quick enough to show what hamid itself can do.

In turns: the bare floor (the same three writes a pod by a tight client without any lock), and
hamid with a caller for each pod and a node side that serves all nodes. Each turn has a server of
its own.
"""

import os

from bench import figures, report, simulated

ABOUT = "bursts of up to 4000 pods on 1000 nodes, simulated: binds a second beside bare writes"
LARGEST = simulated.Size(4000, 1000)
QUICK = (simulated.Size(1, 1), simulated.Size(40, 1), simulated.Size(400, 100), LARGEST)
ALL = (simulated.Size(1, 1), simulated.Size(10, 1), simulated.Size(10, 10),
       simulated.Size(40, 1), simulated.Size(40, 10), simulated.Size(400, 1),
       simulated.Size(400, 10), simulated.Size(400, 100), simulated.Size(4000, 1),
       simulated.Size(4000, 10), simulated.Size(4000, 100), LARGEST)


def turns(setting, size):
    """(floor's bursts, hamid's), another one first each time."""
    found = {simulated.floor: [], simulated.hamid: []}
    for number in range(setting.repeats):
        ways = list(found) if number % 2 == 0 else list(found)[::-1]
        for way in ways:
            burst = way(setting, size)
            if burst.failed:
                raise RuntimeError(f"{size.text}: {burst.failed} binds failed")
            found[way].append(burst)
    return tuple(found.values())


def rate(bursts):
    return figures.figure([burst.size.pods / burst.seconds for burst in bursts], "/s")


def spent(bursts, name):
    """Microseconds of processors that a program took for each pod."""
    return figures.figure([burst.cpu_us[name] for burst in bursts], "us")


def busy(burst, processors):
    """Which part of all processors the programs of a burst had, from 0 to 1."""
    used = sum(burst.cpu_us.values()) * burst.size.pods / 1e6
    return used / (burst.seconds * processors)


def limit(bursts, bare, processors):
    """What a second of the burst went into, as measured in it."""
    shares = ", ".join(f"{name} {spent(bursts, name).median:.0f}" for name in bursts[0].cpu_us)
    part = figures.figure([busy(burst, processors) for burst in bursts]).median
    return (f"us of processors for each pod: {shares}; together {100 * part:.0f} % of "
            f"{processors} processors; the bare writes alone came to {rate(bare).text()}")


def row(size, bare, ours):
    pods = size.pods
    return [size.text, rate(ours).text(), rate(bare).text(),
            figures.ratio([burst.seconds for burst in ours],
                          [burst.seconds for burst in bare]).text(),
            figures.figure([burst.writes / pods for burst in ours]).text(),
            figures.figure([burst.reads / pods for burst in ours]).text(),
            *(spent(ours, name).text() for name in ("hamid", "kubesim"))]


def run(setting):
    setting.build_targets(*simulated.TARGETS)
    findings = figures.Findings()
    rows = []
    for size in QUICK if setting.is_quick else ALL:
        bare, ours = turns(setting, size)
        rows.append(row(size, bare, ours))
        setting.say("kubesim: " + ", ".join(rows[-1]))
        if size != LARGEST:
            continue
        findings.figures["hamid_cpu_us_per_bind"] = spent(ours, "hamid")
        findings.figures["floor_per_second"] = rate(bare)
        findings.goals.append(figures.Goal(
            "binds_per_second", f"binds a second, {size.text} (simulated)", rate(ours), 2000,
            at_least=True, stopped_by=limit(ours, bare, os.cpu_count())))
        findings.notes.append(limit(ours, bare, os.cpu_count()).capitalize() + ".")
    findings.tables.append(report.Table(
        "hamid beside the bare writes, on the simulated server",
        ["burst", "hamid", "bare writes", "time over the bare writes'", "writes a pod",
         "reads a pod", "hamid's processor time a pod", "the server's"], rows))
    return findings
