# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The table of the last results keeps what other days found."""

import pathlib
import tempfile
import unittest

from nightly import record

PARTS = ["model", "soak", "kubernetes_1_30"]


def soak(**changed):
    return record.Row(**{"part": "soak", "result": "passed", "passed": 1, "seconds": 3725,
                         "began": "2026-02-03 04:05", "commit": "abcdef0123",
                         "versions": "gcc 12.2.0, seed 7", **changed})


class Table(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "nightly.md"

    def rows(self):
        return record.parse(self.path.read_text(encoding="utf-8"))

    def test_a_first_run_makes_the_page_with_a_row_for_each_part(self):
        record.merge(self.path, soak(), PARTS)
        lines = [line for line in self.path.read_text().splitlines() if line.startswith("| ")]
        self.assertEqual(lines[2:], [
            "| model | not run yet |  |  |  |  |  |  |  |",
            "| soak | passed | 1 | 0 | 0 | 1 h 02 min | 2026-02-03 04:05 | abcdef0123 | "
            "gcc 12.2.0, seed 7 |",
            "| kubernetes_1_30 | not run yet |  |  |  |  |  |  |  |"])

    def test_runs_of_several_days_fill_one_table(self):
        other = record.Row("kubernetes_1_30", "failed", 812, 2, 3, 1199, "2026-02-04 01:00",
                           "0123456789+", "Kubernetes 1.30.14")
        record.merge(self.path, soak(), PARTS)
        record.merge(self.path, other, PARTS)
        self.assertEqual(self.rows()["kubernetes_1_30"], other)
        self.assertEqual(self.rows()["soak"], soak(seconds=3720))
        self.assertEqual(self.rows()["model"].result, record.NEVER)

    def test_a_later_run_takes_the_place_of_an_earlier_one(self):
        record.merge(self.path, soak(), PARTS)
        record.merge(self.path, soak(result="failed", passed=0, failed=1), PARTS)
        self.assertEqual(self.rows()["soak"].result, "failed")
        self.assertEqual(len(self.rows()), len(PARTS))

    def test_what_is_not_there_has_no_numbers_that_look_like_a_pass(self):
        record.merge(self.path, soak(result="not there"), PARTS)
        line = next(line for line in self.path.read_text().splitlines() if "| soak" in line)
        self.assertTrue(line.startswith("| soak | not there |  |  |  |  | 2026-"), line)

    def test_the_row_of_a_part_that_is_no_more_goes(self):
        record.merge(self.path, soak(), PARTS)
        record.merge(self.path, record.Row("model", "passed", 1), ["model"])
        self.assertEqual(list(self.rows()), ["model"])

    def test_odd_texts_come_back_as_they_were(self):
        row = soak(versions="a|b \\ c")
        record.merge(self.path, row, PARTS)
        self.assertEqual(self.rows()["soak"].versions, row.versions)

    def test_a_table_of_somebody_else_is_not_overwritten(self):
        self.path.write_text("| a | b |\n| --- | --- |\n| soak | fine |\n")
        with self.assertRaises(ValueError):
            record.merge(self.path, soak(), PARTS)
        self.assertIn("fine", self.path.read_text())
        self.assertEqual(list(self.path.parent.iterdir()), [self.path])


class Durations(unittest.TestCase):
    def test_are_written_for_people_and_read_back(self):
        for seconds, text in ((0, "0 s"), (59, "59 s"), (60, "1 min 00 s"), (185, "3 min 05 s"),
                              (3600, "1 h 00 min"), (7380, "2 h 03 min")):
            self.assertEqual(record.duration(seconds), text)
            self.assertEqual(record.seconds_of(text), seconds)
