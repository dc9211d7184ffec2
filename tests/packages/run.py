# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Packs the last commit in each way that is offered, and tries it as its users would."""

import argparse
import importlib
import pathlib
import subprocess
import sys
import tempfile
import time

import common

PARTS = {
    "dist": "the release tarball, built and tested without a network",
    "debs": "Debian's packages, and lintian",
    "installed": "the packages installed, tried and purged in a throw-away view (root)",
    "abi": "the ABI against that of the last release",
    "subproject": "a meson project that has the release as its subproject",
}
LONG = {
    "static": "static programs for two CPUs, in an empty root and under qemu; 15 min at first",
    "image": "Containerfile, built by buildah and run (root); 5 min",
    "autopkgtest": "Debian's test runner on a clean system (root); 5 min",
    "reproducible": "the release and the packages made twice, in two ways, byte for byte; 5 min",
    "cross": "hamid for arm64 on Debian's libraries, run under qemu (root); 5 min",
}


def parse():
    text = "\n".join(f"  {name:<13} {what}" for name, what in PARTS.items())
    longer = "\n".join(f"  {name:<13} {what}" for name, what in LONG.items())
    parser = argparse.ArgumentParser(
        prog="scripts/packages", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=f"{__doc__}\n\nParts:\n{text}\nand when they are named (scripts/nightly does):"
                    f"\n{longer}\n\nThe last line is 'N passed, N failed'.")
    parser.add_argument("--only", action="append", choices=[*PARTS, *LONG], default=[],
                        metavar="PART", help="run this part; may be given again")
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR",
                        help="work in this folder, which must be new, and keep it")
    return parser.parse_args()


def run(asked, work):
    release = common.Release(work)
    points = common.Points()
    for name in asked.only or PARTS:
        begun = time.monotonic()
        print(f"# {name}", flush=True)
        module = importlib.import_module(name)
        try:
            module.run(points, work, release)
        except common.Stop:
            if points.failed == 0:
                points.check(False, f"{name} went on to its end")
        except (subprocess.SubprocessError, OSError) as error:
            points.check(False, f"{name} went on to its end", error)
        print(f"# {name}: {time.monotonic() - begun:.0f} s", flush=True)
    print(f"{points.count - points.failed} passed, {points.failed} failed")
    return points.failed == 0 and points.count > 0


def main():
    asked = parse()
    if asked.work:
        asked.work.mkdir(parents=True)
        good = run(asked, asked.work.resolve())
    else:
        with tempfile.TemporaryDirectory(prefix="hami-packages-") as temporary:
            good = run(asked, pathlib.Path(temporary))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
