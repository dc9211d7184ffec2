# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figures and of the report that is made from them."""

import json
import pathlib
import sys
import tempfile
import time
import types
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from bench import figures, report  # noqa: E402


def _setting():
    return types.SimpleNamespace(source=pathlib.Path(__file__).parent, kubernetes="1.2.3",
                                 repeats=3, begin=time.monotonic())


class Figures(unittest.TestCase):
    def test_three_values_span_the_whole_interval(self):
        self.assertEqual(figures.figure([3, 1, 2]), figures.Figure(2, 1, 3))

    def test_of_seven_values_the_outermost_two_are_left_out_of_the_interval(self):
        self.assertEqual(figures.figure([7, 100, 6, 5, 1, 4, 3]), figures.Figure(5, 3, 7))

    def test_nothing_measured_is_an_error_and_not_a_zero(self):
        with self.assertRaises(ValueError):
            figures.figure([])

    def test_ratios_are_taken_turn_by_turn(self):
        self.assertEqual(figures.ratio([10, 40, 30], [10, 20, 30]), figures.Figure(1, 1, 2))
        with self.assertRaises(ValueError):
            figures.ratio([1, 2], [1])


class Goals(unittest.TestCase):
    def test_a_limit_is_met_by_the_better_end_of_the_interval(self):
        spread = figures.Figure(1.1, 1.04, 1.3)
        self.assertTrue(figures.Goal("a", "a", spread, 1.05).is_met())
        self.assertFalse(figures.Goal("a", "a", spread, 1.03).is_met())
        self.assertTrue(figures.Goal("a", "a", spread, 1.25, at_least=True).is_met())
        self.assertFalse(figures.Goal("a", "a", spread, 1.35, at_least=True).is_met())


class Report(unittest.TestCase):
    def test_it_tells_goals_tables_pictures_and_what_could_not_run(self):
        found = {"locks": figures.Findings(
            figures={"pair_ns": figures.figure([40, 41, 42], "ns")},
            goals=[figures.Goal("pair_over_sem", "a pair against sem_t",
                                figures.figure([4, 5, 6]), 3, stopped_by="two atomic writes")],
            tables=[report.Table("Threads", ["threads", "ns"], [["1", "41"]])],
            charts=[report.Chart("pair", "Pair <fast>", "ns", [("ours", 41), ("sem_t", 8.5)])],
            notes=["One thread."])}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "report"
            report.write(folder, _setting(), found, ["cluster"])
            text = (folder / "report.md").read_text(encoding="utf-8")
            whole = json.loads((folder / "report.json").read_text(encoding="utf-8"))
            picture = xml.etree.ElementTree.parse(folder / "pair.svg")
        self.assertIn("| a pair against sem_t | 5 (4 to 6) | ≤ 3 | **no**: two atomic writes |", text)
        self.assertIn("| 1 | 41 |", text)
        self.assertIn("![Pair <fast>](pair.svg)", text)
        self.assertIn("Could not be run to their end: cluster.", text)
        self.assertEqual(whole["parts"]["locks"]["figures"]["pair_ns"]["median"], 41)
        self.assertFalse(whole["parts"]["locks"]["goals"][0]["is_met"])
        widths = [float(bar.get("width")) for bar in picture.iter()
                  if bar.tag.endswith("rect")]
        self.assertAlmostEqual(widths[0] / widths[1], 41 / 8.5, places=1)


if __name__ == "__main__":
    unittest.main()
