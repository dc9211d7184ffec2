# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What the runner makes of a consumer's output."""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import table  # noqa: E402

TWO = [table.Behaviour("order", table.BACKENDS, "In order"),
       table.Behaviour("transport", ("memory",), "Own transport")]


def goods(output, code=0, backend="memory"):
    return [verdict.good for verdict in table.judge(TWO, backend, output, code)]


class Judging(unittest.TestCase):
    def test_a_consumer_that_shows_all_is_good(self):
        self.assertEqual(goods("ok 1 - memory order\nok 2 - memory transport: more\n1..2\n"),
                         [True, True, True])

    def test_a_behaviour_of_the_other_backend_is_not_asked_for(self):
        self.assertEqual(goods("ok 1 - kubesim order\n", backend="kubesim"), [True, True])

    def test_a_behaviour_that_lacks_fails_it(self):
        self.assertEqual(goods("ok 1 - memory order\n1..1\n", 1), [True, False, True])

    def test_a_behaviour_that_failed_fails_it_with_its_reason(self):
        verdicts = table.judge(TWO, "memory", "ok 1 - memory order\n# because\n"
                               "not ok 2 - memory transport\n", 1)
        self.assertEqual([one.good for one in verdicts], [True, False, True])
        self.assertIn("because", verdicts[1].detail)

    def test_a_skip_does_not_count_as_shown(self):
        self.assertEqual(goods("ok 1 - memory order # SKIP no\nok 2 - memory transport\n", 1),
                         [False, True, True])

    def test_a_behaviour_shown_twice_fails_it(self):
        self.assertEqual(goods("ok - memory order\nok - memory order\nok - memory transport\n", 1),
                         [False, True, True])

    def test_a_behaviour_that_is_not_in_the_table_fails_the_program(self):
        self.assertEqual(goods("ok - memory order\nok - memory transport\nok - memory new\n"),
                         [True, True, False])

    def test_a_crash_after_the_last_point_fails_the_program(self):
        output = "ok - memory order\nok - memory transport\n"
        self.assertEqual(goods(output, -11), [True, True, False])
        self.assertEqual(goods(output, None), [True, True, False])


class Table(unittest.TestCase):
    def test_it_has_twenty_behaviours_each_with_one_id(self):
        rows = table.read(HERE.parent / "behaviours.tsv")
        self.assertEqual(len(rows), 22)
        self.assertEqual(len({row.id for row in rows}), 22)
        for row in rows:
            self.assertLessEqual(set(row.backends), set(table.BACKENDS))
