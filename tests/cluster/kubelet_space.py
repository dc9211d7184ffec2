# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Furnishes the namespaces that a test's kubelet lives in. Called inside them only.

The kubelet and containerd have many fixed paths. Each folder that holds one becomes a view
whose changes stay in memory; nothing of the computer's own is written to. The settings of the
whole machine that a kubelet makes go into plain files in their place.
"""

import os
import pathlib
import subprocess

ADDRESS = "10.231.0.10"
LAYERED = ("/etc", "/var/lib", "/var/log", "/opt", "/run")
SETTINGS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
            "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes")
CGROUPS = pathlib.Path("/sys/fs/cgroup")


def command(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def furnish(folder):
    """Mounts and addresses; folder is for what goes with the namespaces."""
    if os.getpid() != 1:
        raise RuntimeError("this is to be called in a PID namespace of its own only")
    memory = folder / "memory"
    memory.mkdir(exist_ok=True)
    command("mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", memory)
    for path in LAYERED:
        _layer(path, memory / path.strip("/").replace("/", "-"))
    for path in ("/var/lib/kubelet", "/var/lib/containerd", "/run/containerd"):
        pathlib.Path(path).mkdir(parents=True, exist_ok=True)
        command("mount", "-t", "tmpfs", "tmpfs", path)
    command("mount", "--make-rshared", "/")
    _replace_settings(memory / "settings")
    _write_network()


def _layer(path, upper):
    if not pathlib.Path(path).is_dir():
        return
    for name in ("upper", "work"):
        (upper / name).mkdir(parents=True)
    command("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir={path},upperdir={upper / 'upper'},workdir={upper / 'work'}", path)


def _replace_settings(folder):
    for name in SETTINGS:
        real = pathlib.Path("/proc/sys") / name
        if real.exists():
            copy = folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(real.read_text())
            command("mount", "--bind", copy, real)


def _write_network():
    """The kubelet refuses a loopback address; this one exists in our namespace alone."""
    command("ip", "link", "set", "lo", "up")
    command("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")


def make_cgroup(name):
    """The cgroup of the kubelet's pods, in each hierarchy that there is."""
    if (CGROUPS / "cgroup.controllers").exists():
        wanted = (CGROUPS / "cgroup.controllers").read_text().split()
        for controller in wanted:
            try:
                (CGROUPS / "cgroup.subtree_control").write_text(f"+{controller}")
            except OSError:
                pass  # kubelet says which one it misses
        (CGROUPS / name).mkdir()
        return
    for hierarchy in CGROUPS.iterdir():
        if not (hierarchy / "cgroup.procs").exists():
            continue
        (hierarchy / name).mkdir()
        for file in ("cpuset.cpus", "cpuset.mems"):
            if (hierarchy / file).exists():
                (hierarchy / name / file).write_text((hierarchy / file).read_text())
