# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The behaviours, and what a consumer's TAP says of them."""

import dataclasses
import re

BACKENDS = ("memory", "kubesim")
POINT = re.compile(r"^(not )?ok\b\s*\d*\s*-?\s*(\w+) ([\w-]+)(.*)$")


@dataclasses.dataclass
class Behaviour:
    id: str
    backends: tuple
    sentence: str


@dataclasses.dataclass
class Verdict:
    good: bool
    sentence: str
    detail: str = ""


def read(file):
    rows = [line.split("\t") for line in file.read_text().splitlines()
            if line and not line.startswith("#")]
    return [Behaviour(id, BACKENDS if where == "both" else (where,), sentence)
            for id, where, sentence in rows]


def points(output):
    """(backend, id) -> [(good, lines of detail before it)]; a skip counts as not shown."""
    found, detail = {}, []
    for line in output.splitlines():
        match = POINT.match(line)
        if not match:
            detail.append(line)
            continue
        good = not match.group(1) and not re.search(r"#\s*SKIP", match.group(4), re.IGNORECASE)
        found.setdefault((match.group(2), match.group(3)), []).append((good, "\n".join(detail)))
        detail = []
    return found


def judge(behaviours, backend, output, code):
    """One verdict a behaviour of the backend, and one for the program as a whole."""
    found = points(output)
    expected = [one for one in behaviours if backend in one.backends]
    verdicts = []
    for behaviour in expected:
        shown = found.pop((backend, behaviour.id), [])
        good = len(shown) == 1 and shown[0][0]
        detail = "not shown" if not shown else "\n".join(text for _, text in shown)
        verdicts.append(Verdict(good, f"{backend} {behaviour.id}: {behaviour.sentence}", detail))
    whole = not found and (code == 0) == all(verdict.good for verdict in verdicts)
    verdicts.append(Verdict(whole, f"{backend}: the program ends as its points say, and shows "
                            "nothing that is not in the table",
                            f"exit {code}; not in the table: {sorted(found)}\n{output[-3000:]}"))
    return verdicts
