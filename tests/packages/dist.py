# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The release tarball: has what is in the repository, and builds and passes without a network."""

import os
import re
import tarfile

from common import ROOT, offline, output

# Debian's packages bring their folder themselves.
LEFT_OUT = ("debian/",)
# Need nothing but the C library: one of each kind of thing that the core does.
TESTED = ("core acquire", "core queue", "core release", "core threads")


def run(points, work, release):
    tarball = release.tarball(points)
    with tarfile.open(tarball) as archive:
        packed = {member.name.split("/", 1)[1] for member in archive if not member.isdir()}
        roots = {member.name.split("/", 1)[0] for member in archive}
    kept = {name for name in output(["git", "-C", ROOT, "ls-tree", "-r", "--name-only", "HEAD"])
            .splitlines() if not name.startswith(LEFT_OUT)}
    points.check(packed == kept, "the release has the repository's files and no other",
                 f"missing {sorted(kept - packed)[:10]}, more {sorted(packed - kept)[:10]}")
    points.check(roots == {release.folder}, "all below one folder", roots)
    tree = release.unpack(points, work / "unpacked")
    build = tree / "build"
    points.run("it configures without a network",
               [*offline(), "meson", "setup", build, tree, "--wrap-mode=nodownload"], timeout=300)
    points.run("its programs build without a network",
               [*offline(), "meson", "compile", "-C", build, "-j", os.cpu_count(),
                "hamid:executable", "hamictl:executable", "kubesim:executable"], timeout=1200)
    said = points.run("its tests of the core pass without a network",
                      [*offline(), "meson", "test", "-C", build, *TESTED], timeout=900)
    points.check(re.search(rf"^Ok: +{len(TESTED)}\s*$", said, re.MULTILINE) is not None,
                 "all of them were run", said[-800:])
    points.run("its hamid binds a pod",
               [*offline(), "python3", "-B", tree / "tests/packages/one_bind.py", "--kubesim",
                build / "tests/kubesim/kubesim", build / "daemon/hamid"])
    release.kubesim = build / "tests/kubesim/kubesim"
