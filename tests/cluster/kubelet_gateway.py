# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The gateway on a real kubelet: vendors' plugins in Go that are left as they are."""

import re

from cluster import burst, kubelet_node, probes
from cluster import kubelet_scene as scenes

GPU = scenes.RESOURCE
PODS = 10
TO_ALLOCATE = "hami.io/vgpu-devices-to-allocate"
ALLOCATED = "hami.io/vgpu-devices-allocated"
DONE = "hami.io/mutex.done"
FENCE = "hami.io/mutex.fence"


def run(results, scene):
    """Takes the place of the scene's agent meanwhile; pods are bound one at a time then, whatever
    was asked for: the gateway and --side-by-side exclude each other."""
    front = scene.plane.folder / "vendors"
    front.mkdir(mode=0o700)
    scene.stop_agent()
    # What is judged here is who gets what, and not how fast this computer is.
    scene.start_agent(f"--gateway={front}", f"--pod-resources={kubelet_node.POD_RESOURCES}",
                      "--allocate-timeout=10s", is_alone=True)
    for mode, part in (("trivial", _never_releases), ("trivial", _twins),
                       ("agent", _own_handshake), ("trivial", _kubelet_again)):
        scene.start_plugin(mode=mode, flags=(f"--folder={front}",))
        part(results, scene)
        scene.stop_plugin()
    results.check(_metric(scene, "hamid_node_swapped") == 0, "no container has another's devices",
                  _metrics(scene))
    scene.say(f"reads of the agent: {_reads(scene)}")
    scene.stop_agent()
    results.check(not list(front.glob("kubelet.sock")), "the gateway takes its socket along")
    scene.start_agent()


def _metrics(scene):
    connection = probes.UnixConnection(scene.agent_socket, timeout=10)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def _metric(scene, name):
    return int(re.search(rf"^{re.escape(name)} (\d+)$", _metrics(scene), re.MULTILINE)[1])


def _reads(scene):
    """How many there were, how many took longer than half a second, and how many calls were made
    only because a read stood."""
    text = _metrics(scene)
    counts = {bound: sum(int(found) for found in re.findall(
        r'^hamid_transport_request_duration_seconds_bucket{verb="(?:get|list)",'
        rf'le="{re.escape(bound)}"}} (\d+)$', text, re.MULTILINE)) for bound in ("0.5", "+Inf")}
    nudges = sum(int(found) for found in re.findall(
        r'^hamid_transport_requests_total{verb="watch",code="\w+"} (\d+)$', text, re.MULTILINE))
    return f"{counts['+Inf']}, {counts['+Inf'] - counts['0.5']} above 0.5 s, {nudges} nudges"


def _unfinished(scene, label):
    """Pods whose node side did not end as it should."""
    found = []
    for one in scene.pods(label):
        words = one["metadata"]["annotations"]
        if (one["status"].get("phase") != "Running" or words.get(burst.PHASE) != "success"
                or "," in words[TO_ALLOCATE] or words.get(DONE) != words.get(FENCE)):
            found.append((one["metadata"]["name"], one["status"], words))
    return found


def _never_releases(results, scene):
    """It hands out what it is asked for, and has never heard of a lock."""
    before = _metric(scene, 'hamid_node_checks_total{outcome="confirmed"}')
    begin, _ = scene.create(scenes.burst_pods("blind", GPU, PODS, seed=5))
    pods = scene.wait("blind", PODS)
    results.check(len(pods) == PODS and not _unfinished(scene, "blind"),
                  "a vendor's plugin that never releases works through the gateway (case 4.07)",
                  _unfinished(scene, "blind"))
    results.check(scene.wait_lock(None, 60), "and leaves no lock on the node", scene.lock())
    results.check(len(scene.allocated(GPU, begin)) == 2 * PODS, "it was asked once a container",
                  scene.plugin_lines(GPU))
    _wait_metric(scene, 'hamid_node_checks_total{outcome="confirmed"}', before + 2 * PODS)
    confirmed = _metric(scene, 'hamid_node_checks_total{outcome="confirmed"}') - before
    results.check(confirmed == 2 * PODS, "the kubelet's books have each container's devices as "
                  "they were answered", confirmed)
    results.check(_metric(scene, "hamid_gateway_starts_refused_total") == 0
                  and _metric(scene, 'hamid_node_starts_total{verdict="confirmed"}') >= 2 * PODS,
                  "the kubelet asked before each start, and was let", _metrics(scene))
    scene.delete("blind")


def _wait_metric(scene, name, value, seconds=10):
    scene.group.wait_until("hamid-node", scene.group.find("hamid-node"),
                           lambda: _metric(scene, name) >= value, seconds)


def _own_handshake(results, scene):
    """It asks the agent itself, and hands out what the annotation says."""
    scene.create(scenes.burst_pods("both", GPU, PODS, seed=6))
    scene.wait("both", PODS)
    code, verdict = scene.judge("both")
    results.check(code == 0 and verdict["right_devices"] == 2 * PODS
                  and verdict["failed_pods"] == 0,
                  "a plugin that does the handshake itself is served through the gateway: each "
                  "container got exactly its devices", verdict)
    results.check(scene.wait_lock(None, 60) and not _unfinished(scene, "both"),
                  "and the lock goes with the last container", scene.lock())
    scene.delete("both")


def _own_words(name, first):
    """A pod whose author chose the node and wrote the devices himself: there is no lock."""
    one = scenes.pod(name, [{GPU: 1}], "lockless", nodeName=kubelet_node.NAME)
    text = f"GPU-{first:04d},NVIDIA,1000,10:;"
    one["metadata"]["annotations"] = {
        "hami.io/vgpu-node": kubelet_node.NAME, burst.PHASE: "allocating",
        "hami.io/bind-time": "1700000000", TO_ALLOCATE: text, ALLOCATED: text}
    return one


def _twins(results, scene):
    """Two pods that can't be told apart: the kubelet sees both before the first Allocate."""
    scene.node.kill_kubelet()
    begin, _ = scene.create([_own_words(f"lockless-{index}", 190 + index) for index in range(2)])
    scene.node.start_kubelet()
    pods = {one["metadata"]["name"]: one for one in scene.wait("lockless", 2)}
    first = pods["lockless-0"]
    results.check(first["status"].get("reason") == "UnexpectedAdmissionError"
                  and first["metadata"]["annotations"][burst.PHASE] == "allocating"
                  and "," in first["metadata"]["annotations"][TO_ALLOCATE],
                  "an ambiguous Allocate is refused by the gateway, and its pod is not written to "
                  "(cases 1.35, 4.25)", first)
    results.check(len(scene.allocated(GPU, begin)) < 2, "the vendor's plugin did not hear of it",
                  scene.plugin_lines(GPU))
    scene.delete("lockless")
    scene.node.wait_allocatable(GPU, scenes.DEVICES)


def _kubelet_again(results, scene):
    """The plugin is registered again by the gateway, and notices nothing."""
    registered = sum(line["event"] == "registered" for line in scene.plugin_lines(GPU))
    scene.node.kill_kubelet()
    scene.node.start_kubelet()
    scene.node.wait_allocatable(GPU, scenes.DEVICES)
    scene.create(scenes.burst_pods("later", GPU, 2, seed=7))
    scene.wait("later", 2)
    again = sum(line["event"] == "registered" for line in scene.plugin_lines(GPU))
    results.check(not _unfinished(scene, "later") and again == registered,
                  "a kubelet that restarts finds the plugin behind the gateway again (case 4.20)",
                  (_unfinished(scene, "later"), again))
    scene.delete("later")
