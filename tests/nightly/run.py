# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Runs parts one after the other, counts what they say, and writes each down at its end."""

import argparse
import contextlib
import datetime
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

from nightly import parts, record

COUNTED = re.compile(r"^(\d+) passed, (\d+) failed$")
SKIPPED = re.compile(r"^# \[ *[\d.]+ s\] (\d+) skipped, not counted$")
GROUPS = ("build", "peers", "test", "page", "kubelet", "packages", "static", "roots", "developer")
END_SECONDS = 20  # what a control plane needs to end
NOT_HERE = 77  # by which a program says that it can't run on this computer

HELP = """What takes too long for every change: searches and random runs, each as wide as it gets, and
what .ci/run leaves out. Parts that count tests add what they counted, the others count as one.
It takes about four hours on two cores, and 20 minutes more a Kubernetes version the first time,
when that is built. Each part's result goes into docs/nightly.md as soon as it is there, beside
those of parts that ran another day. The end is a table of the parts and 'N passed, N failed'; a
part that can't run here is 'not there' and counts as neither.
"""


def judge(code, lines):
    """(result, passed, failed, skipped) of a part that ended with that code and said that."""
    counts = [found for found in map(COUNTED.match, lines) if found]
    skips = [found for found in map(SKIPPED.match, lines) if found]
    skipped = int(skips[-1][1]) if skips else 0
    if code == NOT_HERE:
        return "not there", 0, 0, 0
    good, bad = (int(counts[-1][1]), int(counts[-1][2])) if counts else (int(code == 0), 0)
    # A part that ends badly, or without having tried anything, has failed whatever it says.
    if bad == 0 and (code != 0 or good == 0):
        bad = 1
    return "passed" if bad == 0 else "failed", good, bad, skipped


def call(arguments):
    """The code and the lines that count of a command, whose output is passed on.

    It has a session of its own, so that an interruption ends all of it.
    """
    child = subprocess.Popen(arguments, cwd=parts.ROOT, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                             errors="replace", start_new_session=True)
    lines = []
    try:
        for line in child.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            if COUNTED.match(line.rstrip("\n")) or SKIPPED.match(line.rstrip("\n")):
                lines.append(line.rstrip("\n"))
        return child.wait(), lines
    except BaseException:
        end(child)
        raise


def end(child):
    """Asks the whole session to end, and makes it: a part cleans up in the time it is given."""
    os.killpg(child.pid, signal.SIGTERM)
    try:
        child.wait(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def run_part(part, seed):
    """The row of one part's run, which an interruption ends as well."""
    row = record.Row(part.name, commit=parts.commit(), versions=part.versions(seed),
                     began=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M"))
    lacks = part.missing()
    if lacks:
        print(f"nightly: {part.name} can't run here: {lacks} is not there", flush=True)
        row.result = "not there"
        return row
    begun = time.monotonic()
    try:
        code, lines = call(part.arguments(seed))
        row.result, row.passed, row.failed, row.skipped = judge(code, lines)
    except KeyboardInterrupt:
        row.result, row.failed = "interrupted", 1
    row.seconds = round(time.monotonic() - begun)
    return row


def end_on_signals():
    """Whatever asks this program to end interrupts its part; also one started in a background."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def table(rows):
    for row in rows:
        took = record.duration(row.seconds)
        print(f"{row.part:<16} {row.result:<11} {took:>13} {row.passed:6} passed "
              f"{row.failed:4} failed {row.skipped:4} skipped")


def parse(arguments):
    width = max(map(len, parts.NAMES))
    listed = "\n".join(f"  {part.name:<{width}}  {part.about}" for part in parts.PARTS)
    parser = argparse.ArgumentParser(
        prog="scripts/nightly", description=f"{HELP}\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=parts.NAMES, metavar="PART",
                        help="run this part; may be given again (default: all, in this order)")
    parser.add_argument("--seed", type=int, default=random.randrange(1, 32768),
                        help="of the parts that draw (default: drawn anew, and printed)")
    parser.add_argument("--record", metavar="FILE", default=str(parts.ROOT / "docs/nightly.md"),
                        help="the table to fill (default: docs/nightly.md)")
    parser.add_argument("--no-record", action="store_true", help="write nothing down")
    parser.add_argument("--list", action="store_true", help="print the parts' names")
    return parser.parse_args(arguments)


def ready(record_file):
    """A table that can't be read is told before three hours are gone, and not after."""
    path = pathlib.Path(record_file)
    if path.exists():
        record.parse(path.read_text(encoding="utf-8"))
    done = subprocess.run(["scripts/bootstrap", "--yes", *GROUPS], cwd=parts.ROOT, check=False)
    return done.returncode == 0


def main(arguments=None):
    asked = parse(arguments)
    if asked.list:
        print("\n".join(parts.NAMES))
        return 0
    try:
        if not ready(asked.record):
            return 1
    except ValueError as error:
        print(f"nightly: {asked.record}: {error}", file=sys.stderr)
        return 2
    chosen = [part for part in parts.PARTS if not asked.only or part.name in asked.only]
    print(f"seed {asked.seed}")
    rows = []
    for number, part in enumerate(chosen, 1):
        print(f"== {number}/{len(chosen)} {part.name}", flush=True)
        rows.append(run_part(part, asked.seed))
        if not asked.no_record:
            record.merge(asked.record, rows[-1], parts.NAMES)
        if rows[-1].result == "interrupted":
            break
    print()
    table(rows)
    passed, failed = sum(row.passed for row in rows), sum(row.failed for row in rows)
    print(f"all parts: {sum(row.seconds for row in rows)} s, seed {asked.seed}")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1
