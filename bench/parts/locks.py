# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""In one process, with the store in memory: the lock beside what a program would use without it.

Ours does the whole protocol each time: it writes and removes lock and lease, as texts, in a store
that others may read and write. The others count permits.
"""

import subprocess

from bench import figures, report

ABOUT = "acquire and release in one process, beside sem_t, a condition, nsync and Go's semaphore"

PAIRS = {"ours": 50000, "sem": 5000000, "condition": 2000000, "nsync": 2000000}
HAND_OFFS = {"ours": 20000, "sem": 200000, "futex": 200000}
THREADS = (1, 2, 8, 64)
WAITERS = (1000, 10000, 100000, 1000000)
DRAINED = 100000  # at most


class Program:
    """bench-locks, and Go's semaphore where Go can build it."""

    def __init__(self, setting):
        setting.build_targets("bench-locks")
        self.path = setting.build / "bench/bench-locks"
        self.go = setting.build_go("semaphore", "locks: Go's semaphore")

    def number(self, task, lock, *arguments):
        """What it prints for this task, or None if this lock can't be had here."""
        path = self.go if lock == "go" else self.path
        if path is None:
            return None
        ended = subprocess.run([path, task, lock, *map(str, arguments)], capture_output=True,
                               text=True, timeout=600, check=False)
        if ended.returncode == 2:
            return None
        if ended.returncode != 0:
            raise RuntimeError(f"{path.name} {task} {lock}: {ended.stderr.strip()}")
        return float(ended.stdout)


def _turns(setting, program, task, counts, *arguments):
    """Each lock in turn, as often as asked: lock -> values; locks that can't be had are left out."""
    values = {lock: [] for lock in counts}
    for _ in range(setting.repeats):
        for lock, count in counts.items():
            value = program.number(task, lock, count, *arguments)
            if value is not None:
                values[lock].append(value)
    return {lock: found for lock, found in values.items() if found}


def _table(title, unit, values):
    rows = [[lock, figures.figure(found, unit).text(),
             figures.ratio(values["ours"], found).text()] for lock, found in values.items()]
    return report.Table(title, ["lock", "each", "ours over it"], rows)


def _chart(name, title, values):
    bars = [(lock, figures.figure(found).median) for lock, found in values.items()]
    return report.Chart(name, title, "ns", bars, is_logarithmic=True)


def _pairs(setting, program, findings):
    values = _turns(setting, program, "pair", PAIRS | {"go": 5000000, "writes": 1000000})
    findings.figures["pair_ns"] = figures.figure(values["ours"], "ns")
    bare = figures.figure(values["writes"], "ns").text()
    over = figures.ratio(values["writes"], values["sem"]).text()
    findings.goals.append(figures.Goal(
        "pair_over_sem", "acquire and release over sem_wait and sem_post",
        figures.ratio(values["ours"], values["sem"]), 3,
        stopped_by=f"the two writes alone (lock and lease made as texts, compared and put into a "
        f"bare hash table under one mutex) take {bare}, {over} times sem_t's pair; ours is "
        f"{figures.ratio(values['ours'], values['writes']).text()} times that, for queue, "
        "deadlines, decisions and history"))
    findings.tables.append(_table("Take and give, one thread, nobody else", "ns", values))
    findings.charts.append(_chart("pair", "Take and give, one thread", values))


def _hand_offs(setting, program, findings):
    values = _turns(setting, program, "hand-off", HAND_OFFS)
    pair = findings.figures["pair_ns"]
    futex = figures.figure(values["futex"], "ns")
    findings.goals.append(figures.Goal(
        "handoff_over_futex", "hand-off to a thread that sleeps over a bare futex's",
        figures.ratio(values["ours"], values["futex"]), 1.2,
        stopped_by=f"a switch of threads alone is the futex's {futex.text()}; a release and an "
        f"acquire without any switch take {pair.text()} in this run, which makes "
        f"{1 + pair.median / futex.median:.2g} times the futex's before anybody has waited. The "
        "rest is the bench's: each side yields its processor until the other one is queued"))
    findings.tables.append(_table("Hand-off between two threads", "ns", values))
    findings.charts.append(_chart("hand-off", "Hand-off between two threads", values))


def _threads(setting, program, findings):
    rows = []
    for number in THREADS:
        counts = {lock: max(10000, count // 20) for lock, count in PAIRS.items()}
        values = _turns(setting, program, "threads", counts | {"go": 100000}, number)
        rows += [[str(number), *row] for row in _table("", "ns", values).rows]
    findings.tables.append(report.Table("Threads for one lock", ["threads", "lock", "each",
                                                                 "ours over it"], rows))


def _waiters(setting, program, findings):
    rows = []
    for count in WAITERS:
        each = figures.figure([program.number("waiters", "ours", count) for _ in range(3)],
                              "bytes")
        served = ("" if count > DRAINED else
                  figures.figure([program.number("drain", "ours", count)], "ns").text())
        rows.append([f"{count:,}", each.text(), served])
    findings.tables.append(report.Table("Waiters in one queue", ["waiters", "memory of each",
                                                                 "time of each"], rows))
    texts = figures.figure([program.number("waiters", "texts", WAITERS[-1])], "bytes")
    megabytes = figures.Figure(*(end * WAITERS[-1] / 1e6 for end in
                                 (each.median, each.low, each.high)), "MB")
    findings.goals.append(figures.Goal(
        "waiters_mb", "memory of 1,000,000 waiters", megabytes, 100,
        stopped_by=f"a waiter takes {each.text()}: name and uid of its pod "
        f"{texts.text()} by themselves, its places in the order of all, in its lane, among "
        "deadlines and (by name and by uid) owners 168 bytes, its node, times, callback and lease "
        "80"))


def run(setting):
    program = Program(setting)
    findings = figures.Findings()
    for task in (_pairs, _hand_offs, _threads, _waiters):
        setting.say(f"locks: {task.__name__.strip('_').replace('_', ' ')}")
        task(setting, program, findings)
    return findings
