# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The node's side behind a real kubelet: what a computer needs for it, and a place of its own.

Everything runs in new network, mount and PID namespaces (kubelet_inside.py). When its first
process ends, however it ends, the kernel ends the rest: no process, mount, address or setting
is left. What has a name outside is one cgroup, removed here.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from cluster import control_plane, kubelet_space, processes

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(__file__).resolve().parent / "kubelet_programs"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
PREFIX = "haminodelock-kubelet-"
FIGURES = "figures: "
SCENES = ("burst", "beside", "kinds", "crashes", "example", "vendor", "gateway")
BESIDE = 8  # pods in flight at most, where side by side was asked for
BUILD_PATIENCE = 600
CGROUP_PATIENCE = 20


def run(results, asked, folder):
    """Runs the part; answers the figures, or None where a kubelet can't run at all."""
    reason = missing(asked.version)
    if reason:
        results.say("=" * 78)
        results.say(f"NO REAL KUBELET HERE: {reason}")
        results.say("Nothing of the node's side was tried against a kubelet. Run it as root.")
        results.say("=" * 78)
        results.skip("kubelet: the node's side behind a real kubelet", reason)
        return None
    need("scripts/bootstrap", "kubelet")
    control_plane.find_program(asked.version, "kubelet")
    sweep()
    before = settings()
    with tempfile.TemporaryDirectory(prefix="hami-kubelet-") as temporary:
        keep = pathlib.Path(folder or temporary)
        keep.mkdir(parents=True, exist_ok=True)
        programs = build(results, pathlib.Path(temporary) / "programs")
        figures = inside(results, asked, keep, programs)
    results.check(leftovers() == [] and settings() == before,
                  "kubelet: nothing of it is left on this computer", leftovers())
    return figures


def missing(version):
    """Why a kubelet can't run here, or None."""
    if os.geteuid() != 0:
        return "it needs root"
    if int(version.split(".")[1]) < 37:
        return f"this test's kubelet configuration is for 1.37, not {version}"
    if not list(CGROUPS.glob("*/cgroup.procs")) and not (CGROUPS / "cgroup.procs").exists():
        return "there are no cgroups below /sys/fs/cgroup"
    if not shutil.which("unshare"):
        return "there is no unshare"
    if not pathlib.Path("/dev/kmsg").exists():
        return "there is no /dev/kmsg, which a kubelet reads"
    probe = CGROUPS / ("memory" if (CGROUPS / "memory").exists() else "") / f"{PREFIX}probe"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        return f"no cgroup can be made: {error}"
    tried = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc",
                            "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        return f"no namespaces can be made: {tried.stderr.strip()}"
    return None


def need(*command, **more):
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **more)
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-20:])
        raise processes.Failed(f"{' '.join(map(str, command))} failed:\n{tail}")


def build(results, to):
    """The Go programs, and the static one that is both containers and their pause."""
    to.mkdir()
    need(ROOT / "scripts/bootstrap", "--kubelet-programs")
    environment = {**os.environ, "GOFLAGS": "-buildvcs=false -trimpath", "CGO_ENABLED": "0",
                   "GOPROXY": "off"}
    need("go", "build", "-C", PROGRAMS, "-ldflags", "-s -w", "-o", f"{to}/", "./plugin",
         "./filter", "./judge", env=environment, timeout=BUILD_PATIENCE)
    need("go", "test", "-C", PROGRAMS, "./judge", env=environment, timeout=BUILD_PATIENCE)
    need(os.environ.get("CC", "cc"), "-static", "-Os", "-o", to / "container",
         PROGRAMS / "container/container.c")
    results.check(True, "kubelet: plugin, filter, container and judge are built, and the judge "
                  "judges right")
    return to


def inside(results, asked, folder, programs):
    """Runs kubelet_inside.py in namespaces of its own and takes its points over."""
    cgroup = PREFIX + str(os.getpid())
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
               "--mount-proc", sys.executable, "-B", "-m", "cluster.kubelet_inside",
               f"--version={asked.version}", f"--dir={folder}", f"--programs={programs}",
               f"--cgroup={cgroup}", f"--fault={asked.fault or ''}", f"--free={asked.free}",
               f"--side-by-side={BESIDE if asked.side_by_side else 0}",
               *(f"--scene={name}" for name in asked.scene or ())]
    figures = None
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        preexec_fn=processes.end_with_parent(os.getpid()))
    failed, passed = results.failed, results.passed
    try:
        for line in child.stdout:
            if line.startswith(FIGURES):
                figures = json.loads(line.removeprefix(FIGURES))
            else:
                results.take_over("kubelet", line.rstrip("\n"))
        code = child.wait(60)
    finally:
        child.kill()
        child.wait()
        remove_cgroup(cgroup)
    if results.failed == failed and (code != 0 or results.passed == passed):
        results.check(False, "kubelet: could be run to its end", f"code {code}")
    return figures


def settings():
    """What a kubelet sets for the whole computer, outside of a mount namespace of its own."""
    found = {}
    for name in kubelet_space.SETTINGS:
        path = pathlib.Path("/proc/sys") / name
        found[name] = path.read_text() if path.exists() else None
    return found


def leftovers():
    mounts = [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
              if "kubelet" in line or "containerd" in line]
    return mounts + [str(path) for path in cgroups(PREFIX + str(os.getpid()))]


def cgroups(pattern):
    return [*CGROUPS.glob(f"*/{pattern}"), *CGROUPS.glob(pattern)]


def sweep():
    """Removes cgroups of runs that were killed before they could."""
    for name in {path.name for path in cgroups(f"{PREFIX}*")}:
        owner = name.removeprefix(PREFIX)
        if owner.isdigit() and not pathlib.Path(f"/proc/{owner}").exists():
            remove_cgroup(name)


def remove_cgroup(name):
    """Its processes are gone with their PID namespace, or are about to be."""
    deadline = time.monotonic() + CGROUP_PATIENCE
    while cgroups(name) and time.monotonic() < deadline:
        for top in cgroups(name):
            for folder, _, _ in os.walk(top, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    time.sleep(0.02)
