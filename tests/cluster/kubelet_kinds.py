# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of pods on a real kubelet: what each must get, and what must be left alone."""

from cluster import burst, kubelet_node
from cluster import kubelet_scene as scenes

GPU, DCU = scenes.RESOURCE, scenes.SECOND
TO_ALLOCATE = "hami.io/vgpu-devices-to-allocate"
ALLOCATED = "hami.io/vgpu-devices-allocated"
DONE = "hami.io/mutex.done"


def run(results, scene):
    """All of them; two plugins serve two vendors."""
    scene.start_plugin(GPU)
    scene.start_plugin(DCU)
    for one in (_bound_by_scheduler, _named_again, _without_lock, _alike_without_lock,
                _wrong_count, _beside_a_lost_lock):
        one(results, scene)
    scene.stop_plugin(DCU)
    scene.stop_plugin(GPU)


def right(results, scene, name, said, resources=(GPU,), containers=None):
    """All pods of that label run, each with its devices, and the lock is free again."""
    code, verdict = scene.judge(name, resources)
    is_good = code == 0 and verdict["failed_pods"] == 0 and (
        containers is None or verdict["containers"] == containers)
    results.check(is_good, said, verdict)
    results.check(scene.wait_lock(None, 60), f"no lock is left after that ({name})",
                  scene.lock())


def _bound_by_scheduler(results, scene):
    """Every shape of pod at once, so that each has to be told from the others."""
    shapes = {
        "init-only": scenes.pod("init-only", [{}], "kinds", initContainers=[
            scenes.container("i0", {GPU: 2}, "once")]),
        "init-too": scenes.pod("init-too", [{GPU: 1}], "kinds", initContainers=[
            scenes.container("i0", {GPU: 2}, "once")]),
        "with-gaps": scenes.pod("with-gaps", [{}, {GPU: 1}, {}, {GPU: 3}], "kinds"),
        "two-vendors": scenes.pod("two-vendors", [{GPU: 1, DCU: 2}], "kinds"),
        "vendor-each": scenes.pod("vendor-each", [{DCU: 1}, {GPU: 2}, {DCU: 3}], "kinds"),
        "other-vendor": scenes.pod("other-vendor", [{DCU: 1}], "kinds"),
    }
    scene.create(list(shapes.values()))
    scene.wait("kinds", len(shapes), ("Running", "Failed"))
    right(results, scene, "kinds",
          "init-only pods, gaps between containers, two vendors in a container and in a pod: "
          "each got its devices (cases 4.02, 4.09, 4.18, 3.30, 4.07)", (GPU, DCU), 10)
    left = {name: [value for key, value in scene.pod(name)["metadata"]["annotations"].items()
                   if key.endswith("-to-allocate") and "," in value] for name in shapes}
    results.check(not any(left.values()), "no to-allocate annotation has a device left (case "
                  "4.11)", left)
    scene.delete("kinds")


def _named_again(results, scene):
    """A pod that comes again under its name, while the first may still be known by it."""
    for _ in range(2):
        scene.create([scenes.pod("stateful-0", [{GPU: 2}], "again")])
        scene.wait("again", 1)
        right(results, scene, "again", "a pod under a name that was there before got its own "
              "devices", containers=1)
        scene.delete("again")


def _devices(first, count):
    return "".join(f"GPU-{first + index:04d},NVIDIA,1000,10:" for index in range(count)) + ";"


def _own_words(name, label, count, promised, first):
    """A pod whose author chose the node and wrote the devices himself: there is no lock."""
    one = scenes.pod(name, [{GPU: count}], label, nodeName=kubelet_node.NAME)
    text = _devices(first, promised)
    one["metadata"]["annotations"] = {
        "hami.io/vgpu-node": kubelet_node.NAME, burst.PHASE: "allocating",
        "hami.io/bind-time": "1700000000", TO_ALLOCATE: text, ALLOCATED: text}
    return one


def _without_lock(results, scene):
    scene.create([_own_words("alone", "alone", 2, 2, 190)])
    scene.wait("alone", 1)
    right(results, scene, "alone", "a pod that comes without a lock is served as the one "
          "possible caller (cases 4.03, 4.14)", containers=1)
    scene.delete("alone")


def _refused(results, scene, label, names, said, reason="UnexpectedAdmissionError"):
    """These failed at admission, and nothing was written to them."""
    pods = {one["metadata"]["name"]: one for one in scene.pods(label)}
    failed = [name for name in names if pods[name]["status"].get("reason") == reason]
    written = [name for name in names
               if pods[name]["metadata"]["annotations"].get(DONE)
               or pods[name]["metadata"]["annotations"][burst.PHASE] != "allocating"
               or "," not in pods[name]["metadata"]["annotations"][TO_ALLOCATE]]
    results.check(len(failed) == len(names) and not written, said,
                  f"refused {failed}, written to {written}, "
                  f"{[pods[name]['status'].get('message') for name in names]}")


def _alike_without_lock(results, scene):
    """Two pods that can't be told apart: the kubelet sees both before the first Allocate."""
    scene.node.kill_kubelet()
    names = ["twin-0", "twin-1"]
    scene.create([_own_words(name, "twins", 1, 1, 192 + index)
                  for index, name in enumerate(names)])
    scene.node.start_kubelet()
    scene.wait("twins", 2)
    _refused(results, scene, "twins", names[:1], "of two pods alike without a lock the first to "
             "ask is refused, and neither is written to (cases 1.35, 4.25)")
    scene.delete("twins")
    scene.node.wait_allocatable(GPU, scenes.DEVICES)
    scene.node.wait_allocatable(DCU, scenes.DEVICES)


def _wrong_count(results, scene):
    scene.create([_own_words("too-few", "few", 3, 2, 180)])
    scene.wait("few", 1)
    _refused(results, scene, "few", ["too-few"],
             "a count that does not match is refused, and nothing is written (case 4.13)")
    scene.delete("few")


def _beside_a_lost_lock(results, scene):
    """The lock names a pod that is gone, and another comes without one."""
    path = f"/api/v1/nodes/{kubelet_node.NAME}"
    lock = "2026-01-01T00:00:00Z,default,gone"
    scene.client.need("PATCH", path, {"metadata": {"annotations": {burst.LOCK: lock}}},
                      "application/merge-patch+json")
    scene.create([_own_words("beside", "beside", 1, 1, 185)])
    scene.wait("beside", 1)
    _refused(results, scene, "beside", ["beside"], "a lock that names a pod that is gone has "
             "others refused, and nothing is written (case 4.27)")
    results.check(scene.lock() == lock, "that lock was not touched", scene.lock())
    scene.client.need("PATCH", path, {"metadata": {"annotations": {burst.LOCK: None}}},
                      "application/merge-patch+json")
    scene.delete("beside")
