#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What the core costs in one process, counted and compared with limits.tsv.

Counts of instructions (valgrind's callgrind) do not depend on what else the machine does. Each is
the difference of a long run and a short one, so that what a program does once is left out. Prints
TAP; says why where it can't measure.

    run.py BENCH-LOCKS [REASON]     REASON, if not empty: why this build can't be measured
"""

import pathlib
import re
import shutil
import subprocess
import sys


def read_limits(path):
    """name -> (limit, meaning)"""
    limits = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, limit, meaning = line.split("\t")
            limits[name] = (float(limit), meaning)
    return limits


def instructions(program, task, count, inside=None):
    """Of the whole program, or inside of one function."""
    options = [] if inside is None else [f"--toggle-collect={inside}"]
    ended = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *options, program, task,
         "ours", str(count)], capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r"Collected : (\d+)", ended.stderr)
    if ended.returncode != 0 or found is None:
        raise RuntimeError(f"{task}: code {ended.returncode}: {ended.stderr.strip()}")
    return int(found.group(1))


def measure(program):
    """name -> value"""
    pair_warm = 1.1  # the program does a tenth more, to warm up
    pairs = [instructions(program, "pair", count) for count in (500, 2500)]
    drains = {count: instructions(program, "drain", count) for count in (100, 1000, 4000)}
    short = (drains[1000] - drains[100]) / 900
    long = (drains[4000] - drains[1000]) / 3000
    hand_offs = [instructions(program, "hand-off", count, "hami_lease_release")
                 for count in (500, 2500)]
    waiters = subprocess.run([program, "waiters", "ours", "20000"], capture_output=True, text=True,
                             timeout=60, check=True)
    return {"pair": (pairs[1] - pairs[0]) / (2000 * pair_warm), "drain": long,
            "drain_growth": long / short, "hand_off": (hand_offs[1] - hand_offs[0]) / 2000,
            "waiter_bytes": float(waiters.stdout)}


def main():
    program = sys.argv[1]
    reason = sys.argv[2] if len(sys.argv) > 2 else ""
    if not reason and shutil.which("valgrind") is None:
        reason = "valgrind is not installed (scripts/bootstrap developer)"
    if reason:
        print(f"1..0 # SKIP nothing was measured: {reason}")
        return 0
    limits = read_limits(pathlib.Path(__file__).with_name("limits.tsv"))
    values = measure(program)
    if set(values) != set(limits):
        raise RuntimeError("limits.tsv names other things than are measured")
    print(f"1..{len(values)}")
    for number, (name, value) in enumerate(values.items(), 1):
        limit, meaning = limits[name]
        result = "ok" if value <= limit else "not ok"
        print(f"{result} {number} - {name} costs {value:,.6g}, at most {limit:,.6g}: {meaning}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
