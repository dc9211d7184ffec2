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
import shutil
import subprocess
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "tests"))

from bench import report  # noqa: E402

PARTS = sorted(path.stem.replace("_", "-") for path in (HERE / "parts").glob("[a-z]*.py"))
# What the last line of --json must tell, by the part that finds it.
NAMES = {
    "burst": ("makespan_over_same_calls", "makespan_over_floor", "writes_per_pod", "reads_per_pod",
              "speedup_over_reference", "speedup_over_reference_unlimited",
              "speedup_over_polling", "floor_patch_over_loop"),
    "footprint": ("rss_mb",),
    "growth": ("growth",),
    "kubesim": ("binds_per_second",),
    "locks": ("pair_ns", "pair_over_sem", "handoff_over_futex", "waiters_mb"),
    "side-by-side": ("makespan_serial_seconds", "makespan_side_by_side_seconds",
                     "allocate_sum_seconds", "right_devices", "double_serves"),
    "transport": tuple(f"transport_over_curl_{server}_{in_flight}"
                       for server in ("kubesim", "server") for in_flight in (1, 8, 64)),
}
MESON_OPTIONS = ["--buildtype=release", "-Dtests=true"]


@dataclasses.dataclass(frozen=True)
class Setting:
    """How the parts are to measure."""

    is_quick: bool
    repeats: int
    build: pathlib.Path  # of this project, optimised
    source: pathlib.Path
    kubernetes: str  # version of the real programs
    with_references: bool
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

    def build_go(self, name, what):
        """The program of bench/NAME, or None where it can't be had: then says so of WHAT."""
        if shutil.which("go") is None:
            self.say(f"{what} is left out: no Go here")
            return None
        path = self.build / "bench" / name
        ended = subprocess.run(["go", "build", "-o", path, "."], cwd=self.source / "bench" / name,
                               capture_output=True, text=True, timeout=600, check=False)
        if ended.returncode != 0:
            self.say(f"{what} is left out: {ended.stderr.strip()}")
            return None
        return path


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
    parser.add_argument("--without-references", action="store_true",
                        help="leave out the slow references of the bursts")
    parser.add_argument("--kubernetes", default="1.37.2", metavar="VERSION",
                        help="of the real programs (default: %(default)s)")
    parser.add_argument("--report", metavar="FOLDER",
                        help="where report.md, report.json and the pictures go "
                             "(default: build-bench/report)")
    return parser.parse_args()


def module(name):
    return importlib.import_module("bench.parts." + name.replace("-", "_"))


def list_parts():
    for name in PARTS:
        print(f"{name:14} {module(name).ABOUT}")
    return 0


def run_part(setting, name):
    """What a part found, or None, if it could not be run to its end."""
    part = module(name)
    setting.say(f"{name}: {part.ABOUT}")
    try:
        return part.run(setting)
    except Exception as error:  # whatever it is, the other parts' figures are not to be lost
        setting.say(f"{name}: could not be run to its end: {error}")
        traceback.print_exc()
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


def last_line(asked, found, failed):
    """The object that --json ends with, for the parts that were asked for. A name that was not
    found is there as null, and in missing_names."""
    line = summary(found)
    missing = [name for part in asked for name in NAMES.get(part, ()) if name not in line]
    goals = [goal for findings in found.values() for goal in findings.goals]
    return {**line, **dict.fromkeys(missing), "missing_names": missing,
            "goals_met": sum(goal.is_met() for goal in goals),
            "goals_missed": [goal.name for goal in goals if not goal.is_met()],
            "failed_parts": failed}


def main():
    asked = parse()
    if asked.list:
        return list_parts()
    source = HERE.parent
    setting = Setting(is_quick=asked.quick, repeats=asked.repeats or (3 if asked.quick else 7),
                      build=source / "build-bench", source=source, kubernetes=asked.kubernetes,
                      with_references=not asked.without_references,
                      begin=time.monotonic())
    found = {}
    failed = []
    parts = asked.only or PARTS
    for name in parts:
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
    line = last_line(parts, found, failed)
    if line["missing_names"]:
        setting.say("not found: " + ", ".join(line["missing_names"]))
    if asked.json:
        print(json.dumps(line))
    return 1 if failed or line["missing_names"] else 0


if __name__ == "__main__":
    sys.exit(main())
