# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The demo from its command line to its exit status."""

import json
import sys

from checker import figures, timeline
from cluster import api, processes
from demo import building, options, real, simulated
from demo.screen import Screen

JSON_FIGURES = ("pods", "bound", "failed_binds", "api_calls_per_pod", "makespan_seconds",
                "makespan_over_serial", "fifo_violations", "double_holds", "covered_locks",
                "stuck_pods", "locks_left", "in_flight_max", "double_serves", "cover_violations")
MUST_BE_ZERO = ("double_holds", "double_serves", "cover_violations", "covered_locks", "stuck_pods", "locks_left")
ROWS = 12


def main(arguments=None):
    asked = options.parse(arguments)
    screen = Screen()
    processes.exit_on_signals()
    try:
        building.prepare(screen)
        world = real.Burst if asked.kubernetes else simulated.Burst
        with world(asked, screen) as burst:
            try:
                report = burst.run()
            finally:
                screen.clear()
                if asked.keep:
                    screen.say(f"logs are kept in {burst.folder}")
    except (processes.Failed, api.Refused, OSError) as error:
        screen.clear()
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        screen.clear()
        print("demo: interrupted; everything that was started has ended", file=sys.stderr)
        return 130
    values = figures.figures(report)
    print("\n".join(timeline.draw(report, ROWS)))
    print(summary(asked, values))
    if asked.json:
        print(json.dumps({name: values[name] for name in JSON_FIGURES}))
    return 0 if is_good(asked, values) else 1


def is_good(asked, values):
    """With a broken binder the good result is that the checker sees the fault."""
    if asked.broken:
        return values[options.BROKEN[asked.broken][0]] > 0
    return values["bound"] == asked.pods and not wrong(values)


def wrong(values):
    """The figures that should be 0 and are not. A pod in back-off is not in the queue, and
    holds up nobody: with failed binds the order of creation is no rule any more. Nor is it
    where pods go side by side: one that can't be taken for any other waits for none."""
    is_ordered = not values["failed_binds"] and values["in_flight_max"] <= 1
    names = (*MUST_BE_ZERO, "fifo_violations") if is_ordered else MUST_BE_ZERO
    return [name for name in names if values[name]]


def summary(asked, values):
    """A sentence or two for a person."""
    if asked.broken:
        return _broken_summary(asked, values)
    nodes = "one node" if asked.nodes == 1 else f"{asked.nodes} nodes"
    text = (f"{values['bound']} of {asked.pods} pods for {nodes} were bound and "
            f"{values['allocated']} allocated in {values['makespan_seconds']:.2f} s")
    if values["in_flight_max"] > 1:
        text += f", up to {values['in_flight_max']} at once"
    if values["makespan_over_serial"] is not None:
        text += (f", {values['makespan_over_serial']:.2f} times what the Allocates of one "
                 "node take")
    text += (f".\n{values['failed_binds']} failed binds, {values['api_calls_per_pod']} API "
             "calls a pod; ")
    found = [f"{values[name]} {name.replace('_', ' ')}" for name in wrong(values)]
    if found:
        return text + "and what should not be: " + ", ".join(found) + "."
    if values["in_flight_max"] > 1:
        return text + "nobody got another pod's devices, nobody stuck, no lock left."
    return text + "never two owners at once, no lock covered, nobody stuck, no lock left."


def _broken_summary(asked, values):
    figure, effect, reason = options.BROKEN[asked.broken]
    count = values[figure]
    if not count:
        return (f"The fault {asked.broken} did not show this time ({figure} is 0): run it "
                "with more --pods or a longer --allocate-ms.")
    times = "once" if count == 1 else f"{count} times"
    text = (f"With the fault {asked.broken}: {times} {effect} ({figure}), because {reason}.\n"
            f"{values['bound']} of {asked.pods} pods were bound, {values['allocated']} "
            f"allocated, {values['failed_binds']} binds failed.")
    refused = values["bound"] - values["allocated"]
    if refused:
        text += (f" hamid's node side refused {refused}: it could not tell whose Allocate "
                 "it was. A plugin that trusts the lock would have guessed.")
    return text
