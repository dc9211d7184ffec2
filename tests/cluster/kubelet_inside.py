# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The first process of the namespaces: starts a control plane and a node, and tests.

Prints TAP for kubelet.py to take over, and the figures in one line.
"""

import argparse
import json
import pathlib
import sys

from cluster import (api, control_plane, kubelet, kubelet_beside, kubelet_burst, kubelet_crashes, kubelet_gateway,
                     kubelet_kinds, kubelet_node, kubelet_plugins, kubelet_scene, kubelet_space,
                     manifests, processes, results)

# Those without figures.
SCENES = {"kinds": kubelet_kinds.run, "crashes": kubelet_crashes.run,
          "example": kubelet_plugins.run_example, "vendor": kubelet_plugins.run_vendor,
          "gateway": kubelet_gateway.run}
SERVER_FLAGS = ("--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction",
                "--allow-privileged=true")


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--cgroup", required=True)
    parser.add_argument("--fault", default="")
    parser.add_argument("--free", required=True)
    parser.add_argument("--side-by-side", type=int, required=True)
    parser.add_argument("--scene", action="append", default=[])
    return parser.parse_args()


def chosen(asked):
    """The scenes, in their order."""
    known = [name for name in kubelet.SCENES if name != "beside" or asked.side_by_side]
    return [name for name in known if name in asked.scene or not asked.scene]


def play(tally, scene, asked):
    """Answers the figures of those that have some."""
    figures = {}
    for name in chosen(asked):
        if name == "burst":
            figures = {**figures, **kubelet_burst.run(tally, scene)}
        elif name == "beside":
            figures["side_by_side"] = kubelet_beside.run(tally, scene)
        else:
            SCENES[name](tally, scene)
        tally.say(f"scene {name} is over")
    return figures


def test(tally, asked):
    folder = asked.dir
    kubelet_space.furnish(folder)
    program = control_plane.find_program(asked.version, "kubelet")
    policy = manifests.AUDIT_POLICY if asked.side_by_side else manifests.NAMES_AUDIT_POLICY
    with control_plane.ControlPlane(asked.version, folder, SERVER_FLAGS, policy,
                                    separate_events=True) as plane:
        node = kubelet_node.Node(plane, program, asked.programs, asked.cgroup)
        node.start()
        tally.say("the kubelet's node is ready")
        scene = kubelet_scene.Scene(plane, node, asked.programs, tally.say)
        scene.start()
        tally.say("filter, hamid and kube-scheduler are ready")
        if asked.fault == "by-name":
            return kubelet_beside.run_broken(tally, scene)
        if asked.fault:
            return kubelet_burst.run_broken(tally, scene, asked.fault)
        return play(tally, scene, asked)


def main():
    asked = parse()
    kubelet_scene.free = asked.free
    kubelet_scene.side_by_side = asked.side_by_side
    processes.exit_on_signals()
    tally = results.Results()
    try:
        figures = test(tally, asked)
        print(kubelet.FIGURES + json.dumps(figures), flush=True)
    except (processes.Failed, OSError, api.Refused) as error:
        tally.check(False, "could be run to its end", str(error).replace("\n", "\n# "))
    return 0 if tally.failed == 0 and tally.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
