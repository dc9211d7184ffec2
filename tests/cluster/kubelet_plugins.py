# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Other device plugins on a real kubelet: the example of this project, and a vendor's that
knows nothing of us, behind the gateway."""

import pathlib
import shlex
import subprocess
import sys

from cluster import burst, control_plane, kubelet_node, suites
from cluster import kubelet_scene as scenes
from cluster.kubelet_kinds import right

sys.path.insert(0, str(suites.ROOT / "tests/docs"))

import blocks  # noqa: E402

PODS = 16
AFTER = 4
GPU = scenes.RESOURCE
EXAMPLE = "example-plugin"


def _devices_file(scene):
    """JSON would do, but for the reader of the file's errors: a line a device."""
    path = scene.plane.folder / "devices.yaml"
    lines = [f"resource: {GPU}", "environment:",
             f"  {scenes.variable(GPU)}: \"{{uuids}}\"", "devices:"]
    lines += [f"  - {{uuid: GPU-{index:04d}, memory-mib: 1000}}"
              for index in range(scenes.DEVICES)]
    path.write_text("\n".join(lines) + "\n")
    return path


def _shown(text, places):
    """A command of the plugin's README.md as words, with this computer's in the place of the page's."""
    [command] = blocks.shown_commands(suites.ROOT / "examples/device-plugin/README.md", text)
    words = shlex.split(command.replace("$(hostname)", kubelet_node.NAME))
    return [places.get(word, word) for word in words]


def run_example(results, scene):
    """examples/device-plugin speaks with the API server itself; no agent takes part."""
    scene.group.start(EXAMPLE, _shown("hami-device-plugin --node", {
        "hami-device-plugin": suites.BUILD / "examples/device-plugin/hami-device-plugin",
        "devices.yaml": _devices_file(scene),
        "/etc/kubernetes/kubelet.conf": scene.plane.kubeconfig("hamid-node")}))
    scene.node.wait_allocatable(GPU, scenes.DEVICES)
    kubectl = control_plane.find_programs(scene.plane.version, ("kubectl",))["kubectl"]
    said = subprocess.run(
        [*_shown("kubectl get node", {"kubectl": kubectl}), f"--kubeconfig={scene.plane.kubeconfig()}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
    results.check(f'"{GPU}":"{scenes.DEVICES}"' in said and '"hami.io/node-nvidia-register":' in said,
                  "the command in the example plugin's README shows resource and annotation", said)
    scene.create(scenes.burst_pods("example", GPU, PODS, seed=5))
    results.check(scene.wait_served("example", AFTER), "the example plugin serves pods")
    scene.group.kill(EXAMPLE)
    scene.group.start_again(EXAMPLE)
    replaced = scene.keep("example", PODS)
    scene.say(f"example plugin killed after {AFTER} pods: {replaced} of {PODS} replaced")
    right(results, scene, "example", "the example plugin, killed in the middle: each container "
          "got exactly its devices", containers=2 * PODS)
    scene.delete("example")
    scene.group.stop(scene.group.find(EXAMPLE))
    scene.node.wait_allocatable(GPU, 0)


def run_vendor(results, scene):
    """A plugin that believes the lock, and never writes or releases anything; one pod at a
    time, for the lock names one."""
    folder = pathlib.Path("/run/gateway")
    folder.mkdir(exist_ok=True)
    scene.stop_agent()
    scene.start_agent(f"--gateway={folder}", is_alone=True)
    scene.start_plugin(mode="vendor", flags=(
        f"--folder={folder}", f"--node={kubelet_node.NAME}",
        f"--kubeconfig={scene.plane.kubeconfig()}"))
    scene.create(scenes.burst_pods("vendor", GPU, PODS, seed=6))
    scene.wait("vendor", PODS)
    right(results, scene, "vendor", "a vendor's plugin that never releases works through the "
          "gateway: each container got exactly its devices", containers=2 * PODS)
    phases = {one["metadata"]["annotations"].get(burst.PHASE) for one in scene.pods("vendor")}
    results.check(phases == {"success"}, "and the gateway wrote success to each pod", phases)
    scene.delete("vendor")
    scene.stop_plugin()
    scene.stop_agent()
    scene.start_agent()
