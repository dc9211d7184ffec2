# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The packages are installed, tried and purged, in a view of this machine that is thrown away.

An overlay takes all that is written, so what is there afterwards is what a purge leaves.
"""

import os
import pathlib
import subprocess
import sys

import debs
from common import ROOT, blocks, offline

SKIPPED = ("/var/lib/dpkg", "/var/lib/apt", "/var/log", "/var/cache", "/tmp", "/run", "/proc", "/sys", "/dev")


def run(points, work, release):
    if os.geteuid() != 0:
        points.skip("the packages are installed and purged", "only root can")
        return
    folder = debs.build(points, work, release)
    files = debs.built(folder)
    # Emptied by nobody: what is mounted there goes with the namespace.
    base = work / "view"
    base.mkdir()
    words = [*offline(), sys.executable, "-B", __file__, base, folder / release.folder,
             getattr(release, "kubesim", "") or ROOT / "build/tests/kubesim/kubesim",
             *files.values()]
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", *map(str, words)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=600)
    count = 0
    for line in done.stdout.splitlines():
        if line.startswith(("so: ", "not so: ")):
            count += 1
            points.check(line.startswith("so: "), line.split(": ", 1)[1],
                         done.stdout)
    points.check(done.returncode == 0 and count >= 6, "nothing stopped in between", done.stdout)


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def overlay(base):
    """/ once more, writable without a trace."""
    mount("--make-rprivate", "/")
    mount("-t", "tmpfs", "tmpfs", base)
    for name in ("upper", "work", "root"):
        (base / name).mkdir()
    mount("-t", "overlay", "overlay", "-o",
          f"lowerdir=/,upperdir={base / 'upper'},workdir={base / 'work'}", base / "root")
    root = base / "root"
    mount("-t", "proc", "proc", root / "proc")
    mount("-t", "tmpfs", "tmpfs", root / "dev")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        (root / "dev" / name).touch()
        mount("--bind", f"/dev/{name}", root / "dev" / name)
    return root


def said(good, sentence, detail=""):
    print(f"{'so' if good else 'not so'}: {sentence}", flush=True)
    if not good:
        print(detail, flush=True)
    return good


def inside(root, *words, **settings):
    done = subprocess.run(["chroot", str(root), "/usr/bin/env", "-C", "/source",
                           "DEBIAN_FRONTEND=noninteractive", *map(str, words)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=300, **settings)
    return done.returncode, done.stdout


def written(upper):
    """Files that the overlay took; a deleted one is a device there."""
    for folder, _, names in os.walk(upper):
        seen = folder.removeprefix(str(upper)) or "/"
        if seen.startswith(SKIPPED):
            continue
        for name in names:
            yield os.path.join(seen, name)


def trial(base, source, kubesim, files):
    root = overlay(base)
    for name in ("source", "packages"):
        (root / name).mkdir(exist_ok=True)
    mount("--bind", source, root / "source")
    mount("-o", "remount,bind,ro", root / "source")
    subprocess.run(["cp", *files, kubesim, root / "packages"], check=True)
    before = set(written(base / "upper"))
    names = [pathlib.Path(file).name.split("_")[0] for file in files]
    [command] = blocks.shown_commands(ROOT / "docs/packages.md", "apt install")
    code, text = inside(root, "sh", "-c", f"cd /packages && {command}")
    if not said(code == 0, "the command in docs/packages.md installs what people run", text):
        return 1
    code, text = inside(root, "dpkg", "--install",
                        *(f"/packages/{pathlib.Path(file).name}" for file in files))
    if not said(code == 0, "dpkg installs all of them", text):
        return 1
    failed = 0
    for name in ("embedder", "hamid", "hamictl"):
        code, text = inside(root, "mktemp", "-d")
        code, text = inside(root, "env", f"AUTOPKGTEST_TMP={text.strip()}",
                            f"KUBESIM=/packages/{pathlib.Path(kubesim).name}",
                            f"debian/tests/{name}")
        failed += not said(code == 0, f"debian/tests/{name} passes", text)
    code, text = inside(root, "dpkg", "--purge", *names)
    failed += not said(code == 0, "dpkg purges all of them", text)
    left = set(written(base / "upper")) - before
    left = {name for name in left if not name.startswith(("/etc/ld.so.cache", "/root"))}
    failed += not said(not left, "and nothing of them is left", sorted(left))
    code, text = inside(root, "dpkg", "--audit")
    failed += not said(code == 0 and not text, "dpkg has nothing to complain of", text)
    return failed


if __name__ == "__main__":
    view, source_tree, server, *packages = sys.argv[1:]
    sys.exit(trial(pathlib.Path(view), source_tree, server, packages) != 0)
