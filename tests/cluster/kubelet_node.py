# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A real node: containerd, runc and a kubelet of the version under test, with two images."""

import calendar
import contextlib
import fcntl
import hashlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile
import time

from cluster import kubelet_space, processes

NAME = "gpu-0"
CONTAINER_IMAGE = "haminodelock.test/container:1"
PAUSE_IMAGE = "haminodelock.test/pause:1"
CONTAINERD = "/run/containerd/containerd.sock"
POD_RESOURCES = pathlib.Path("/var/lib/kubelet/pod-resources/kubelet.sock")
SHIM = "containerd-shim-runc-v2"
READY_PATIENCE = 60

CONTAINERD_CONFIG = """version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.internal.v1.opt"]
[grpc]
  address = "%s"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "%s"
  # Without CAP_SYS_RESOURCE no score may be lowered, and runc would fail.
  restrict_oom_score_adj = true
  disable_apparmor = true
  stream_server_address = "127.0.0.1"
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
  default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".cni]
  conf_dir = "/etc/cni/hami"
"""

# containerd calls the node ready with it; our pods have the node's network and use none.
NETWORK = {"cniVersion": "0.4.0", "name": "test", "plugins": [{"type": "loopback"}]}


def kubelet_config(cgroup):
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": "127.0.0.1", "readOnlyPort": 0,
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "failCgroupV1": False, "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{cgroup}",
        "enforceNodeAllocatable": [], "failSwapOn": False, "localStorageCapacityIsolation": False,
        "containerRuntimeEndpoint": f"unix://{CONTAINERD}",
        "evictionHard": {name: "0%" for name in (
            "memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available")},
        "imageGCHighThresholdPercent": 100, "nodeStatusUpdateFrequency": "500ms",
        "eventRecordQPS": 1, "eventBurst": 1, "maxPods": 500, "makeIPTablesUtilChains": False, "resolvConf": "",
        "shutdownGracePeriod": "0s",
    }


def image_archive(program):
    """Both images as `docker save` would pack them: one layer, one static program."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        entry = tarfile.TarInfo("container")
        data = program.read_bytes()
        entry.size, entry.mode = len(data), 0o755
        tar.addfile(entry, io.BytesIO(data))
    layer = layer.getvalue()
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/container"]},
        "rootfs": {"type": "layers",
                   "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "Layers": ["layer.tar"],
                            "RepoTags": [PAUSE_IMAGE, CONTAINER_IMAGE]}]).encode()
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, data in (("manifest.json", manifest), ("config.json", config),
                           ("layer.tar", layer)):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return archive.getvalue()


class Node:
    """Starts all of it; kill_kubelet() and start_kubelet() make a restart."""

    def __init__(self, plane, program, programs, cgroup):
        self.plane = plane
        self.group = plane.group
        self.client = plane.client()
        self.kubelet = program
        self.programs = programs
        self.cgroup = cgroup
        self.gate = plane.folder / "gate"

    def start(self):
        kubelet_space.make_cgroup(self.cgroup)
        self._start_runtime()
        self._import_images()
        config = self.plane.folder / "kubelet.json"
        config.write_text(json.dumps(kubelet_config(self.cgroup), indent=2))
        self.start_kubelet()
        self._lift_taints()

    def start_kubelet(self):
        """Starts it and waits until the API server calls the node ready."""
        since = time.time()
        child = self.group.start("kubelet", [
            self.kubelet, f"--config={self.plane.folder / 'kubelet.json'}",
            f"--kubeconfig={self.plane.kubeconfig('node')}", f"--hostname-override={NAME}",
            f"--node-ip={kubelet_space.ADDRESS}", "--v=2"])
        self.group.wait_until("kubelet", child, lambda: self._is_ready(since), READY_PATIENCE)

    def kill_kubelet(self):
        self.group.kill("kubelet")

    @contextlib.contextmanager
    def kubelet_stopped(self):
        """Meanwhile pods are bound, and none is admitted. It has forgotten nothing afterwards,
        and its plugins are as they were."""
        child = self.group.find("kubelet")
        child.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            child.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def no_starts(self):
        """Holds the starts of pods meanwhile: they are admitted and get their devices, and
        their containers start afterwards.

        On a cluster the API server has processors of its own. Here all share the same few, and
        dozens of containers that start would be measured in place of the lock.
        """
        with open(self.gate, "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def annotations(self):
        answer = self.client.request("GET", f"/api/v1/nodes/{NAME}")
        return answer.metadata.get("annotations") or {}

    def status(self):
        """{} before the kubelet has made the Node."""
        answer = self.client.request("GET", f"/api/v1/nodes/{NAME}")
        return answer.body["status"] if answer.code == 200 else {}

    def allocatable(self, resource):
        return int((self.status().get("allocatable") or {}).get(resource, "0"))

    def wait_allocatable(self, resource, count, seconds=30):
        deadline = time.monotonic() + seconds
        while self.allocatable(resource) != count:
            if time.monotonic() > deadline:
                raise processes.Failed(
                    f"the kubelet reports {self.allocatable(resource)} of {resource} after "
                    f"{seconds} s, not {count}:\n" + self.group.last_words("kubelet"))
            time.sleep(0.05)

    def _is_ready(self, since):
        for one in self.status().get("conditions") or []:
            if one["type"] == "Ready" and one["status"] == "True":
                beat = time.strptime(one["lastHeartbeatTime"], "%Y-%m-%dT%H:%M:%SZ")
                return POD_RESOURCES.exists() and _seconds(beat) >= int(since)
        return False

    def _lift_taints(self):
        """There is no controller-manager that takes the taint of a new node away."""
        self.client.need("PATCH", f"/api/v1/nodes/{NAME}", {"spec": {"taints": None}},
                         "application/merge-patch+json")

    def _start_runtime(self):
        folder = pathlib.Path("/etc/cni/hami")
        folder.mkdir(parents=True)
        (folder / "test.conflist").write_text(json.dumps(NETWORK))
        config = self.plane.folder / "containerd.toml"
        config.write_text(CONTAINERD_CONFIG % (CONTAINERD, PAUSE_IMAGE))
        child = self.group.start("containerd", ["containerd", f"--config={config}"], {
            "PATH": f"{self._make_shim()}:{os.environ['PATH']}"})
        self.group.wait_until("containerd", child, lambda: _succeeds(
            "ctr", "--address", CONTAINERD, "version"), 30)

    def _make_shim(self):
        """A folder with a way to the runtime's shim that waits while somebody holds the gate."""
        path = self.plane.folder / "gated" / SHIM
        path.parent.mkdir()
        self.gate.touch()
        path.write_text(f"#!/bin/sh\nflock --shared {self.gate} true\n"
                        f"exec {shutil.which(SHIM)} \"$@\"\n")
        path.chmod(0o755)
        return path.parent

    def _import_images(self):
        archive = self.plane.folder / "images.tar"
        archive.write_bytes(image_archive(self.programs / "container"))
        done = subprocess.run(["ctr", "--address", CONTAINERD, "--namespace", "k8s.io", "images",
                               "import", str(archive)], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise processes.Failed(f"ctr could not import the images: {done.stderr}")


def _seconds(moment):
    return calendar.timegm(moment)


def _succeeds(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
