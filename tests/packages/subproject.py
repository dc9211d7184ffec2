# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A meson project of somebody else's has the release as its subproject, by a wrap file."""

import shutil

from common import HERE, ROOT, digest, offline, output, shown


def embedder(points, where, release):
    tarball = release.tarball(points)
    shutil.copytree(HERE / "subproject", where)
    for name in ("core.c", "kubernetes.c"):
        shutil.copy(ROOT / "pkgconfig/consumer" / name, where)
    (where / "subprojects/packagefiles").mkdir(parents=True)
    text = shown("docs/packages.md", "[wrap-file]").text
    (where / "subprojects/haminodelock.wrap").write_text(text.replace("...", digest(tarball)),
                                                         encoding="utf-8")
    shutil.copy(tarball, where / "subprojects/packagefiles")


def run(points, work, release):
    where = work / "embedder"
    embedder(points, where, release)
    for kind in ("static", "shared"):
        build = where / f"build-{kind}"
        said = points.run(f"a project configures with it as subproject, {kind}",
                          [*offline(), "meson", "setup", build, where,
                           f"-Dhaminodelock:default_library={kind}", "--force-fallback-for=haminodelock,"
                           "haminodelock-kubernetes"], timeout=300)
        points.check(f"haminodelock {release.version}" in said,
                     f"and has it from there, {kind}", said)
        points.run(f"its programs build and run, {kind}",
                   [*offline(), "meson", "test", "-C", build], timeout=900)
        needed = output(["readelf", "-d", build / "core"])
        points.check(("libhaminodelock.so.0" in needed) == (kind == "shared"),
                     f"they are linked {kind}", needed)
        others = {file.name for file in (build / "subprojects").rglob("hami*")
                  if file.is_file() and file.name in ("hamid", "hamictl")}
        points.check(not others, f"no program of ours is built with it, {kind}", others)
