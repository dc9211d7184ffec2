# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Runs functions as TAP points: their names are the sentences."""

import sys
import traceback


def run(functions):
    print(f"1..{len(functions)}")
    failed = False
    for number, function in enumerate(functions, 1):
        name = function.__name__.removeprefix("test_").replace("_", " ")
        try:
            function()
        except Exception:  # pylint: disable=broad-except
            failed = True
            print(f"not ok {number} - {name}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
        else:
            print(f"ok {number} - {name}")
        sys.stdout.flush()
    return 1 if failed else 0


def equal(got, wanted):
    if got != wanted:
        raise AssertionError(f"got {got!r}, not {wanted!r}")


def has(text, part):
    if part not in text:
        raise AssertionError(f"{part!r} is not in:\n{text}")
