# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""How scripts/test counts: what ran, and nothing else."""

import importlib.util
import pathlib
import unittest

FILE = pathlib.Path(__file__).resolve().parents[2] / "run_tests.py"
SPEC = importlib.util.spec_from_file_location("run_tests", FILE)
run_tests = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run_tests)


def counted(stdout, result="OK"):
    tally = run_tests.Tally()
    run_tests.count(tally, {"name": "program", "stdout": stdout, "result": result})
    return tally


class Counting(unittest.TestCase):
    def numbers(self, stdout, result="OK"):
        tally = counted(stdout, result)
        return tally.passed, tally.failed, len(tally.skipped)

    def test_each_point_counts(self):
        self.assertEqual(self.numbers("ok 1 - a\nnot ok 2 - b\nok 3 - c\n1..3\n", "FAIL"),
                         (2, 1, 0))

    def test_a_program_without_points_is_one(self):
        self.assertEqual(self.numbers("hello\n"), (1, 0, 0))
        self.assertEqual(self.numbers("hello\n", "FAIL"), (0, 1, 0))

    def test_what_was_skipped_did_not_pass(self):
        self.assertEqual(self.numbers("ok 1 - a # SKIP no etcd\nok 2 - b\n1..2\n"), (1, 0, 1))
        self.assertEqual(self.numbers("1..0 # SKIP no server\n", "SKIP"), (0, 0, 1))

    def test_a_program_that_died_after_good_points_failed(self):
        self.assertEqual(self.numbers("ok 1 - a\nok 2 - b\n", "ERROR"), (2, 1, 0))
        self.assertEqual(self.numbers("ok 1 - a\n", "TIMEOUT"), (1, 1, 0))

    def test_points_that_were_planned_and_did_not_come_fail(self):
        self.assertEqual(self.numbers("1..3\nok 1 - a\nok 2 - b\n"), (2, 1, 0))

    def test_a_failure_is_told_with_what_its_test_said_of_it(self):
        tally = counted("not ok 1 - a\n# AssertionError:\n#   1 != 2\nok 2 - b\n# of b\n1..2\n", "FAIL")
        self.assertEqual(tally.wrong, ["program: - a\n     AssertionError:\n       1 != 2"])
        tally = counted("# the last words\n", "TIMEOUT")
        self.assertEqual(tally.wrong, ["program: TIMEOUT\n    # the last words"])

    def test_words_that_only_look_like_points_do_not_count(self):
        self.assertEqual(self.numbers("okay\n# ok 5\nok 1 - a\n1..1\n"), (1, 0, 0))


if __name__ == "__main__":
    unittest.main()
