# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A meson project of somebody else's has the release as its subproject, by a wrap file."""

import shutil

from common import HERE, ROOT, digest, offline, output


def embedder(points, where, release):
    tarball = release.tarball(points)
    shutil.copytree(HERE / "subproject", where)
    for name in ("core.c", "kubernetes.c"):
        shutil.copy(ROOT / "pkgconfig/consumer" / name, where)
    wrap = where / "subprojects/haminodelock.wrap"
    text = wrap.read_text(encoding="utf-8")
    wrap.write_text(text.replace("@VERSION@", release.version).replace("@HASH@", digest(tarball)),
                    encoding="utf-8")
    (where / "subprojects/packagefiles").mkdir()
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
