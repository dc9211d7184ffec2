# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What docs/architecture.md names is there: folders, files, functions, and the way between them."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([\w./-]+\.c)`: `(\w+)\(\)` \| (.*) \|$", re.MULTILINE)
OF_FILE = re.compile(r"`(\w+)\(\)`\s+of\s+`([\w./-]+\.c)`")
FILE = re.compile(r"`((?:lib|daemon|tests|include|examples|scripts|deploy)/[\w./-]*)`")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def beside(name):
    """The text of every C file in the folder of this one."""
    return "".join(path.read_text(encoding="utf-8") for path in (ROOT / name).parent.glob("*.c"))


def is_defined(name, text):
    """As this code has it: the name at the beginning of a line, or after its type, and a body."""
    return re.search(rf"^(?:\w[\w *]*[ *])?{name}\((?:[^;{{}}]|\n)*\)\n{{", text, re.MULTILINE)


class Architecture(unittest.TestCase):
    def test_each_step_of_the_bind_is_a_function_of_its_file(self):
        steps = ROW.findall(TEXT)
        self.assertGreater(len(steps), 40)
        for file, function, _ in steps:
            self.assertTrue(is_defined(function, read(file)), f"{file}: {function}")

    def test_a_step_is_called_beside_the_one_before(self):
        steps = ROW.findall(TEXT)
        gaps = [f"{caller} of {before} to {function}"
                for (before, caller, _), (_, function, what) in zip(steps, steps[1:])
                if not what.startswith("*later*") and f"{function}(" not in beside(before)]
        self.assertEqual(gaps, [])

    def test_functions_that_are_named_with_their_file_are_there(self):
        self.assertGreater(len(OF_FILE.findall(TEXT)), 2)
        for function, file in OF_FILE.findall(TEXT):
            self.assertTrue(is_defined(function, read(file)), f"{file}: {function}")

    def test_files_and_folders_that_are_named_are_there(self):
        names = FILE.findall(TEXT)
        self.assertGreater(len(names), 60)
        for name in names:
            self.assertTrue((ROOT / name).exists(), name)

    def test_a_declaration_is_no_definition(self):
        self.assertFalse(is_defined("f", "static int f(int a);\nint g(void)\n{\n    f(1);\n}\n"))
        self.assertTrue(is_defined("f", "static const char *f(int a,\n              int b)\n{\n}\n"))
