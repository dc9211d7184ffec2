# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the parts of the bench one after the other and writes what they found.

A part is a module in bench/parts with ABOUT (one line), QUICK (whether it belongs to --quick) and
run(setting) -> figures.Findings. Parts share no code with what they measure but its public interface.
"""

import argparse
import dataclasses
import importlib
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "tests"))

from bench import report  # noqa: E402

PARTS = sorted(path.stem for path in (HERE / "parts").glob("[a-z]*.py"))
MESON_OPTIONS = ["--buildtype=release", "-Dtests=true"]


@dataclasses.dataclass(frozen=True)
class Setting:
    """How the parts are to measure."""

    is_quick: bool
    repeats: int
    build: pathlib.Path  # of this project, optimised
    source: pathlib.Path
    kubernetes: str  # version of the real programs
    begin: float

    def say(self, text):
        print(f"[{time.monotonic() - self.begin:6.1f} s] {text}", file=sys.stderr, flush=True)

    def build_targets(self, *targets):
        """Makes these targets of meson's; raises CalledProcessError."""
        if not (self.build / "build.ninja").exists():
            subprocess.run(["meson", "setup", *MESON_OPTIONS, self.build, self.source], check=True,
                           stdout=sys.stderr)
        subprocess.run(["meson", "compile", "-C", self.build, *targets], check=True,
                       stdout=sys.stderr)


def parse():
    parser = argparse.ArgumentParser(
        prog="bench", description="Measures this project beside its peers, in ratios, in one run.",
        epilog="The exit code is 0 also if a goal was missed: read the report. It is 1 if a part "
               "could not be run to its end.")
    parser.add_argument("--quick", action="store_true",
                        help="three repeats in the place of seven, slow references once")
    parser.add_argument("--json", action="store_true",
                        help="the last line is one JSON object with all ratios and figures")
    parser.add_argument("--only", action="append", choices=PARTS, metavar="PART",
                        help="only this part; may be given several times")
    parser.add_argument("--list", action="store_true", help="list the parts")
    parser.add_argument("--repeats", type=int, metavar="N", help="turns of each comparison")
    parser.add_argument("--kubernetes", default="1.37.2", metavar="VERSION",
                        help="of the real programs (default: %(default)s)")
    parser.add_argument("--report", metavar="FOLDER",
                        help="where report.md, report.json and the pictures go "
                             "(default: build-bench/report)")
    return parser.parse_args()


def list_parts():
    for name in PARTS:
        print(f"{name:14} {importlib.import_module('bench.parts.' + name).ABOUT}")
    return 0


def run_part(setting, name):
    """What a part found, or None, if it could not be run to its end."""
    part = importlib.import_module("bench.parts." + name)
    setting.say(f"{name}: {part.ABOUT}")
    try:
        return part.run(setting)
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
        setting.say(f"{name}: could not be run to its end: {error}")
        return None


def summary(found):
    """Everything by name, as the last line prints it."""
    line = {}
    for findings in found.values():
        for name, value in findings.figures.items():
            line[name] = round(value.median, 4)
        for goal in findings.goals:
            line[goal.name] = round(goal.figure.median, 4)
    return line


def main():
    asked = parse()
    if asked.list:
        return list_parts()
    source = HERE.parent
    setting = Setting(is_quick=asked.quick, repeats=asked.repeats or (3 if asked.quick else 7),
                      build=source / "build-bench", source=source, kubernetes=asked.kubernetes,
                      begin=time.monotonic())
    found = {}
    failed = []
    for name in asked.only or PARTS:
        findings = run_part(setting, name)
        if findings is None:
            failed.append(name)
        else:
            found[name] = findings
    folder = pathlib.Path(asked.report) if asked.report else setting.build / "report"
    report.write(folder, setting, found, failed)
    for findings in found.values():
        for goal in findings.goals:
            word = "met   " if goal.is_met() else "MISSED"
            bound = "at least" if goal.at_least else "at most"
            print(f"{word} {goal.about}: {goal.figure.text()}, {bound} {goal.limit:g}")
            if not goal.is_met() and goal.stopped_by:
                print(f"       {goal.stopped_by}")
    setting.say(f"report: {os.path.relpath(folder / 'report.md')}")
    if asked.json:
        print(json.dumps({**summary(found), "failed_parts": failed}))
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
