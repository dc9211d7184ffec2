# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""TAP points for the scripts of this folder."""

import subprocess
import sys


class Points:
    """Prints one line a point, and the plan last."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def check(self, good, sentence, detail=""):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {sentence}", flush=True)
        if not good:
            for line in str(detail).splitlines()[:40]:
                print(f"# {line}")
        return good

    def skip(self, sentence, reason):
        self.count += 1
        print(f"ok {self.count} - {sentence} # SKIP {reason}", flush=True)

    def run(self, sentence, command, timeout=120, **options):
        """A point that a command ends with 0, in time; returns what it printed."""
        shown = " ".join(map(str, command))
        try:
            done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False,
                                  timeout=timeout, **options)
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode(errors="replace")
            self.check(False, sentence, f"{shown}\nstill ran after {timeout} s\n{said}")
            return said
        self.check(done.returncode == 0, sentence, f"{shown}\n{done.stdout}")
        return done.stdout

    def end(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(self.failed != 0)
