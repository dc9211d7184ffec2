# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Two API servers behind a balancer are restarted one after the other in the middle of a burst.

Each gets SIGTERM and takes its time, as in a cluster that is upgraded: not ready at first, then
no new connections, HTTP/2 clients are sent away, and what is under way is finished. Besides,
each server sends clients away at random (GOAWAY) all the time. Nobody's bind may fail by that.
"""

import itertools
import json
import sys
import time

from checker import events, figures
from cluster import control_plane, interplay_world, suites

PODS = 240
NODES = 4
ALLOCATE_MS = 250
BEGIN_AT = 20
WITHIN = 180.0
SERVERS = ("kube-apiserver", "kube-apiserver-2")
END_SECONDS = 90.0
FLAGS = ("--shutdown-delay-duration=2s", "--shutdown-watch-termination-grace-period=2s",
         "--goaway-chance=0.01")


class World(interplay_world.World):
    """Reads what both servers wrote down."""

    def read_log(self):
        with (open(self.plane.audit_log, encoding="utf-8") as first,
              open(self.plane.second_audit_log, encoding="utf-8") as second):
            return events.read(itertools.chain(first, second))


def _start_balancer(plane, ports):
    addresses = plane.folder / "balancer.address"
    token = plane.folder / "balancer.token"
    token.touch(mode=0o600)
    token.write_text(plane.tokens["admin"], encoding="ascii")
    child = plane.group.start("balancer", [
        sys.executable, "-B", suites.ROOT / "tests/cluster/balancer.py",
        *(f"--server={port}" for port in ports), f"--authority={plane.certificates / 'ca.crt'}",
        f"--token-file={token}", f"--address-file={addresses}"])
    plane.group.wait_until("balancer", child, addresses.exists, 60)
    plane.use_server(int(addresses.read_text(encoding="ascii").split(":")[1]))
    plane.group.wait_until("balancer", child, plane.client().is_ready, 60)


def _roll(results, plane, name):
    """Ends one server and starts it again; answers how long it took to end."""
    begun = time.monotonic()
    child = plane.group.find(name)
    plane.group.stop(child, patience=END_SECONDS)
    seconds = round(time.monotonic() - begun, 1)
    results.check(child.returncode == 0, f"rolling: {name} ended by itself, with code 0",
                  (child.returncode, seconds))
    plane.start_again(name)
    results.say(f"{name} ended in {seconds} s and is back")
    return seconds


def run(results, asked, folder):
    with control_plane.ControlPlane(asked.version, folder, FLAGS) as plane:
        _start_balancer(plane, [plane.port, plane.start_second_server()])
        world = World(plane, results.say, NODES, ALLOCATE_MS)
        world.start_filter()
        world.start_nodes()
        world.start_pair("a", patience="600s")
        world.create("rolling", PODS)
        world.until("the burst is under way",
                    lambda: (world.counts("rolling") or (0,))[0] >= BEGIN_AT, 60)
        ends = [_roll(results, plane, name) for name in SERVERS]
        is_done = world.served("rolling", PODS, WITHIN)
        world.wait_for_announcements("rolling", PODS)
        return _judge(results, world, ends, is_done)


def _judge(results, world, ends, is_done):
    report = world.report("rolling")
    values = {"server_end_seconds": ends, **figures.figures(report)}
    results.say("figures: " + json.dumps(values))

    def check(is_good, text, found=""):
        results.check(is_good, f"rolling: {text}", found)
    check(is_done, f"all is done within {WITHIN:.0f} s of the last restart",
          world.counts("rolling"))
    for figure in ("pods", "bound", "allocated"):
        check(values[figure] == PODS, f"{figure} is {PODS}", values[figure])
    check(values["failed_binds"] == 0, "no bind failed", values["failed_binds"])
    check(values["zombie_binds"] == 0, "no bind landed that was given up",
          values["zombie_binds"])
    for text, figure in interplay_world.ZERO:
        check(values[figure] == 0, text, values[figure])
    return values
