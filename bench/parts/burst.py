# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""End to end, on a real API server: a burst of pods from their creation to the last success.

In turns: the bare floor (a tight client that does the same calls, or the writes alone, without
any lock) and hamid behind kube-scheduler. Then, alone, an extender that does what HAMi does; its
slow settings take minutes and run once in --quick. All times and counts come from the audit log.
"""

import statistics

from bench import bursts, figures, references, report, stages
from cluster import control_plane, processes

ABOUT = "bursts on a real API server: hamid, bare writes without a lock, an extender like HAMi's"
MAIN = bursts.Size(40, 1)
SPEEDUPS = {references.LIMITED: ("speedup_over_reference", 100),
            references.UNLIMITED: ("speedup_over_reference_unlimited", 50),
            references.POLLING: ("speedup_over_polling", 4)}
# (pods, nodes) and how long kube-scheduler and hamid let a bind wait there.
QUICK = ((bursts.Size(40, 4), "30s"), (bursts.Size(400, 100), "60s"))
MORE = ((bursts.Size(1, 1), "30s"), (bursts.Size(10, 1), "30s"), (bursts.Size(400, 1), "600s"),
        (bursts.Size(400, 10), "60s"), (bursts.Size(4000, 100), "600s"),
        (bursts.Size(4000, 1000), "600s"))
HAMI_SECONDS = {bursts.Size(40, 4): 98.7}  # measured of HAMi v2.10.0 as shipped
LARGE = 1000  # pods; such a burst runs fewer times


def stage_table(ways):
    """Where a pod's time goes, stage by stage, beside the floor; and the sentence about it."""
    rows = []
    excess = []
    for name in stages.NAMES:
        mine = _stage(ways["hamid"], name)
        bare = _stage(ways["floor"], name)
        rows.append([name, f"{mine:.2f}", f"{bare:.2f}"])
        excess.append((mine - bare, name))
    excess.sort(reverse=True)
    told = ", ".join(f"{name} +{more:.2f}" for more, name in excess[:3] if more > 0)
    table = report.Table("A pod's time by stage, in ms (medians)",
                         ["stage", "hamid", "same calls without a lock"], rows)
    return table, f"ms a pod beyond the floor: {told}"


def _stage(outcomes, name):
    found = [value for outcome in outcomes for value in outcome.stages.get(name, ())]
    return statistics.median(found) if found else 0.0


def calls_per_pod(outcomes, which):
    """Writes (0) or reads (1) of hamid's roles from the first pod's creation to the last success,
    as its makespan goes. Once a burst, after that, nobody waits for the lock and it is removed."""
    return [sum(counts[which] for user, counts in outcome.calls.items()
                if user.startswith("hamid")) / outcome.size.pods for outcome in outcomes]


def _goals(turns, limit):
    hamid = turns.seconds("hamid")
    writes = figures.figure(calls_per_pod(turns.outcomes["hamid"], 0))
    reads = figures.figure(calls_per_pod(turns.outcomes["hamid"], 1))
    return [
        figures.Goal("makespan_over_same_calls",
                     "burst of 40 on one node over the same calls without a lock",
                     figures.ratio(hamid, turns.seconds("floor")), 1.05, stopped_by=limit),
        figures.Goal("makespan_over_floor", "burst of 40 on one node over the bare writes",
                     figures.ratio(hamid, turns.seconds("floor-writes")), 1.15,
                     stopped_by=limit),
        figures.Goal("writes_per_pod", "writes of hamid for each pod", writes, 3,
                     stopped_by=_who(turns, 0)),
        figures.Goal("reads_per_pod", "reads of hamid for each pod", reads, 2,
                     stopped_by=_who(turns, 1)),
    ]


def others(outcomes):
    """Calls that the floor has nobody for, though they need the same processors."""
    found = {}
    for outcome in outcomes:
        for user, counts in outcome.calls.items():
            if not user.startswith("hamid") and user != "admin":
                found.setdefault(user, []).append(sum(counts) / outcome.size.pods)
    return "calls of others meanwhile, a pod: " + ", ".join(
        f"{user} {statistics.median(shares):.2f}" for user, shares in sorted(found.items()))


def _floor_goal(turns):
    """That the floor is one: its PATCH takes no longer than a plain loop's of the same turns."""
    patches = turns.extra("floor", "patch_us") + turns.extra("floor-writes", "patch_us")
    loops = turns.extra("floor", "loop_us") + turns.extra("floor-writes", "loop_us")
    in_bursts = turns.extra("floor", "burst_us") + turns.extra("floor-writes", "burst_us")
    return figures.Goal("floor_patch_over_loop",
                        "the floor's PATCH of a node over that of a plain curl_easy_perform",
                        figures.ratio(patches, loops), 1.1,
                        stopped_by=f"{figures.figure(patches, 'us').text()} against "
                        f"{figures.figure(loops, 'us').text()}, in the bursts "
                        f"{figures.figure(in_bursts, 'us').text()}")


def _who(turns, which):
    """Which of hamid's roles makes how many calls."""
    shares = {}
    for outcome in turns.outcomes["hamid"]:
        for user, counts in outcome.calls.items():
            if user.startswith("hamid"):
                shares.setdefault(user, []).append(counts[which] / outcome.size.pods)
    return "a pod: " + ", ".join(f"{user} {statistics.median(found):.2f}"
                                 for user, found in sorted(shares.items()))


def _table(turns, size):
    rows = []
    for name in turns.outcomes:
        seconds = turns.seconds(name)
        rows.append([name, figures.figure(seconds, "s").text(),
                     figures.ratio(seconds, turns.seconds("floor")).text(),
                     str(max(turns.values(name, "failed_binds")))])
    return report.Table(size.text, ["way", "makespan", "over the same calls without a lock",
                                    "failed binds"], rows)


def _main(setting, world, findings):
    hamid = bursts.Hamid(with_free_node=True)
    hamid.start(world, MAIN)
    try:
        turns = bursts.Turns(world, [bursts.Floor(True), hamid, bursts.Floor(True, has_watch=True),
                              bursts.Floor(False), hamid.free_node])
        turns.run(MAIN, setting.repeats)
    finally:
        hamid.stop(world)
    table, limit = stage_table(turns.outcomes)
    watched = figures.ratio(turns.seconds("floor-watch"), turns.seconds("floor"))
    findings.figures["watched_calls_over_same_calls"] = watched
    findings.figures["makespan_over_watched_calls"] = figures.ratio(turns.seconds("hamid"),
                                                                    turns.seconds("floor-watch"))
    limit += (f"; the same calls by one that waits for a watch where hamid and the kubelet have to "
              f"take {watched.text()} of them without")
    limit += "; " + others(turns.outcomes["hamid"])
    findings.goals += _goals(turns, limit)
    for way in ("hamid", "hamid-free-node"):
        for kind in ("writes", "reads"):
            findings.figures[f"{way.replace('-', '_')}_{kind}_per_pod_to_the_end"] = (
                figures.figure(turns.values(way, f"api_{kind}_per_pod")))
    findings.tables += [_table(turns, MAIN), table]
    findings.goals.append(_floor_goal(turns))
    setting.say("burst: " + findings.goals[-1].about + ": " + findings.goals[-1].figure.text())
    return turns


def speedup(kind, theirs, ours):
    """How many times faster each of our turns was than theirs, as the goal that it should meet."""
    name, limit = SPEEDUPS[kind]
    typical = statistics.median(theirs)
    return figures.Goal(name, f"speed-up over a reference that {kind.about}",
                        figures.figure([typical / seconds for seconds in ours]), limit,
                        at_least=True, stopped_by="the reference took "
                        f"{figures.figure(theirs, 's').text()}, hamid "
                        f"{figures.figure(ours, 's').text()}")


def _beside(found, hami):
    """A figure of the reference, and HAMi's where somebody counted."""
    return f"{found:.3g}" + (f" (HAMi {hami})" if hami else "")


def reference_row(kind, outcomes):
    """What the reference did, with what was measured of HAMi beside it."""
    seconds = figures.figure([outcome.seconds for outcome in outcomes], "s")
    low, high = kind.measured
    middle = statistics.median
    pods = kind.size.pods

    def calls(whose):
        return middle(outcome.extra["calls"][whose] / pods for outcome in outcomes)

    return [kind.name, kind.about, seconds.text(),
            f"{low} s" if low == high else f"{low} to {high} s",
            f"{100 * kind.deviation(seconds.median):+.0f} %",
            "yes" if kind.is_close(seconds.median) else "no",
            _beside(middle(outcome.extra["refused"] for outcome in outcomes), kind.refused),
            _beside(calls("extender"), kind.extender_calls), _beside(calls("all"), kind.all_calls),
            f"{middle(outcome.values['allocated'] for outcome in outcomes):g} of {pods}"]


def _references(setting, world, findings, ours):
    program = setting.build_go("reference", "burst: the reference extender")
    if program is None:
        findings.notes.append("The reference extender could not be built here (it needs Go).")
        return
    rows = []
    for kind in references.KINDS + (() if setting.is_quick else (references.FOUR_NODES,)):
        repeats = 1 if kind.is_slow and setting.is_quick else min(setting.repeats, 3)
        setting.say(f"burst: {kind.name}, {repeats} times")
        outcomes = references.run(world, program, kind, repeats)
        seconds = [one.seconds for one in outcomes]
        if kind in SPEEDUPS:
            findings.goals.append(speedup(kind, seconds, ours))
        rows.append(reference_row(kind, outcomes))
        name = kind.name.replace("-", "_")
        findings.figures[name + "_seconds"] = figures.figure(seconds, "s")
        findings.figures[name + "_over_hami"] = figures.figure(
            [one / kind.middle for one in seconds])
        setting.say("burst: " + ", ".join(rows[-1]))
    findings.tables.append(report.Table(
        "The reference beside what was measured of HAMi v2.10.0",
        ["reference", "it", "makespan", "HAMi's", "deviation", "within 15 %", "refused binds",
         "calls of the extender a pod", "of all a pod", "pods served"], rows))


def _chart(turns, findings):
    """The makespans of all, references too where there were some."""
    bars = [(name, statistics.median(turns.seconds(name))) for name in turns.outcomes]
    bars += [(name.removesuffix("_seconds").replace("_", "-"), figure.median)
             for name, figure in findings.figures.items()
             if name.endswith("_seconds") and name != "reference_four_nodes_seconds"]
    return report.Chart("burst", MAIN.text, "s", bars, is_logarithmic=True)


def _size(setting, world, findings, size, patience):
    """hamid and the floor in turns; answers hamid's makespans."""
    hamid = bursts.Hamid(patience)
    repeats = min(setting.repeats, 3) if size.pods >= LARGE else setting.repeats
    hamid.start(world, size)
    try:
        turns = bursts.Turns(world, [bursts.Floor(True), hamid])
        turns.run(size, repeats)
    finally:
        hamid.stop(world)
    findings.tables.append(_table(turns, size))
    return turns


def _sizes(setting, world, findings):
    bars = []
    rows = []
    for size, patience in QUICK + (() if setting.is_quick else MORE):
        turns = _size(setting, world, findings, size, patience)
        over = figures.ratio(turns.seconds("hamid"), turns.seconds("floor"))
        findings.figures[f"makespan_over_same_calls_{size.pods}_on_{size.nodes}"] = over
        bars.append((size.text, over.median))
        each = figures.figure([1000 * one / size.pods for one in turns.seconds("hamid")], "ms")
        hami = HAMI_SECONDS.get(size)
        rows.append([str(size.pods), str(size.nodes), over.text(), each.text(),
                     f"{hami / statistics.median(turns.seconds('hamid')):.0f} times faster"
                     if hami else ""])
    findings.tables.append(report.Table(
        "All sizes", ["pods", "nodes", "makespan over the same calls without a lock",
                      "time a pod", "HAMi v2.10.0 as shipped"], rows))
    findings.charts.append(report.Chart("burst-sizes", "Makespan over the same calls without a lock",
                                        "times", bars))


def run(setting):
    setting.build_targets("hamid", "standin-kubelet", "bench-floor")
    findings = figures.Findings()
    processes.exit_on_signals()
    try:
        with control_plane.ControlPlane(setting.kubernetes, separate_events=True) as plane:
            world = bursts.World(plane, setting.build, setting.say)
            turns = _main(setting, world, findings)
            if setting.with_references:
                _references(setting, world, findings, turns.seconds("hamid"))
            findings.charts.append(_chart(turns, findings))
            _sizes(setting, world, findings)
    except processes.Failed as error:
        raise RuntimeError(str(error)) from error
    return findings
