# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Debian's own test runner: it installs the packages on a clean system and runs debian/tests."""

import re

import debs
import roots
from common import need

TESTS = ("embedder", "hamid", "hamictl")


def run(points, work, release):
    reason = roots.missing()
    if reason:
        points.skip("autopkgtest passes on a clean system", reason)
        return
    folder = debs.build(points, work, release)
    root = roots.Root(points, work / "root", ["autopkgtest", "ca-certificates"])
    files = [*debs.built(folder).values(), next(folder.glob("*.dsc")),
             next(folder.glob("*.orig.tar.xz")), next(folder.glob("*.debian.tar.xz"))]
    names = root.put(*files)
    words = [name for name in names if name.endswith((".deb", ".dsc"))]
    said = points.run("autopkgtest passes on a clean system",
                      root.command("autopkgtest", "--apt-upgrade", *words, "--", "null"),
                      timeout=3600)
    summary = dict(re.findall(r"^(\w+) +(PASS|FAIL\S*|SKIP|FLAKY)", said.split("summary")[-1],
                              re.MULTILINE))
    need(summary)
    for name in TESTS:
        points.check(summary.get(name) == "PASS", f"its test {name} passes", summary)
