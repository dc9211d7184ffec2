# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Plugin, agent, kubelet and API server killed while pods get their devices."""

import time

from cluster import kubelet_scene as scenes
from cluster.kubelet_kinds import right

PODS = 40
FEW = 16
GPU = scenes.RESOURCE


def run(results, scene):
    scene.start_plugin(GPU)
    many = FEW if scenes.side_by_side else PODS  # quick, to be played many times
    _in_the_middle(results, scene, "plugin", _plugin_again, many)
    _in_the_middle(results, scene, "kubelet", _kubelet_again, many)
    _in_the_middle(results, scene, "agent", _agent_again, FEW)
    _in_the_middle(results, scene, "API server", _server_again, FEW)
    _after_restart(results, scene)
    _before_checkpoint(results, scene, "unheard", 2, 2)
    _before_checkpoint(results, scene, "unheard-two", 2, 1)
    _past_the_age(results, scene)
    scene.stop_plugin(GPU)


def _registrations(scene):
    return sum(line["event"] == "registered" for line in scene.plugin_lines())


def _plugin_again(scene):
    """The kubelet tells of the devices of a plugin that is gone for a while: that they are there
    does not say that the new one is."""
    name = scene.plugin_name(GPU)
    before = _registrations(scene)
    scene.group.kill(name)
    child = scene.group.start_again(name)
    scene.group.wait_until(name, child, lambda: _registrations(scene) > before, 60)


def _agent_again(scene):
    scene.group.kill("hamid-node")
    scene.start_agent()


def _kubelet_again(scene):
    scene.node.kill_kubelet()
    scene.node.start_kubelet()


def _server_again(scene):
    scene.group.kill("kube-apiserver")
    scene.client.close()
    scene.node.client.close()
    scene.plane.start_again("kube-apiserver")


def _in_the_middle(results, scene, who, kill, count):
    """A pod that is caught in the middle may fail, as any device's pod then does; whoever made
    it makes another. What none may have is another's devices."""
    label = f"killed-{who}".lower().replace(" ", "-")
    begin, _ = scene.create(scenes.burst_pods(label, GPU, count, seed=3))
    # An odd number: between the two containers of a pod.
    scene.wait_allocated(GPU, begin, count // 2 + 1)
    kill(scene)
    scene.node.wait_allocatable(GPU, scenes.DEVICES)
    replaced = scene.keep(label, count)
    scene.say(f"{who} killed after {count // 2 + 1} Allocates: {replaced} of {count} pods "
              "replaced")
    right(results, scene, label, f"the {who} killed in the middle of a burst: each container got "
          "exactly its devices (case 4.20)", containers=2 * count)
    scene.delete(label)


def _after_restart(results, scene):
    """The kubelet's checkpoint: who runs keeps his devices, without another Allocate."""
    scene.create(scenes.burst_pods("kept", GPU, 3, seed=4))
    scene.wait("kept", 3)
    before = len(scene.plugin_lines())
    _kubelet_again(scene)
    scene.node.wait_allocatable(GPU, scenes.DEVICES)
    asked = [line for line in scene.plugin_lines()[before:] if line["event"] != "registered"]
    results.check(not asked, "after a restart the kubelet asks nobody for pods that run", asked)
    scene.create([scenes.pod("kept-new", [{GPU: 3}], "kept")])
    scene.wait("kept", 4)
    right(results, scene, "kept", "pods from before the kubelet's restart keep their devices, "
          "and a new one gets its own", containers=7)
    scene.delete("kept")


def _before_checkpoint(results, scene, name, count, behind):
    """The kubelet dies with an answer on its way to it: a pod that was served asks again, while
    another, that asks as many devices or fewer, is bound and holds the lock."""
    scene.hold.touch()
    scene.create([scenes.pod(name, [{GPU: count}], name)])
    _wait_line(scene, "held")
    scene.create([scenes.pod(f"{name}-behind", [{GPU: behind}], name)])
    is_locked = scene.wait_lock(f",{name}-behind", 60)
    scene.node.kill_kubelet()
    scene.hold.unlink()
    results.check(is_locked, "the next pod is bound while the kubelet has not heard the answer")
    scene.node.start_kubelet()
    scene.node.wait_allocatable(GPU, scenes.DEVICES)
    replaced = scene.keep(name, 2)
    scene.say(f"kubelet killed before its checkpoint: {replaced} of 2 pods replaced")
    right(results, scene, name, "a pod whose kubelet died before its checkpoint, and the one "
          f"behind it ({count} and {behind} devices): each got exactly its devices (case 4.20)",
          containers=2)
    scene.delete(name)


def _past_the_age(results, scene):
    """A pod is bound, and the kubelet is away for longer than a lock may grow old. The one
    behind it is like it: it could not go beside."""
    scene.node.kill_kubelet()
    scene.create([scenes.pod("overdue", [{GPU: 1}], "overdue")])
    results.check(scene.wait_lock(",overdue", 60), "the lock names a pod that was bound")
    scene.create([scenes.pod("patient", [{GPU: 1}], "overdue")])
    is_told = _wait_alarm(scene, "overdue")
    results.check(is_told and (scene.lock() or "").endswith(",overdue"),
                  "past its age the lock stays with its pod, under an alarm (case 1.10)",
                  scene.lock())
    scene.node.start_kubelet()
    scene.node.wait_allocatable(GPU, scenes.DEVICES)
    scene.keep("overdue", 2)
    right(results, scene, "overdue", "the pod that was waited for, and the one behind it: each "
          "got exactly its devices", containers=2)
    scene.delete("overdue")


def _wait_alarm(scene, name, seconds=30):
    """hamid's page of locks has one for this pod."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for node in scene.locks():
            if any(slot["alarm"] and slot.get("pod") == name for slot in node["slots"]):
                return True
        time.sleep(0.2)
    return False


def _wait_line(scene, event, seconds=20):
    deadline = time.monotonic() + seconds
    while scene.plugin_lines()[-1]["event"] != event and time.monotonic() < deadline:
        time.sleep(0.05)
