# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the bench's last line says, and of the reasons that its goals give."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "tests"):
    sys.path.insert(0, str(folder))

from bench import figures, run  # noqa: E402

# What scripts/bench --quick --json promises to tell.
PROMISED = {"makespan_over_same_calls", "makespan_over_floor", "writes_per_pod", "reads_per_pod",
            "speedup_over_reference", "speedup_over_reference_unlimited", "speedup_over_polling",
            "pair_ns", "pair_over_sem", "handoff_over_futex", "waiters_mb", "binds_per_second",
            "rss_mb", "growth"}


def _found(part, leave_out=()):
    return figures.Findings(goals=[
        figures.Goal(name, name, figures.figure([1.0, 1.1, 1.2]), 1.05, stopped_by="x")
        for name in run.NAMES[part] if name not in leave_out])


class LastLine(unittest.TestCase):
    def test_all_parts_together_tell_every_name_that_is_promised(self):
        found = {part: _found(part) for part in run.NAMES}
        line = run.last_line(list(found), found, [])
        self.assertLessEqual(PROMISED, {name for name, value in line.items()
                                        if value is not None})
        self.assertEqual(line["missing_names"], [])

    def test_each_part_has_its_module_and_names_what_it_finds(self):
        for part, names in run.NAMES.items():
            path = ROOT / f"bench/parts/{part.replace('-', '_')}.py"
            if not path.exists():
                self.fail(f"there is no part {part}")
            text = path.read_text(encoding="utf-8")
            for name in names:
                stem = re.sub(r"(_server|_kubesim)?_[0-9]+$", "", name)
                self.assertRegex(text, rf'"{stem}[_"]', f"{part} never says {name}")

    def test_every_goal_says_what_stops_it_where_it_is_missed(self):
        for path in sorted((ROOT / "bench/parts").glob("[a-z]*.py")):
            text = path.read_text(encoding="utf-8")
            self.assertEqual(text.count("Goal("), text.count("stopped_by="), path.name)

    def test_a_name_that_was_not_found_is_null_and_named(self):
        found = {"burst": _found("burst", leave_out=["speedup_over_polling"])}
        line = run.last_line(["burst", "footprint"], found, ["footprint"])
        self.assertIsNone(line["speedup_over_polling"])
        self.assertEqual(line["missing_names"], ["speedup_over_polling", "rss_mb"])
        self.assertEqual(line["failed_parts"], ["footprint"])

    def test_a_part_that_was_not_asked_for_is_not_missed(self):
        line = run.last_line(["growth"], {"growth": _found("growth")}, [])
        self.assertNotIn("rss_mb", line)

    def test_goals_are_counted_by_the_better_end_of_their_interval(self):
        met = figures.Goal("a", "", figures.figure([1.0, 1.1, 1.2]), 1.05)
        missed = figures.Goal("b", "", figures.figure([1.06, 1.1, 1.2]), 1.05)
        line = run.last_line([], {"x": figures.Findings(goals=[met, missed])}, [])
        self.assertEqual((line["goals_met"], line["goals_missed"]), (1, ["b"]))


if __name__ == "__main__":
    unittest.main()
