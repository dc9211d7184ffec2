# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/nightly.md: one row a part, each the part's last run.

The file is its own memory: a run reads it, puts its own rows in the place of the old ones, and
writes it anew, so that runs of several days fill one table. Rows of parts that are no more are
dropped; a part that never ran has a row that says so.
"""

import dataclasses
import os
import pathlib
import tempfile

COLUMNS = ("Part", "Result", "Passed", "Failed", "Skipped", "Took", "Began (UTC)", "Commit", "With")
NEVER = "not run yet"
RESULTS = ("passed", "failed", "interrupted", "not there", NEVER)

HEAD = """<!-- SPDX-FileCopyrightText: 2026 The libhaminodelock authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->

# What the nightly run found last

`scripts/nightly` writes this page; every row is the last run of that part, whole or alone
(`--only`), so rows may be of several days and commits. `+` behind a commit: with changes that
were not committed. `not there`: the part could not run in that checkout or on that computer;
it is no pass.

"""


@dataclasses.dataclass
class Row:
    """One run of a part."""
    part: str
    result: str = NEVER
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: int = 0
    began: str = ""
    commit: str = ""
    versions: str = ""

    def cells(self):
        if self.result == NEVER:
            return (self.part, NEVER, "", "", "", "", "", "", "")
        counted = self.result != "not there"
        return (self.part, self.result,
                *(str(number) if counted else ""
                  for number in (self.passed, self.failed, self.skipped)),
                duration(self.seconds) if counted else "", self.began, self.commit, self.versions)


def duration(seconds):
    """55 s, 3 min 05 s, 2 h 03 min."""
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"


def seconds_of(text):
    """What duration() wrote; hours lose their seconds."""
    words = text.split()
    units = {"s": 1, "min": 60, "h": 3600}
    return sum(int(number) * units[unit] for number, unit in zip(words[::2], words[1::2]))


def _escape(text):
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _split(line):
    """Cells of a table's line; a pipe in a cell is escaped."""
    cells, cell, escaped = [], "", False
    for char in line.strip()[1:]:
        if escaped or char not in "\\|":
            cell += char
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            cells.append(cell.strip())
            cell = ""
    return cells


def parse(text):
    """Rows by part. Raises ValueError where the table is not one of ours."""
    rows = {}
    for line in text.splitlines():
        cells = _split(line) if line.startswith("|") else []
        if not cells or cells[0] == COLUMNS[0] or set(cells[0]) == {"-"}:
            continue
        if len(cells) != len(COLUMNS) or cells[1] not in RESULTS or cells[0] in rows:
            raise ValueError(f"no row of the nightly table: {line}")
        part, result, passed, failed, skipped, took, *rest = cells
        rows[part] = Row(part, result, int(passed or 0), int(failed or 0), int(skipped or 0),
                         seconds_of(took), *rest)
    return rows


def render(rows, parts):
    """The page, with a row for each of the parts in their order."""
    lines = [COLUMNS, ("---", "---", "--:", "--:", "--:", "--:", "---", "---", "---")]
    lines += [rows.get(part, Row(part)).cells() for part in parts]
    return HEAD + "".join(f"| {' | '.join(_escape(cell) for cell in line)} |\n"
                          for line in lines)


def merge(path, row, parts):
    """Puts a row into the file, which is never seen half written."""
    path = pathlib.Path(path)
    rows = parse(path.read_text(encoding="utf-8")) if path.exists() else {}
    rows[row.part] = row
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(render(rows, parts))
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        pathlib.Path(name).unlink(missing_ok=True)
        raise
