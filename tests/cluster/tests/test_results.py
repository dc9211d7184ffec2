# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import unittest

from cluster import differences, results


class Counting(unittest.TestCase):
    def setUp(self):
        self.out = io.StringIO()
        redirect = contextlib.redirect_stdout(self.out)
        redirect.__enter__()
        self.addCleanup(redirect.__exit__, None, None, None)
        self.tally = results.Results()

    def counts(self):
        return self.tally.passed, self.tally.failed, self.tally.skipped

    def test_points_are_numbered_through_and_counted(self):
        self.tally.check(True, "one")
        self.tally.check(False, "two", "3")
        self.tally.last_line()
        self.assertEqual(self.out.getvalue(),
                         "ok 1 - one\nnot ok 2 - two\n# found: 3\n1 passed, 1 failed\n")

    def test_what_was_found_is_shown_even_when_it_is_zero(self):
        self.tally.check(False, "some", 0)
        self.assertIn("# found: 0", self.out.getvalue())

    def test_lines_of_another_program_count_as_ours(self):
        for line in ("TAP version 13", "ok 1 - suite:test: Passed", "not ok 2 - other",
                     "not ok 7", "# a comment", "1..3", "something else"):
            self.tally.take_over("part", line)
        self.assertEqual(self.counts(), (1, 2, 0))
        self.assertIn("ok 1 - part: suite:test: Passed\n", self.out.getvalue())
        self.assertNotIn("1..3", self.out.getvalue())

    def test_a_skipped_point_is_no_passed_one(self):
        self.tally.take_over("part", "ok 4 - some # SKIP no server")
        self.assertEqual(self.counts(), (0, 0, 1))

    def test_a_failure_is_excused_only_where_a_reason_is_known(self):
        excuse = {"suite:old: Assertion": "older"}.get
        for line in ("not ok 1 - suite:old: Assertion", "not ok 2 - suite:new: Assertion",
                     "ok 3 - suite:old: Assertion"):
            self.tally.take_over("part", line, excuse)
        self.assertEqual(self.counts(), (1, 1, 1))
        self.assertIn("ok 1 - part: suite:old # SKIP this version differs: older",
                      self.out.getvalue())

    def test_a_known_difference_excuses_older_versions_only(self):
        point = "x.c:watch:a_watch_list_needs_its_version_match: Assertion"
        self.assertIsNotNone(differences.known(24, point))
        self.assertIsNone(differences.known(30, point))
        self.assertIsNone(differences.known(24, "x.c:watch:another: Assertion"))


if __name__ == "__main__":
    unittest.main()
