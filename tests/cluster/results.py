# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Counts and prints what was tried: a TAP line each, and progress between them."""

import re
import time

_POINT = re.compile(r"^(not ok|ok)\b[ \d-]*(.*)$")


class Results:
    """Points of all parts, numbered through."""

    def __init__(self):
        self.begin = time.monotonic()
        self.passed = 0
        self.failed = 0
        self.skipped = 0

    def say(self, text):
        """Progress for a person; a comment in TAP."""
        print(f"# [{time.monotonic() - self.begin:5.1f} s] {text}", flush=True)

    def check(self, is_good, name, found=""):
        number = self.passed + self.failed + self.skipped + 1
        self.passed += bool(is_good)
        self.failed += not is_good
        print(f"{'ok' if is_good else 'not ok'} {number} - {name}", flush=True)
        if found != "" and not is_good:
            print(f"# found: {found}", flush=True)
        return bool(is_good)

    def skip(self, name, reason):
        self.skipped += 1
        number = self.passed + self.failed + self.skipped
        print(f"ok {number} - {name} # SKIP {reason}", flush=True)

    def take_over(self, part, line, excuse=None):
        """Counts a line of another program's TAP as ours; passes its comments on.

        excuse gives a reason to skip a point that failed, or None.
        """
        found = _POINT.match(line)
        if found is None:
            if line.startswith("#") or line.startswith("Bail out!"):
                print(line, flush=True)
            return
        name, _, directive = found[2].partition(" # ")
        reason = excuse(name) if excuse and found[1] != "ok" else None
        if reason is not None:
            self.skip(f"{part}: {name.partition(': ')[0]}", f"this version differs: {reason}")
        elif directive.upper().startswith("SKIP"):
            self.skip(f"{part}: {name}", directive[4:].strip())
        else:
            self.check(found[1] == "ok", f"{part}: {name}")

    def last_line(self):
        if self.skipped:
            self.say(f"{self.skipped} skipped, not counted")
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
