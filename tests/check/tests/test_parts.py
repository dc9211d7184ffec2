# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Each part of scripts/check sees a fault of its kind."""

import argparse
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from check import run

ROOT = pathlib.Path(__file__).resolve().parents[3]
# part -> (program, file, what is wrong in it, what is right, what has to be said)
FAULTS = {
    "format": ("clang-format", "a.c", "int   a;\n", "int a;\n", "a.c:1"),
    # In two pieces, so that the part does not see it here.
    "spell": ("codespell", "a.md", "It is te" "h word.\n", "It is the word.\n", "==> the"),
    "shell": ("shellcheck", "a", "#!/bin/bash\ncd $1\n", '#!/bin/bash\ncd "$1" || exit\n', "a:2"),
    "python": ("pyflakes3", "a.py", "import os\n", "import os\nos.getpid()\n", "a.py:1"),
    "text": ("true", "a.txt", "blank \n", "none\n", "a.txt:1: blanks at the end"),
    "links": ("true", "a.md", "[a](b.md)\n", "[a](a.md)\n", "b.md: is not there"),
}


class Parts(unittest.TestCase):
    def look(self, part, name, text, fix=False):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copy(ROOT / ".clang-format", root)
            (root / name).write_text(text, encoding="utf-8")
            with mock.patch.object(run, "ROOT", root):
                found = run.PARTS[part]([name], argparse.Namespace(all=False, fix=fix))
            self.text = (root / name).read_text(encoding="utf-8")
            return found

    def test_each_part_sees_its_fault_and_nothing_else(self):
        for part, (program, name, wrong, right, said) in FAULTS.items():
            if shutil.which(program) is None:
                continue
            with self.subTest(part):
                found = self.look(part, name, wrong)
                self.assertTrue(any(said in line for line in found), found)
                self.assertEqual(self.look(part, name, right), [])

    def test_format_mends_what_it_would_complain_of(self):
        if shutil.which("clang-format"):
            self.assertEqual(self.look("format", "a.c", "int   a;\n", fix=True), [])
            self.assertEqual(self.text, "int a;\n")

    def test_an_import_that_says_why_is_excused(self):
        if shutil.which("pyflakes3"):
            self.assertEqual(self.look("python", "a.py", "import os  # noqa: F401\n"), [])

    def test_a_file_without_a_licence_is_seen(self):
        try:
            program = run.tool("reuse")
        except run.Missing:
            self.skipTest("reuse is not installed")
        if " version " not in subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True,
                                             check=False).stdout.replace(",", ""):
            self.skipTest("reuse can't be run")
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.c").write_text("int a;\n")
            with mock.patch.object(run, "ROOT", root):
                found = run.check_licences([], None)
        self.assertTrue(any("a.c" in line for line in found), found)

    def test_a_program_that_is_missing_is_a_failure_that_says_so(self):
        with mock.patch.object(run, "TOOLS", "/nowhere"), \
                mock.patch.dict("os.environ", {"PATH": "/nowhere"}):
            _, found, _ = run.run_part("shell", [], None)
        self.assertEqual(found, ["shellcheck is not installed: scripts/bootstrap developer"])

    def test_the_end_of_a_file_is_looked_at(self):
        self.assertEqual(list(run.text_problems("a", b"one\ntwo")), ["a: the last line has no end"])
        self.assertEqual(list(run.text_problems("a", b"one\n\n")), ["a: empty lines at the end"])
