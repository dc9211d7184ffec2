# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The same commit gives the same bytes, whoever builds it where, when and how.

The release and Debian's packages are made twice: in folders of other names and depths, at another
time, with another umask, language, time zone, home, host name and number of jobs.
"""

import os
import shutil
import subprocess

from common import ROOT, digest, need, output

FIRST = {"folder": "a", "umask": 0o022, "jobs": "1", "host": "one",
         "environment": {"LC_ALL": "C", "TZ": "UTC", "HOME": "/nonexistent/first"}}
SECOND = {"folder": "some/deeper/second-folder", "umask": 0o027, "jobs": "3",
          "host": "two", "environment": {"LC_ALL": "C.UTF-8", "LANG": "fr_FR.UTF-8",
                                         "LANGUAGE": "fr:de", "TZ": "Pacific/Auckland",
                                         "HOME": "/nonexistent/second"}}
# Says of itself how and when it was made.
NOT_COMPARED = (".buildinfo", ".changes")


def build(points, work, release, way, commit):
    """A clone of the commit, packed in this way; the files that came of it."""
    where = work / way["folder"]
    where.mkdir(parents=True)
    clone = where / "clone"
    packed = where / "packed"
    packed.mkdir()
    settings = {**os.environ, **way["environment"], "CCACHE_DISABLE": "1",
                "DEB_BUILD_OPTIONS": f"nocheck parallel={way['jobs']}"}
    script = f"""set -e
        umask {way['umask']:03o}
        git clone -q {ROOT} {clone}
        git -C {clone} checkout -q {commit}
        meson setup {where}/build {clone} -Dtests=false
        meson dist -C {where}/build --no-tests --formats xztar
        cp {where}/build/meson-dist/*.tar.xz {packed}/haminodelock_{release.version}.orig.tar.xz
        cd {packed}
        tar -xpf *.orig.tar.xz
        mkdir -m 755 {release.folder}/debian
        git -C {clone} archive --format=tar HEAD:debian | tar -xp -C {release.folder}/debian
        cd {release.folder}
        dpkg-buildpackage -us -uc"""
    host = ["unshare", "--uts", "sh", "-c", f"hostname {way['host']}\n{script}"]
    points.run(f"everything is packed in the way '{way['host']}'",
               host if os.geteuid() == 0 else ["sh", "-c", script], timeout=2400, env=settings)
    files = {file.name: file for file in packed.iterdir()
             if file.is_file() and not file.name.endswith(NOT_COMPARED)}
    need(any(name.endswith(".deb") for name in files))
    return files


def difference(one, other):
    if shutil.which("diffoscope") is None:
        return "diffoscope would tell more"
    return subprocess.run(["diffoscope", "--text", "-", one, other], stdout=subprocess.PIPE,
                          text=True, check=False).stdout


def run(points, work, release):
    commit = output(["git", "-C", ROOT, "rev-parse", "HEAD"]).strip()
    first = build(points, work / "first", release, FIRST, commit)
    second = build(points, work / "second", release, SECOND, commit)
    points.check(set(first) == set(second), "both have the same files",
                 sorted(set(first) ^ set(second)))
    for name in sorted(set(first) & set(second)):
        points.check(digest(first[name]) == digest(second[name]), f"{name} has the same bytes",
                     "" if digest(first[name]) == digest(second[name]) else
                     difference(first[name], second[name]))
