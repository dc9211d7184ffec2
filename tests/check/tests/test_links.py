# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import pathlib
import tempfile
import unittest

from check import links


class Links(unittest.TestCase):
    def problems(self, text, **files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            for name, other in files.items():
                (root / "docs" / f"{name}.md").write_text(other, encoding="utf-8")
            (root / "docs/page.md").write_text(text, encoding="utf-8")
            return list(links.problems(root, ["docs/page.md"]))

    def test_a_link_to_a_file_and_to_its_heading_is_good(self):
        self.assertEqual(self.problems("[a](other.md) [b](other.md#what-it-does) [c](#here)\n\n# Here\n",
                                       other="# What it does\n"), [])

    def test_a_file_that_is_not_there_is_named(self):
        self.assertEqual(self.problems("see [a](gone.md)"), ["docs/page.md: gone.md: is not there"])

    def test_a_heading_that_is_not_there_is_named(self):
        self.assertEqual(self.problems("[a](other.md#b) [c](#d)", other="# C\n"),
                         ["docs/page.md: other.md#b: has no such heading",
                          "docs/page.md: #d: has no such heading"])

    def test_pictures_are_looked_for_too(self):
        self.assertEqual(self.problems('<img src="gone.png" alt="">'),
                         ["docs/page.md: gone.png: is not there"])

    def test_what_leads_out_of_the_tree_is_named(self):
        self.assertEqual(self.problems("[a](../../etc/passwd)"),
                         ["docs/page.md: ../../etc/passwd: leads out of the tree"])

    def test_code_is_no_link(self):
        self.assertEqual(self.problems("`[a](gone.md)`\n\n    [b](gone.md)\n\n```c\n[c](gone.md)\n```\n"),
                         [])

    def test_addresses_elsewhere_are_https(self):
        self.assertEqual(self.problems("[a](https://example.com) [b](http://127.0.0.1:1/) "
                                       "[c](http://example.com)"),
                         ["docs/page.md: http://example.com: is not https"])

    def test_headings_of_one_name_are_numbered(self):
        self.assertEqual(links.anchors("# A `b`, c!\n## Two\n## Two\n```\n# not one\n```\n"),
                         {"a-b-c", "two", "two-1"})
