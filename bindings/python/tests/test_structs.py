# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The structs that the package declares are those of the headers (HAMI_LAYOUT names the list)."""

import ctypes
import os
import pathlib
import unittest

from haminodelock import _native, errors


def declared():
    for name, kind in _native.STRUCTS.items():
        yield f"{name} - 0 {ctypes.sizeof(kind)}"
        for member, *_ in kind._fields_:
            field = getattr(kind, member)
            yield f"{name} {member} {field.offset} {field.size}"


class Structs(unittest.TestCase):
    def test_each_struct_has_the_members_of_the_header_at_their_places(self):
        lines = pathlib.Path(os.environ["HAMI_LAYOUT"]).read_text().splitlines()
        for name in _native.STRUCTS:
            with self.subTest(name):
                self.assertEqual([line for line in declared() if line.split()[0] == name],
                                 [line for line in lines if line.split()[0] == name])


class Errors(unittest.TestCase):
    def test_each_code_of_the_library_has_a_class_of_its_name(self):
        name = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int)(
            ("hami_errname", _native.core))
        for code in range(-1, -18, -1):
            self.assertEqual(errors.make_error(code).name, name(code).decode())
        self.assertIs(type(errors.make_error(-18)), errors.HamiError)
