# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What the parts of scripts/packages share: the release that they pack, and how they run things."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "tests/packages"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") \
    / "haminodelock"

sys.path += [str(ROOT / "tests/install"), str(ROOT / "tests/docs")]
import blocks  # noqa: E402
from points import Points  # noqa: E402,F401


class Stop(Exception):
    """What comes next in this part needs what just failed."""


def version():
    return re.search(r"^  version: '([^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8"),
                     re.MULTILINE).group(1)


def output(command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                          check=True, **options).stdout


def shown(page, text):
    """The block of a page that has this text."""
    [found] = [block for block in blocks.read(ROOT / page, page) if text in block.text]
    return found


def need(good):
    if not good:
        raise Stop()


def offline():
    """Runs what follows without a network; who isn't root is so in a namespace of its own."""
    words = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    return words + [sys.executable, "-B", str(HERE / "offline.py")]


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class Release:
    """The tarball of the commit that is checked out; made once for all parts that ask for it."""

    def __init__(self, work):
        self.work = work
        self.version = version()
        self.folder = f"haminodelock-{self.version}"
        self.file = None

    def tarball(self, points):
        if self.file is None:
            build = self.work / "dist"
            points.run("meson configures the checkout", ["meson", "setup", build, ROOT,
                                                         "-Dtests=false"], timeout=300)
            points.run("meson dist makes a release of the last commit",
                       ["meson", "dist", "-C", build, "--no-tests", "--formats", "xztar",
                        "--allow-dirty"], timeout=300)
            self.file = build / "meson-dist" / f"{self.folder}.tar.xz"
        need(self.file.exists())
        return self.file

    def unpack(self, points, where):
        where.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "-xf", self.tarball(points), "-C", where, "--no-same-owner"],
                       check=True)
        return where / self.folder

    def debian_source(self, points, where):
        """As dpkg-source wants it: the tarball under its name, and debian/ in what it has."""
        tree = self.unpack(points, where)
        shutil.copy(self.tarball(points), where / f"haminodelock_{self.version}.orig.tar.xz")
        archive = subprocess.run(["git", "-C", ROOT, "archive", "--format=tar", "HEAD:debian"],
                                 stdout=subprocess.PIPE, check=True).stdout
        (tree / "debian").mkdir()
        subprocess.run(["tar", "-x", "-C", tree / "debian"], input=archive, check=True)
        return tree


def build_packages(points, tree, options="nocheck", sentence="the packages build offline"):
    """Returns the .changes file."""
    settings = {**os.environ, "DEB_BUILD_OPTIONS": f"{options} parallel={os.cpu_count()}"}
    points.run(sentence, [*offline(), "dpkg-buildpackage", "-us", "-uc"], timeout=1800, cwd=tree,
               env=settings)
    changes = sorted(tree.parent.glob("*.changes"))
    need(len(changes) == 1)
    return changes[0]
