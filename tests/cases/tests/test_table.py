# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The check of the table finds each thing that can be wrong with it."""

import unittest

from cases import table

NAMES = ["a_thing_case_1_01", "another_case_1_02_case_1_03"]


def whole_table():
    """A row for each id, none with a test."""
    return [table.Row(id, "is right", [], table.NONE, "elsewhere") for id in table.IDS]


def text(*lines):
    return "\n".join(("\t".join(table.HEADER),) + lines) + "\n"


class Reading(unittest.TestCase):
    def test_rows_are_read_and_remarks_left_out(self):
        rows, problems = table.parse("# remark\n" + text(
            "1.01\tis right\tcore a: f_case_1_01; b: g_case_1_01\ta.c: no line\there"))
        self.assertEqual(problems, [])
        self.assertEqual(rows[0].tests, [("core a", "f_case_1_01"), ("b", "g_case_1_01")])
        self.assertEqual(rows[0].owner, table.HERE)

    def test_a_line_with_too_few_columns_is_told(self):
        self.assertEqual(table.parse(text("1.01\tis right"))[1], ["1.01: 2 columns, not 5"])

    def test_a_table_without_its_header_is_told(self):
        self.assertEqual(len(table.parse("1.01\ta\tb\tc\td\n")[1]), 1)

    def test_ids_are_found_in_names(self):
        self.assertEqual(table.ids_in("case_1_19_and_1_40_stay"), ["1.19", "1.40"])
        self.assertEqual(table.ids_in("is_seen_case_1_39_case_2_06"), ["1.39", "2.06"])
        self.assertEqual(table.ids_in("in_case_of_2_or_3"), [])


class Checking(unittest.TestCase):
    def problems(self, rows, names=()):
        return table.table_problems(rows, list(names))

    def test_a_whole_table_has_no_problem(self):
        rows = whole_table()
        rows[0].tests, rows[0].fault = [("p", NAMES[0])], "a.c: no line"
        self.assertEqual(self.problems(rows, NAMES), [])

    def test_a_missing_id_is_told(self):
        self.assertEqual(self.problems(whole_table()[1:]), ["1.01: is missing"])

    def test_a_doubled_id_is_told(self):
        rows = whole_table()
        self.assertIn("1.01: is there 2 times", self.problems(rows[:1] + rows))

    def test_an_id_that_is_no_case_is_told(self):
        rows = whole_table()
        rows[0].id = "9.99"
        self.assertIn("9.99: is no case", self.problems(rows))

    def test_a_test_with_an_id_that_is_no_case_is_told(self):
        self.assertEqual(self.problems(whole_table(), ["x_case_9_99"]),
                         ["x_case_9_99: carries 9.99, which is no case"])

    def test_a_test_that_is_not_in_the_sources_is_told(self):
        rows = whole_table()
        rows[0].tests, rows[0].fault = [("p", "gone_case_1_01")], "a.c: no line"
        self.assertEqual(self.problems(rows, NAMES), ["1.01: there is no test gone_case_1_01"])

    def test_an_owned_row_without_test_or_fault_is_told(self):
        rows = whole_table()
        rows[0].owner = table.HERE
        self.assertEqual(len(self.problems(rows)), 1)
        rows[0].tests = [("p", NAMES[0])]
        self.assertEqual(len(self.problems(rows, NAMES)), 1)
        rows[0].tests, rows[0].fault = [], "a.c: no line"
        self.assertEqual(len(self.problems(rows, NAMES)), 2)

    def test_a_test_of_another_case_is_told(self):
        rows = whole_table()
        rows[0].tests, rows[0].fault = [("p", NAMES[1])], "a.c: no line"
        self.assertEqual(len(self.problems(rows, NAMES)), 1)

    def test_rows_out_of_order_are_told(self):
        rows = whole_table()
        self.assertEqual(len(self.problems([rows[1], rows[0]] + rows[2:])), 1)


if __name__ == "__main__":
    unittest.main()
