# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the checkout and runs its tests; the last line is 'N passed, N failed'."""

import argparse
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

HELP = """Builds the checkout into build/ and runs its tests. Each test point counts, not each program.
The last line is 'N passed, N failed'; the exit code is 0 if none failed and one at least passed.

scripts/sanitize and scripts/check-coverage run the same tests in other builds; scripts/test-cluster
runs those that need a real control plane."""

POINT = re.compile(r"^(not )?ok\b(?:\s+(\d+))?(.*)$")
# What a test says of its failure, in the lines behind it; the end of that says most.
REASON_LINES = 30


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = []
        self.wrong = []

    def point(self, good, name, reason=()):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            self.wrong.append("\n    ".join([name, *reason[-REASON_LINES:]]))


def parse():
    parser = argparse.ArgumentParser(prog="scripts/test", description=HELP,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="SUITE", default=[],
                        help="run this suite of tests only (unit, contract, install, ..); may be "
                        "given again")
    parser.add_argument("--skip", action="append", metavar="SUITE", default=[],
                        help="leave this suite out; may be given again")
    parser.add_argument("--build", default="build", help="build folder (default build)")
    parser.add_argument("--option", action="append", metavar="OPTION", default=[],
                        help="meson option such as -Dwerror=true, for a build folder that is made "
                        "now or exists; may be given again")
    parser.add_argument("--env", action="append", metavar="NAME=VALUE", default=[],
                        help="environment of the tests; may be given again")
    parser.add_argument("--slower", type=int, default=1, metavar="N",
                        help="multiply the time limits of the tests")
    return parser.parse_args()


def call(what, command):
    """A step before the tests: quiet if it works, loud if not."""
    begun = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = done.stdout.splitlines()
        errors = [line for line in lines if re.search(r"\berror\b|FAILED", line)]
        print("\n".join(errors[:20] + ["..."] + lines[-40:]))
        print(f"{what} failed: {' '.join(command)}")
        print("0 passed, 1 failed")
        sys.exit(1)
    print(f"{what}: {time.monotonic() - begun:.0f} s", flush=True)


def build(asked, folder):
    call("packages", ["scripts/bootstrap"])
    if not (folder / "build.ninja").exists():
        call("configure", ["meson", "setup", str(folder), *asked.option])
    elif asked.option:
        call("configure", ["meson", "configure", str(folder), *asked.option])
    call("build", ["meson", "compile", "-C", str(folder)])


def errors_seen(folder):
    """Where the tests note which public function answered which error."""
    return folder / "errors-seen.txt"


def run(asked, folder):
    """meson's own log has what each program printed; its last run is the only one that is looked at."""
    log = folder / "meson-logs/testlog.json"
    log.unlink(missing_ok=True)
    command = ["meson", "test", "-C", str(folder), "--no-rebuild", "--print-errorlogs",
               "--timeout-multiplier", str(asked.slower)]
    for suite in asked.only:
        command += ["--suite", suite]
    for suite in asked.skip:
        command += ["--no-suite", suite]
    settings = {"HAMI_ERRORS_SEEN": str(errors_seen(folder))}
    errors_seen(folder).unlink(missing_ok=True)
    settings.update(pair.split("=", 1) for pair in asked.env)
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, check=False)
    if not log.exists():
        return [], done.returncode
    return [json.loads(line) for line in log.read_text().splitlines()], done.returncode


def comment(lines):
    """The comment lines at the beginning of these."""
    return [line[1:].rstrip() for line in itertools.takewhile(lambda one: one.startswith("#"), lines)]


def count(tally, test):
    """Points that a program printed; a program without any is one point itself."""
    points, plan, failed_before = 0, None, tally.failed
    lines = (test.get("stdout") or "").splitlines()
    for at, line in enumerate(lines):
        match = re.match(r"^1\.\.(\d+)(.*)", line)
        if match:
            plan = int(match.group(1))
            if plan == 0:
                tally.skipped.append(f"{test['name']}: {match.group(2).strip(' #')}")
            continue
        match = POINT.match(line)
        if not match:
            continue
        points += 1
        if re.search(r"#\s*SKIP", match.group(3), re.IGNORECASE):
            tally.skipped.append(f"{test['name']}: {match.group(3).strip(' -')}")
        else:
            tally.point(not match.group(1), f"{test['name']}:{match.group(3)}", comment(lines[at + 1:]))
    if test["result"] == "SKIP":
        if plan is None:
            tally.skipped.append(test["name"])
    elif points == 0:
        tally.point(test["result"] in ("OK", "EXPECTEDFAIL"), f"{test['name']}: {test['result']}",
                    lines + (test.get("stderr") or "").splitlines())
    elif test["result"] != "OK" and tally.failed == failed_before:
        tally.point(False, f"{test['name']}: {test['result']} after {points} points",
                    lines + (test.get("stderr") or "").splitlines())
    elif plan is not None and plan != points:
        tally.point(False, f"{test['name']}: {plan} points were planned, {points} came")


def count_cases(tally, tests, whole):
    """The tests of tests/cases.tsv, compared with those that ran: one point, if all is well."""
    from cases import run as cases_run
    texts, shown = cases_run.of_run(tests, whole)
    for text in texts:
        tally.point(False, text)
    if not texts:
        tally.point(True, "cases")
    print(f"{shown} cases shown by their tests")


def count_errors(tally, folder):
    """Each error that a public header lists was produced by some test: one point, if so."""
    from errors import run as errors_run
    texts, pairs = errors_run.of_run(ROOT / "include", errors_seen(folder))
    for text in texts:
        tally.point(False, text)
    if not texts:
        tally.point(True, "errors")
        print(f"{pairs} listed errors of public functions produced")


def main():
    asked = parse()
    begun = time.monotonic()
    folder = (ROOT / asked.build).resolve()
    build(asked, folder)
    tests, code = run(asked, folder)
    tally = Tally()
    for test in tests:
        count(tally, test)
    whole = not (asked.only or asked.skip)
    count_cases(tally, tests, whole)
    if whole:
        count_errors(tally, folder)
    if code != 0 and tally.failed == 0:
        tally.point(False, f"meson test ended with code {code}")
    for text in tally.skipped:
        print(f"SKIPPED {text}")
    for text in tally.wrong:
        print(f"FAILED {text}")
    print(f"{len(tests)} programs, {len(tally.skipped)} skipped, "
          f"{time.monotonic() - begun:.0f} s")
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 0 if tally.failed == 0 and tally.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
