# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""hamid for another CPU, linked with Debian's own libraries of it (scripts/cross/*-linux-gnu.ini).

Built in a clean system that has both; a pod is bound by it, under qemu and in that system.
"""

import pathlib
import platform
import shutil
import subprocess

import roots
import static
from common import HERE, ROOT, need

LIBRARIES = ("libcurl4-openssl-dev", "libevent-dev", "libjansson-dev", "libnghttp2-dev",
             "libprotobuf-c-dev", "libssl-dev", "libyaml-dev", "libc6-dev")
TARGET = "aarch64-linux-gnu"


def run(points, work, release):
    qemu = shutil.which("qemu-aarch64-static")
    reason = roots.missing() or (None if qemu else "there is no qemu")
    if platform.machine() == "aarch64":
        reason = "this is that CPU"
    if reason:
        points.skip(f"a hamid for {TARGET} binds a pod", reason)
        return
    root = roots.Root(points, work / "root", [
        "ca-certificates", "gcc-aarch64-linux-gnu", "meson", "ninja-build", "pkg-config",
        "protobuf-c-compiler", "python3", *(f"{name}:arm64" for name in LIBRARIES)],
        "--architectures=amd64,arm64")
    tree, = root.put(release.unpack(points, work / "source"))
    program = "/given/build/daemon/hamid"
    points.run(f"hamid builds for {TARGET} without a network", root.command(
        "sh", "-c", f"meson setup /given/build {tree} --cross-file "
        f"{tree}/scripts/cross/{TARGET}.ini -Dtests=false -Dkubernetes=enabled "
        "-Dkubelet=enabled -Dgateway=enabled && meson compile -C /given/build hamid:executable",
        network=False), timeout=1800)
    need((root.folder / program[1:]).exists())
    said = subprocess.run(["readelf", "--file-header", root.folder / program[1:]],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    points.check("AArch64" in said, "it is for that CPU", said)
    shutil.copy(pathlib.Path(qemu), root.folder / "given")
    points.run("a pod is bound by it under qemu", [
        "python3", "-B", HERE / "one_bind.py", "--kubesim",
        static.kubesim(points, work, release), "--root", root.folder,
        f"/given/{pathlib.Path(qemu).name}", program], timeout=300, cwd=ROOT)
