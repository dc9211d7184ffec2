# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Bursts of pods whose Allocates can't be taken for one another: one at a time, and side by side.

A kubelet makes one Allocate after the other, so that nobody can be faster than their sum. The devices
that each container got are held against the API server's log by tests/cluster/handed.py. In turns, on
one control plane; of pods that are all alike as well, which gain nothing and should lose nothing.
"""

import statistics

from bench import beside, bursts, figures, report
from cluster import control_plane, mixed, processes

ABOUT = "pods between bind and Allocate at once, where their Allocates can't be confused"
SIZE = bursts.Size(40, 1)
MIXED = "1, 2 and 3 devices of one vendor"
SCENES = (("mixed", MIXED, mixed.ONE_VENDOR),
          ("two_vendors", "devices of two vendors, of one or of both", mixed.TWO_VENDORS),
          ("equal", "all alike", mixed.EQUAL))
IN_FLIGHT = (1, 2, 4, beside.MOST)
OVER_SUM = 1.2
NOISE = 1.05
# Over all bursts of all scenes.
JUDGED = ("containers", "right_devices", "double_serves", "double_holds", "cover_violations",
          "covered_locks", "stuck_pods")
PURE_SECONDS = SIZE.pods * bursts.ALLOCATE_MS / 1000


class Floor(bursts.Floor):
    """Of one pod after the other without any lock: as fast as a serial lock could be at best."""

    def pod(self, name, index, node):
        return bursts.pod(name, index, node, self.scheduler, mixed.ONE_VENDOR)


def _turns(setting, rig, ways):
    turns = bursts.Turns(rig.world, ways)
    turns.run(SIZE, setting.repeats)
    return turns


def _judge(findings, turns):
    """What must be nothing in each burst, whoever serves it."""
    for name, outcomes in turns.outcomes.items():
        for outcome in outcomes:
            extra = outcome.extra
            findings["containers"] += extra["containers"]
            findings["right_devices"] += extra["right_devices"]
            # By what the kubelet was answered, and by what was written onto the pods.
            findings["double_serves"] += extra["double_serves"] + outcome.values["double_serves"]
            for figure in ("double_holds", "cover_violations", "covered_locks", "stuck_pods"):
                findings[figure] += outcome.values[figure]
            if extra["right_devices"] != extra["containers"]:
                findings["wrong"].append(f"{name}: {extra['right_devices']} of "
                                         f"{extra['containers']} containers")


def _most(turns, name):
    return figures.figure([max(turns.values(name, "in_flight_max"))])


def _kubelet_row(way, outcomes):
    def told(key):
        return f"{statistics.median(outcome.extra[key] for outcome in outcomes):.3f} s"

    return [way, figures.figure([one.seconds for one in outcomes], "s").text(),
            told("start_seconds"), told("allocate_sum_seconds"), told("idle_seconds"),
            told("end_seconds"), str(max(one.values["in_flight_max"] for one in outcomes)),
            f"{statistics.median(one.values['api_writes_per_pod'] for one in outcomes):.2f}",
            f"{statistics.median(one.values['api_reads_per_pod'] for one in outcomes):.2f}",
            str(max(one.values["refused_422"] for one in outcomes))]


def _kubelet_table(title, turns):
    return report.Table(title, ["way", "makespan", "until the first Allocate", "Allocates",
                                "kubelet idle between them", "after the last", "most in flight",
                                "writes of hamid a pod", "reads", "refused (422)"],
                        [_kubelet_row(name, outcomes) for name, outcomes in turns.outcomes.items()])


def _stage_table(title, turns):
    return report.Table(f"{title}: a pod's time by stage, in ms (medians)",
                        ["stage", *turns.outcomes],
                        [[stage, *(f"{beside.median_stage(outcomes, stage):.2f}"
                                   for outcomes in turns.outcomes.values())]
                         for stage in beside.ALL_STAGES])


def _where(outcomes):
    """Where the time beyond the Allocates goes."""
    parts = {name: statistics.median(outcome.extra[name] for outcome in outcomes)
             for name in ("start_seconds", "idle_seconds", "end_seconds")}
    return (f"until the first Allocate {parts['start_seconds']:.3f} s, the kubelet idle between "
            f"Allocates {parts['idle_seconds']:.3f} s, after the last {parts['end_seconds']:.3f} s")


def _main_figures(found, turns, floor):
    """What the last line tells first."""
    sided = turns.seconds("mixed-beside")
    bare = [outcome.seconds for outcome in floor]
    found["makespan_serial_seconds"] = figures.figure(turns.seconds("mixed-serial"), "s")
    found["makespan_side_by_side_seconds"] = figures.figure(sided, "s")
    found["allocate_sum_seconds"] = figures.figure(
        turns.extra("mixed-beside", "allocate_sum_seconds"), "s")
    found["right_devices"] = figures.figure([min(turns.extra("mixed-beside", "right_devices"))])
    found["double_serves"] = figures.figure([0])  # put right when all scenes are over
    found["containers"] = figures.figure([min(turns.extra("mixed-beside", "containers"))])
    found["in_flight_max"] = _most(turns, "mixed-beside")
    found["allocate_pure_seconds"] = figures.figure([PURE_SECONDS], "s")
    found["makespan_floor_seconds"] = figures.figure(bare, "s")
    found["mixed_side_by_side_over_floor"] = figures.ratio(sided, bare)
    found["mixed_serial_over_floor"] = figures.ratio(turns.seconds("mixed-serial"), bare)


def _scene(setting, rig, findings, judged, scene):
    name, about, kinds = scene
    stem = name.replace("_", "-")
    ways = [beside.Beside(rig, f"{stem}-serial", kinds, beside.SERIAL),
            beside.Beside(rig, f"{stem}-beside", kinds, beside.MOST)]
    turns = _turns(setting, rig, ways + ([Floor(True)] if name == "mixed" else []))
    floor = turns.outcomes.pop("floor", None)
    _judge(judged, turns)
    found = findings.figures
    if floor is not None:
        _main_figures(found, turns, floor)
    serial, sided = (turns.seconds(f"{stem}-{way}") for way in ("serial", "beside"))
    sums = turns.extra(f"{stem}-beside", "allocate_sum_seconds")
    where = _where(turns.outcomes[f"{stem}-beside"])
    over_sum = figures.ratio(sided, sums)
    found[f"{name}_in_flight_max"] = _most(turns, f"{stem}-beside")
    found[f"{name}_serial_over_allocate_sum"] = figures.ratio(
        serial, turns.extra(f"{stem}-serial", "allocate_sum_seconds"))
    findings.goals.append(figures.Goal(
        f"{name}_side_by_side_over_serial", f"{about}: side by side over serial",
        figures.ratio(sided, serial), NOISE if name == "equal" else 1.0, stopped_by=where))
    if name == "equal":
        found["equal_side_by_side_over_allocate_sum"] = over_sum
    else:
        findings.goals.append(figures.Goal(
            f"{name}_side_by_side_over_allocate_sum", f"{about}: side by side over the Allocates",
            over_sum, OVER_SUM, stopped_by=where))
    findings.tables += [_kubelet_table(f"40 pods, {about}", turns), _stage_table(about, turns)]
    setting.say(f"side-by-side, {about}: {figures.figure(sided, 's').text()} against "
                f"{figures.figure(serial, 's').text()}; Allocates "
                f"{figures.figure(sums, 's').text()}")


def _in_flight(setting, rig, findings, judged):
    """Of eight kinds of pods, so that as many could be in flight: where it stops paying."""
    ways = [beside.Beside(rig, "off", mixed.EIGHT, beside.SERIAL)]
    ways += [beside.Beside(rig, f"in-flight-{most}", mixed.EIGHT, most) for most in IN_FLIGHT]
    turns = _turns(setting, rig, ways)
    _judge(judged, turns)
    for most in IN_FLIGHT:
        name = f"in-flight-{most}"
        findings.figures[f"in_flight_{most}_seconds"] = figures.figure(turns.seconds(name), "s")
        findings.figures[f"in_flight_{most}_over_off"] = figures.ratio(turns.seconds(name),
                                                                       turns.seconds("off"))
        findings.figures[f"in_flight_{most}_over_allocate_sum"] = figures.ratio(
            turns.seconds(name), turns.extra(name, "allocate_sum_seconds"))
        findings.figures[f"in_flight_{most}_max"] = _most(turns, name)
    findings.tables += [_kubelet_table("40 pods of eight kinds, by how many may be in flight",
                                       turns), _stage_table("Eight kinds", turns)]
    findings.charts.append(report.Chart(
        "side-by-side", "40 pods of eight kinds on one node, by how many may be in flight", "s",
        [(name, statistics.median(turns.seconds(name))) for name in turns.outcomes]))


def run(setting):
    setting.build_targets("hamid", "standin-kubelet", "bench-floor")
    findings = figures.Findings()
    judged = {**dict.fromkeys(JUDGED, 0), "wrong": []}
    processes.exit_on_signals()
    try:
        with control_plane.ControlPlane(setting.kubernetes, separate_events=True) as plane:
            rig = beside.Rig(bursts.World(plane, setting.build, setting.say))
            rig.start()
            for scene in SCENES:
                _scene(setting, rig, findings, judged, scene)
            _in_flight(setting, rig, findings, judged)
    except processes.Failed as error:
        raise RuntimeError(str(error)) from error
    findings.figures["double_serves"] = figures.figure([judged["double_serves"]])
    findings.figures.update({f"all_{name}": figures.figure([judged[name]])
                             for name in JUDGED if name != "double_serves"})
    findings.notes += [f"Wrong devices: {text}." for text in judged["wrong"]]
    return findings
