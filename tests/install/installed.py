# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""installed.py MESON BUILD SOURCE PREFIX LIBDIR: a program builds against the installed libraries.

Everything is installed into a temporary folder; a plain Makefile then finds it by pkg-config and by
nothing else, once shared and once static, and runs what it built. So does README's first program.
hamid and hamictl run from there as they are.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from installation import Exclusive, command, environment, relocate
from points import Points


def install(points, meson, build, destination):
    with Exclusive(build):
        points.run("meson install puts everything below its destination",
                   command(meson, build, destination))


def check_fields(points, names, folder, settings):
    def ask(*words):
        return subprocess.run(["pkg-config", *words], env=settings, capture_output=True,
                              text=True, check=False).stdout.strip()

    for name in names:
        cflags = re.findall(r"^Cflags:\s*(.*?)\s*$", (folder / f"{name}.pc").read_text(),
                            re.MULTILINE)
        points.check(cflags == ["-I${includedir}"],
                     f"{name}: Cflags has the include root and nothing else", cflags)
    points.check(ask("--print-requires", "haminodelock") == "" and
                 ask("--print-requires-private", "haminodelock") == "",
                 "haminodelock requires no other package")


def build_and_run(points, source, work, settings, kind, names):
    make = ["make", "-s", "-C", work, "clean", "all", f"KIND={kind}"]
    points.run(f"a plain project builds against the installed libraries, {kind}", make,
               env=settings)
    points.check("core" in points.run(f"the core consumer runs, {kind}",
                                      [work / "core-consumer"], env=settings),
                 f"the core consumer took and gave back a lock, {kind}")
    if "haminodelock-kubernetes" in names:
        points.check("kubernetes" in points.run(f"the Kubernetes consumer runs, {kind}",
                                                [work / "kubernetes-consumer"], env=settings),
                     f"the Kubernetes consumer made a client and a transport, {kind}")


def check_linkage(points, work, kind):
    listed = subprocess.run(["readelf", "-d", work / "core-consumer"], capture_output=True,
                            text=True, check=True).stdout
    points.check(("libhaminodelock.so.0" in listed) == (kind == "shared"),
                 f"the {kind} consumer is {kind}", listed)


def readme_program(points, source, work, settings):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "haminodelock"], env=settings,
                           capture_output=True, text=True, check=True).stdout.split()
    points.run("README's program compiles as README says",
               ["cc", source / "examples/minimal.c", "-o", work / "minimal", *flags],
               env=settings)
    points.run("README's program runs", [work / "minimal"], env=settings)


def programs(points, folder):
    """They run from wherever they were put, with nothing in the environment."""
    for name in ("hamid", "hamictl"):
        if (folder / name).exists():
            points.run(f"the installed {name} finds its libraries", [folder / name, "--help"],
                       env={"PATH": os.environ["PATH"]})
    if (folder / "hamictl").exists():
        share = folder.parent / "share"
        missing = [name for name in ("bash-completion/completions/hamictl",
                                     "zsh/site-functions/_hamictl",
                                     "fish/vendor_completions.d/hamictl.fish")
                   if not (share / name).is_file()]
        points.check(not missing, "hamictl's completions are where the shells look", missing)


def main():
    meson, build, source, prefix, libdir = sys.argv[1:6]
    points = Points()
    with tempfile.TemporaryDirectory(prefix="hami-install-") as temporary:
        destination = pathlib.Path(temporary) / "destination"
        install(points, meson, build, destination)
        root = destination / prefix.lstrip("/")
        libraries = root / libdir
        if prefix != "/usr":
            programs(points, root / "bin")
        names = relocate(libraries / "pkgconfig", prefix, root)
        points.check("haminodelock" in names, "pkg-config files are installed", names)
        settings = environment(libraries / "pkgconfig", libraries)
        check_fields(points, names, libraries / "pkgconfig", settings)
        work = pathlib.Path(temporary) / "consumer"
        work.mkdir()
        for file in (pathlib.Path(source) / "pkgconfig/consumer").iterdir():
            (work / file.name).write_bytes(file.read_bytes())
        for kind in ("shared", "static"):
            build_and_run(points, source, work, settings, kind, names)
            check_linkage(points, work, kind)
        readme_program(points, pathlib.Path(source), work, settings)
    points.end()


main()
