# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Live progress: one line that is drawn again on a terminal, plain lines elsewhere.

It writes to standard error, so that standard output has the results alone.
"""

import shutil
import sys
import time

PERIOD = 0.05
BAR = 16


class Screen:
    """One progress line at a time."""

    def __init__(self, stream=None):
        self.stream = stream or sys.stderr
        self.is_terminal = self.stream.isatty()
        self.begin = time.monotonic()
        self._drawn = 0.0
        self._is_dirty = False
        self._quarter = -1
        self._told_build = 0.0

    def say(self, text):
        self.clear()
        print(f"[{time.monotonic() - self.begin:6.1f} s] {text}", file=self.stream,
              flush=True)

    def build(self, done, total):
        if self.is_terminal:
            self._draw(f"building   {bar(done, total, 30)} {done}/{total}")
        elif time.monotonic() - self._told_build > 15:
            self._told_build = time.monotonic()
            self.say(f"building: {done} of {total} steps")

    def burst(self, line, is_last=False):
        """LINE is one that standin-scheduler --progress wrote."""
        pods = line["pods"]
        seconds = line["time_ms"] / 1000
        if self.is_terminal:
            failed = f"  {line['failed_binds']} failed binds" if line["failed_binds"] else ""
            self._draw(f"bound {bar(line['bound'], pods)} {line['bound']:>4}/{pods}"
                       f"  allocated {bar(line['allocated'], pods)}"
                       f" {line['allocated']:>4}/{pods}  {seconds:6.2f} s{failed}", is_last)
            return
        quarter = line["allocated"] * 4 // pods
        if quarter != self._quarter or is_last:
            self._quarter = quarter
            self.say(f"{seconds:6.2f} s into the burst: {line['created']} pods created, "
                     f"{line['bound']} bound, {line['allocated']} allocated, "
                     f"{line['failed_binds']} failed binds")

    def clear(self):
        if self._is_dirty:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self._is_dirty = False

    def _draw(self, text, is_last=False):
        now = time.monotonic()
        if now - self._drawn < PERIOD and not is_last:
            return
        self._drawn = now
        width = shutil.get_terminal_size().columns
        self.stream.write("\r\x1b[K" + text[:max(10, width - 1)])
        self._is_dirty = True
        if is_last:
            self.stream.write("\n")
            self._is_dirty = False
        self.stream.flush()


def bar(done, total, width=BAR):
    filled = done * width // total if total else 0
    return "[" + "#" * filled + "." * (width - filled) + "]"
