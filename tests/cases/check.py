# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""check.py ROOT prints TAP about tests/cases.tsv; check.py ROOT TESTLOG looks at a run's log too."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from cases import run, table  # noqa: E402


def point(number, name, texts):
    print(f"{'not ok' if texts else 'ok'} {number} - {name}")
    for text in texts:
        print(f"# {text}")
    return bool(texts)


def main():
    root = pathlib.Path(sys.argv[1])
    rows, unreadable = table.read(root / "tests/cases.tsv")
    failed = point(1, "the_table_can_be_read", unreadable)
    failed += point(2, "every_case_has_one_row_and_every_test_of_it_is_there",
                    table.table_problems(rows, table.source_names(root)))
    if len(sys.argv) > 2:
        lines = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
        failed += point(3, "every_test_of_the_table_ran_and_passed",
                        run.problems(rows, [json.loads(line) for line in lines], True))
    print(f"1..{len(sys.argv)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
