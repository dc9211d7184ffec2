# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What the demo asks for, concludes and says; the demo itself runs in scripts/test."""

import contextlib
import io
import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from demo import command, options, screen  # noqa: E402

GOOD = {"pods": 40, "bound": 40, "allocated": 40, "failed_binds": 0,
        "api_calls_per_pod": 7.0, "makespan_seconds": 1.0, "makespan_over_serial": 1.25,
        "fifo_violations": 0, "double_holds": 0, "covered_locks": 0, "stuck_pods": 0,
        "locks_left": 0, "in_flight_max": 1, "double_serves": 0, "cover_violations": 0}


class Conclusions(unittest.TestCase):
    """The exit status follows the figures."""

    def test_a_clean_burst_is_good(self):
        asked = options.parse([])
        self.assertTrue(command.is_good(asked, GOOD))
        self.assertIn("never two owners at once", command.summary(asked, GOOD))

    def test_pods_side_by_side_keep_no_order_and_are_told_of(self):
        asked = options.parse(["--side-by-side"])
        values = {**GOOD, "in_flight_max": 3, "fifo_violations": 7}
        self.assertTrue(command.is_good(asked, values))
        self.assertIn("up to 3 at once", command.summary(asked, values))
        self.assertFalse(command.is_good(asked, {**values, "double_serves": 1}))
        self.assertFalse(command.is_good(asked, {**values, "cover_violations": 1}))

    def test_failed_binds_alone_are_no_fault(self):
        self.assertTrue(command.is_good(options.parse([]), {**GOOD, "failed_binds": 9}))

    def test_a_pod_that_was_in_back_off_may_be_overtaken(self):
        values = {**GOOD, "failed_binds": 9, "fifo_violations": 2}
        self.assertTrue(command.is_good(options.parse([]), values))
        self.assertNotIn("fifo", command.summary(options.parse([]), values))

    def test_each_thing_that_must_not_be_fails_and_is_named(self):
        asked = options.parse([])
        for name in ("double_holds", "covered_locks", "stuck_pods", "locks_left",
                     "fifo_violations"):
            with self.subTest(name):
                values = {**GOOD, name: 3}
                self.assertFalse(command.is_good(asked, values))
                self.assertIn(f"3 {name.replace('_', ' ')}", command.summary(asked, values))
        self.assertFalse(command.is_good(asked, {**GOOD, "bound": 39}))

    def test_a_broken_binder_is_good_only_if_its_fault_shows(self):
        for fault, (figure, _, reason) in options.BROKEN.items():
            with self.subTest(fault):
                asked = options.parse(["--broken", fault])
                self.assertFalse(command.is_good(asked, GOOD))
                values = {**GOOD, figure: 2}
                self.assertTrue(command.is_good(asked, values))
                self.assertIn(reason, command.summary(asked, values))


class Options(unittest.TestCase):
    """What was typed."""

    def refuse(self, *words):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as ended:
            options.parse(list(words))
        self.assertEqual(ended.exception.code, 2)
        return errors.getvalue()

    def test_durations_are_read_as_written(self):
        for text, seconds in (("500ms", 0.5), ("30s", 30), ("2m", 120), ("1.5s", 1.5)):
            self.assertEqual(options.parse(["--patience", text]).patience, seconds)

    def test_what_makes_no_sense_is_refused_with_a_hint(self):
        self.assertIn("500ms, 30s or 2m", self.refuse("--patience", "30"))
        self.assertIn("ask for more --pods", self.refuse("--pods", "2", "--nodes", "3"))
        self.assertIn("leave out --nodes", self.refuse("--kubernetes", "--nodes", "2"))
        self.refuse("--pods", "0")

    def test_the_leak_needs_callers_that_give_up(self):
        self.assertLess(options.parse(["--broken", "leak-on-timeout"]).patience, 1)
        self.assertEqual(options.parse(["--broken", "blind-patch"]).patience, 30)


class Progress(unittest.TestCase):
    """Lines for a file, one drawn line for a terminal."""

    LINE = {"pods": 40, "created": 40, "bound": 20, "allocated": 10, "failed_binds": 0,
            "time_ms": 1500}

    def test_away_from_a_terminal_each_quarter_is_one_plain_line(self):
        stream = io.StringIO()
        shown = screen.Screen(stream)
        shown.burst(self.LINE)
        shown.burst({**self.LINE, "allocated": 11})
        shown.burst({**self.LINE, "allocated": 20})
        lines = stream.getvalue().splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn("20 bound, 10 allocated", lines[0])
        self.assertNotIn("\r", stream.getvalue())

    def test_on_a_terminal_one_line_is_drawn_again(self):
        stream = io.StringIO()
        stream.isatty = lambda: True
        shown = screen.Screen(stream)
        shown.burst(self.LINE, is_last=True)
        self.assertEqual(stream.getvalue().count("\n"), 1)
        self.assertIn("\r", stream.getvalue())
        self.assertIn("[########........]", stream.getvalue())


if __name__ == "__main__":
    unittest.main()
