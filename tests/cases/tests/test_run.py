# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A test of the table that did not run, or did not pass, is told."""

import unittest

from cases import run, table

ROWS = [table.Row("1.01", "is right", [("core a", "f_case_1_01")], "a.c: no line", table.HERE)]


def log(stdout, name="project:unit / core a"):
    return [{"name": name, "stdout": stdout, "result": "OK"}]


class Run(unittest.TestCase):
    def problems(self, tests, whole=True):
        return run.problems(ROWS, tests, whole)

    def test_a_test_that_passed_is_no_problem(self):
        self.assertEqual(self.problems(log("ok 1 - x.c:group:f_case_1_01: Passed\n1..1\n")), [])

    def test_a_python_test_is_found_by_its_last_word(self):
        self.assertEqual(self.problems(log("ok 1 - tests.test_x.Class.f_case_1_01\n1..1\n")), [])

    def test_a_test_that_did_not_run_is_told(self):
        told = ["case 1.01: core a: f_case_1_01 did not run"]
        self.assertEqual(self.problems(log("ok 1 - x.c:group:g: Passed\n")), told)
        self.assertEqual(self.problems([]), told)
        self.assertEqual(
            self.problems(log("ok 1 - x.c:group:f_case_1_01: Passed\n", "project:unit / b")), told)

    def test_a_test_that_was_skipped_did_not_run(self):
        self.assertEqual(len(self.problems(log("ok 1 - m.C.f_case_1_01 # SKIP no server\n"))), 1)

    def test_one_failed_turn_of_a_loop_is_a_failure(self):
        points = ("ok 1 - x.c:g:f_case_1_01: Passed\n"
                  "not ok 2 - x.c:g:f_case_1_01: Assertion 'a == b' failed: a == 1\n"
                  "ok 3 - x.c:g:f_case_1_01: Passed\n")
        self.assertEqual(self.problems(log(points)),
                         ["case 1.01: core a: f_case_1_01 did not pass"])

    def test_programs_left_out_on_purpose_are_passed_over(self):
        self.assertEqual(self.problems(log("ok 1 - x.c:g:h: Passed\n", "b"), whole=False), [])
        self.assertEqual(len(self.problems(log("ok 1 - x.c:g:h: Passed\n"), whole=False)), 1)

    def test_a_name_with_an_unknown_id_is_told(self):
        points = "ok 1 - x.c:g:f_case_1_01: Passed\nok 2 - x.c:g:x_case_9_99: Passed\n"
        self.assertEqual(self.problems(log(points)),
                         ["x_case_9_99: carries 9.99, which is no case"])


if __name__ == "__main__":
    unittest.main()
