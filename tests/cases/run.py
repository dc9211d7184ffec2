# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the tests of the table ran and passed: compares it with meson's log of one run."""

import re

from cases import table

POINT = re.compile(r"^(not )?ok\b\s*\d*\s*-?\s*(.*)$")
# check prints FILE:GROUP:FUNCTION: TEXT, unittest MODULE.CLASS.FUNCTION.
CHECK_NAME = re.compile(r"^[^:]*:[^:]*:(\w+):")
SKIPPED = re.compile(r"#\s*SKIP", re.IGNORECASE)


def function_of(point):
    match = CHECK_NAME.match(point)
    return match.group(1) if match else point.split(" ")[0].rpartition(".")[2]


def results(tests):
    """(program, function) -> whether each of its points passed; @tests: lines of testlog.json."""
    found = {}
    for test in tests:
        program = test["name"].rpartition(" / ")[2]
        for line in (test.get("stdout") or "").splitlines():
            match = POINT.match(line)
            if match and not SKIPPED.search(match.group(2)):
                key = (program, function_of(match.group(2)))
                found[key] = found.get(key, True) and not match.group(1)
    return found


def problems(rows, tests, whole):
    """@whole: all programs were asked to run; else those that did not are passed over."""
    found = results(tests)
    programs = {test["name"].rpartition(" / ")[2] for test in tests}
    texts = []
    for row in rows:
        for key in row.tests:
            if not whole and key[0] not in programs:
                continue
            if key not in found:
                texts.append(f"case {row.id}: {key[0]}: {key[1]} did not run")
            elif not found[key]:
                texts.append(f"case {row.id}: {key[0]}: {key[1]} did not pass")
    return texts + table.unknown_ids([function for _, function in found])


def of_run(tests, whole):
    """What scripts/test asks at its end: (texts of what is wrong, number of cases shown)."""
    rows, unreadable = table.read()
    texts = unreadable + problems(rows, tests, whole)
    found = results(tests)
    shown = [row for row in rows if row.tests and all(found.get(key) for key in row.tests)]
    return texts, len(shown)
