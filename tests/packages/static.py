# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The static programs of scripts/static-build: they run where there is nothing but them.

For this machine's CPU in an empty root; for another one under qemu, where that is installed.
"""

import os
import platform
import shlex
import shutil
import subprocess

from common import HERE, ROOT, blocks, need, output

TARGETS = {"x86_64": ("x86_64-linux-musl", "x86-64"), "aarch64": ("aarch64-linux-musl", "aarch64")}


def kubesim(points, work, release):
    """This checkout's, for tests that have none of their own."""
    if getattr(release, "kubesim", None) is None:
        build = work / "kubesim"
        points.run("kubesim builds", ["sh", "-c", f"meson setup {build} {ROOT} && meson compile "
                                      f"-C {build} kubesim:executable"], timeout=900)
        release.kubesim = build / "tests/kubesim/kubesim"
        need(release.kubesim.exists())
    return release.kubesim


def is_static(points, program, word):
    said = output(["readelf", "--program-headers", "--dynamic", program])
    points.check("INTERP" not in said and "NEEDED" not in said,
                 f"{program.name} is static", said)
    said = output(["readelf", "--file-header", program]).lower()
    points.check(word in said, f"{program.name} is for {word}", said)


def run_of(points, work, release, cpu):
    target, word = TARGETS[cpu]
    into = work / target
    points.run(f"hamid and hamictl are built for {target}",
               [ROOT / "scripts/static-build", "--target", target, "--output", into],
               timeout=3600)
    for name in ("hamid", "hamictl"):
        need((into / name).exists())
        is_static(points, into / name, word)
    bind = ["python3", "-B", HERE / "one_bind.py", "--kubesim", kubesim(points, work, release)]
    if cpu == platform.machine():
        if os.geteuid() != 0:
            points.skip(f"{target}: a pod is bound from within an empty root", "only root can")
            return
        root = work / f"root-{target}"
        root.mkdir()
        for name in ("hamid", "hamictl"):
            shutil.copy(into / name, root)
        points.run(f"{target}: a pod is bound from within an empty root",
                   [*bind, "--root", root, "/hamid"])
        points.run(f"{target}: hamictl runs there", ["chroot", root, "/hamictl", "--version"])
    elif shutil.which(f"qemu-{cpu}-static"):
        points.run(f"{target}: a pod is bound by it under qemu",
                   [*bind, f"qemu-{cpu}-static", into / "hamid"], timeout=300)
    else:
        points.skip(f"{target}: a pod is bound by it under qemu", "there is no qemu")


def run(points, work, release):
    done = subprocess.run([ROOT / "scripts/bootstrap", "--static"], check=False)
    points.check(done.returncode == 0, "the sources are those that are pinned")
    need(done.returncode == 0)
    shown = [shlex.split(text, comments=True)[1:]
             for text in blocks.shown_commands(ROOT / "docs/packages.md", "scripts/static-build")]
    # Without a target it is for this computer.
    have = {words[-1] if words else TARGETS[platform.machine()][0] for words in shown}
    points.check(have <= {target for target, _ in TARGETS.values()},
                 "each target in docs/packages.md is built", have)
    for cpu in TARGETS:
        run_of(points, work, release, cpu)
