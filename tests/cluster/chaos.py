# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Bursts on a real control plane whose processes are killed, stopped and cut off.

After each burst its pods must all have been served, within a bounded time of the last
fault; that never two were let in, that no lock was lost and none is left is judged from the
audit log, completed by the store's own history, over everything since the round began.
"""

import random
import time

from checker import events, figures
from cluster import chaos_faults, chaos_history, chaos_world, control_plane, processes

PODS = 40
WITHIN = 60.0
BEGIN_SECONDS = 60
ZERO = (("never two owners at once", "double_holds"),
        ("no lock was taken from an owner that needed it", "covered_locks"),
        ("no pod is stuck", "stuck_pods"),
        ("no lock is left", "locks_left"),
        ("each grant has a higher fence", "fence_violations"),
        ("no pod was bound or served outside its lock", "outside_lock"),
        ("the store has each write that was answered", "lost_writes"))


def plan(rounds, seed):
    """Lists of names, a round each. "all" is each fault once."""
    names = list(chaos_faults.FAULTS)
    if rounds == "all":
        return [names[i:i + 5] for i in range(0, len(names), 5)]
    source = random.Random(seed)
    return [list(chaos_faults.SHORT) if index == 0 else source.sample(names, 3)
            for index in range(int(rounds))]


class Round:
    """The faults of one round, one after the other on one control plane."""

    def __init__(self, results, plane, seed):
        self.results = results
        self.plane = plane
        self.seed = seed
        self.world = chaos_world.World(plane)

    def run(self, names):
        """Yields the figures of one fault after the other."""
        self.world.start()
        self.results.say("two kube-schedulers, two hamid schedulers, two proxies, hamid node "
                         "and the simulated kubelet are ready")
        for name in names:
            yield self._run_fault(name)

    def _run_fault(self, name):
        schedulers, fault = chaos_faults.FAULTS[name]
        source = random.Random(f"{self.seed} {name}")
        world, results = self.world, self.results
        begin_at = source.randrange(4, 16)
        world.create(name, PODS, schedulers)
        begun = world.wait(name, lambda moment: moment.allocated >= begin_at, BEGIN_SECONDS,
                           pause=0.02)
        if not results.check(begun is not None, f"chaos: {name}: the burst is under way"):
            return {"fault": name}
        results.say(f"{name}: {begun.allocated} of {PODS} allocated, now the fault")
        facts = fault(world, name, source)
        ended = time.monotonic()
        count = PODS + facts.get("more_pods", 0)
        done = world.wait(name, lambda moment: moment.allocated == count and not moment.lock,
                          WITHIN)
        values = {"fault": name, "begun_at": begun.allocated, **facts,
                  "recovery_seconds": round(time.monotonic() - ended, 1), **self._judge(name)}
        self._check(name, values, count, done)
        return values

    def _judge(self, name):
        with open(self.plane.audit_log, encoding="utf-8") as file:
            known = events.read(file)
        history = chaos_history.read(self.plane.store)
        complete, gaps = chaos_history.complete(known, history)
        report = figures.Report(complete, figures.Options(pod_prefix=f"{name}-0"))
        outside = [f"{revision} while the lock was '{lock}'"
                   for revision, lock in chaos_history.outside_lock(history)]
        return {**figures.figures(report),
                "outside_lock": len(outside), "outside_lock_writes": outside,
                "lost_writes": len(chaos_history.lost(known, history)),
                "unlogged_writes": gaps,
                "bindings_refused": [event.name for event in known
                                     if event.subresource == "binding" and event.code == 409]}

    def _check(self, name, values, count, done):
        check = self.results.check
        self.results.say(f"{name}: " + ", ".join(
            f"{key} {values[key]}" for key in (
                "recovery_seconds", "makespan_seconds", "failed_binds", "api_calls_per_pod",
                "unlogged_writes", "connections_cut") if key in values))
        check(done is not None, f"chaos: {name}: all is done within {WITHIN:.0f} s of the "
              "last fault", self._unfinished(name))
        check(values["allocated"] == values["bound"] == count,
              f"chaos: {name}: all {count} pods are bound and allocated",
              f"{values['bound']} bound, {values['allocated']} allocated")
        for text, figure in ZERO:
            check(values[figure] == 0, f"chaos: {name}: {text}",
                  values.get(f"{figure}_writes", values[figure]))
        if "late_pod" in values:
            check(values["late_pod"] in values["bindings_refused"],
                  f"chaos: {name}: the late Binding was refused", values["bindings_refused"])
        if "connections_cut" in values and name.endswith("-cut"):
            check(values["connections_cut"] > 0, f"chaos: {name}: connections were cut")

    def _unfinished(self, name):
        moment = self.world.look(name)
        if moment is None:
            return "the API server does not answer"
        return (f"{moment.allocated} allocated, {moment.failed} failed, "
                f"lock '{moment.lock}', lease '{moment.lease}'")


def run(results, version, folder, rounds="1", seed=1):
    """All rounds, each on a control plane of its own; answers the figures of each fault."""
    found = []
    for index, names in enumerate(plan(rounds, seed)):
        results.say(f"chaos: round {index + 1}: {', '.join(names)}; seed {seed}")
        place = folder / f"round-{index + 1}" if folder else None
        try:
            with control_plane.ControlPlane(version, place,
                                            chaos_history.SERVER_FLAGS) as plane:
                for values in Round(results, plane, f"{seed} {index}").run(names):
                    found.append(values)
        except processes.Failed as error:
            results.check(False, f"chaos: round {index + 1} could be run to its end",
                          str(error).replace("\n", "\n# "))
    return {"seed": seed, "faults": found,
            "slowest_recovery_seconds": max((one.get("recovery_seconds", 0.0)
                                             for one in found), default=None)}
