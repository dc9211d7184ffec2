# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Debian's packages: they build, lintian has nothing to say, and they say of themselves what is so."""

import re
import subprocess

from common import ROOT, build_packages, output

PACKAGES = {"libhaminodelock0", "libhaminodelock-kubernetes0", "libhaminodelock-dev",
            "libhaminodelock-kubernetes-dev", "hamid", "hamictl"}
MAPS = {"libhaminodelock0": "lib/haminodelock.map",
        "libhaminodelock-kubernetes0": "lib/kubernetes/haminodelock-kubernetes.map"}


def build(points, work, release):
    """Once for all parts; returns the folder that has them."""
    if getattr(release, "packages", None) is None:
        tree = release.debian_source(points, work / "debian")
        release.changes = build_packages(points, tree)
        release.packages = tree.parent
    return release.packages


def built(folder):
    return {file.name.split("_")[0]: file for file in folder.glob("*.deb")
            if "-dbgsym" not in file.name}


def mapped(name):
    text = re.sub(r"/\*.*?\*/", "", (ROOT / MAPS[name]).read_text(encoding="utf-8"),
                  flags=re.DOTALL)
    return set(re.findall(r"^\s*(hami_\w+);", text, re.MULTILINE))


def said_of_symbols(points, files):
    for name in MAPS:
        text = output(["dpkg-deb", "--info", files[name], "symbols"])
        listed = set(re.findall(r"^ (hami_\w+)@HAMINODELOCK\w*[0-9.]+ \d", text, re.MULTILINE))
        points.check(listed == mapped(name) and len(listed) > 10,
                     f"{name} lists each exported function with the release it came with",
                     sorted(listed ^ mapped(name)))
    needed = output(["dpkg-deb", "--field", files["hamid"], "Depends"])
    points.check(all(re.search(rf"{name} \(>= 0\.\d", needed) for name in MAPS),
                 "hamid needs the libraries in the versions that have what it calls", needed)


def run(points, work, release):
    changelog = output(["dpkg-parsechangelog", "-l", ROOT / "debian/changelog", "-S", "Version"])
    points.check(changelog.rsplit("-", 1)[0] == release.version,
                 "debian/changelog and meson.build name one version", changelog)
    folder = build(points, work, release)
    files = built(folder)
    points.check(set(files) == PACKAGES, "there are the six packages", sorted(files))
    done = subprocess.run(["lintian", "--display-info", "--pedantic", "--allow-root",
                           str(release.changes)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    points.check(done.returncode == 0 and not done.stdout.strip(),
                 "lintian finds nothing, pedantic as it is", done.stdout)
    said_of_symbols(points, files)
