# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""tests/cases.tsv: reads the table and says what is wrong with it, without running anything."""

import dataclasses
import pathlib
import re

FILE = pathlib.Path(__file__).resolve().parent.parent / "cases.tsv"

HEADER = ["id", "behaviour", "tests", "fault", "owner"]
HERE = "here"
NONE = "-"

# Every case there is. Numbers are stable and not consecutive.
IDS = """
1.01 1.02 1.03 1.05 1.06 1.08 1.09 1.10 1.11 1.12 1.13 1.14 1.15 1.16 1.17 1.19 1.20 1.21 1.22
1.23 1.25 1.27 1.30 1.31 1.32 1.33 1.35 1.36 1.39 1.40 1.42 1.45 1.46 1.47
2.01 2.03 2.04 2.06 2.07 2.09 2.11
3.01 3.03 3.05 3.09 3.11 3.12 3.13 3.15 3.17 3.18 3.20 3.21 3.22 3.23 3.24 3.27 3.28 3.29 3.30
3.31 3.32 3.33
4.01 4.02 4.03 4.05 4.07 4.09 4.11 4.13 4.14 4.17 4.18 4.19 4.20 4.22 4.25 4.26 4.27 4.28 4.29
""".split()

# `case_1_19`, also several: `case_1_39_case_2_06`, `case_1_19_and_1_40`.
IN_NAME = re.compile(r"case((?:_(?:and_)?\d+_\d\d)+)(?![0-9])")
ONE = re.compile(r"(\d+)_(\d\d)")

C_TEST = re.compile(r"^START_TEST\((\w+)\)", re.MULTILINE)
PYTHON_TEST = re.compile(r"^\s+def (test_\w+)\(", re.MULTILINE)


@dataclasses.dataclass
class Row:
    id: str
    behaviour: str
    tests: list  # of (program as meson names it, function)
    fault: str
    owner: str


def ids_in(name):
    """The ids that a test's name carries."""
    return [f"{major}.{minor}" for group in IN_NAME.findall(name)
            for major, minor in ONE.findall(group)]


def parse_tests(text):
    if text == NONE:
        return []
    pairs = [part.rpartition(": ") for part in text.split("; ")]
    return [(program, function) for program, _, function in pairs]


def parse(text):
    """Rows, and what could not be read. Lines that begin with # are remarks."""
    rows, problems = [], []
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    if not lines or lines[0].split("\t") != HEADER:
        return [], ["the first line does not name the columns " + ", ".join(HEADER)]
    for line in lines[1:]:
        fields = line.split("\t")
        if len(fields) != len(HEADER):
            problems.append(f"{fields[0]}: {len(fields)} columns, not {len(HEADER)}")
            continue
        rows.append(Row(fields[0], fields[1], parse_tests(fields[2]), fields[3], fields[4]))
    return rows, problems


def read(path=FILE):
    return parse(path.read_text(encoding="utf-8"))


def row_problems(row):
    problems = []
    if not row.behaviour or not row.owner:
        problems.append(f"{row.id}: behaviour and owner must be said")
    if row.owner == HERE and (not row.tests or row.fault == NONE):
        problems.append(f"{row.id}: is owned here, and has no test or no fault")
    if row.fault != NONE and not row.tests:
        problems.append(f"{row.id}: has a fault and no test that finds it")
    for program, function in row.tests:
        if not program or not function:
            problems.append(f"{row.id}: '{program}: {function}' is not 'PROGRAM: FUNCTION'")
        elif row.id not in ids_in(function):
            problems.append(f"{row.id}: the name of {function} does not carry the id")
    return problems


def table_problems(rows, names):
    """@names: of all tests of the sources."""
    ids = [row.id for row in rows]
    problems = [f"{id}: is missing" for id in IDS if id not in ids]
    problems += [f"{id}: is there {ids.count(id)} times" for id in IDS if ids.count(id) > 1]
    problems += [f"{id}: is no case" for id in ids if id not in IDS]
    if [id for id in ids if id in IDS] != [id for id in IDS if id in ids]:
        problems.append("the rows are not in the order of their ids")
    for row in rows:
        problems += row_problems(row)
        problems += [f"{row.id}: there is no test {function}" for _, function in row.tests
                     if function not in names]
    return problems + unknown_ids(names)


def unknown_ids(names):
    return [f"{name}: carries {id}, which is no case" for name in sorted(set(names))
            for id in ids_in(name) if id not in IDS]


def source_names(root):
    """Names of all tests below tests/."""
    names = set()
    for path in sorted((root / "tests").rglob("*.c")):
        names.update(C_TEST.findall(path.read_text(encoding="utf-8")))
    for path in sorted((root / "tests").rglob("test_*.py")):
        names.update(PYTHON_TEST.findall(path.read_text(encoding="utf-8")))
    return names
