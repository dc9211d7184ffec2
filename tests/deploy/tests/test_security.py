# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What docs/security.md rests on is there: each test that it names, and each file of deploy/."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs/security.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w./-]+): ([^`]+)`")
WHO = ("Who makes pods", "Who owns a node, or has taken one over", "Other programs on a node",
       "Who can reach hamid by the network", "Who looks at the page",
       "A replica or a program that is out of date", "hamid itself, taken over",
       "People with hamictl")


def problems(text):
    """What is named and is not there."""
    for path, name in NAMED.findall(text):
        file = ROOT / path
        if not file.is_file():
            yield f"{path} is not there"
        elif name not in file.read_text(encoding="utf-8"):
            yield f"{path} has no {name}"


def rows(text):
    """The rows of all tables, without their heads."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] != "can try to" and not cells[0].startswith("---"):
            yield cells


class Security(unittest.TestCase):
    def test_each_test_that_is_named_is_there(self):
        self.assertGreater(len(NAMED.findall(TEXT)), 30)
        self.assertEqual(list(problems(TEXT)), [])

    def test_a_test_that_went_would_be_missed(self):
        self.assertEqual(list(problems("`tests/nowhere.c: a` `tests/meson.build: nothing of it`")),
                         ["tests/nowhere.c is not there",
                          "tests/meson.build has no nothing of it"])

    def test_each_of_those_who_can_do_harm_has_a_table(self):
        self.assertEqual(tuple(re.findall(r"^### (.+)$", TEXT, re.MULTILINE)), WHO)

    def test_what_stops_somebody_is_shown_by_a_test(self):
        for cells in rows(TEXT):
            self.assertEqual(len(cells), 4, cells)
            if cells[1] != "nothing":
                self.assertRegex(cells[2], NAMED, cells[0])

    def test_what_it_tells_to_set_up_is_there(self):
        for path in re.findall(r"`(deploy/[\w./-]+)`", TEXT):
            self.assertTrue((ROOT / path).exists(), path)
