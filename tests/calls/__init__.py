# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What a pod of a burst may cost in API calls, held against limits.tsv."""

import dataclasses
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
FIGURES = {"writes": "api_writes_per_pod", "reads": "api_reads_per_pod"}


@dataclasses.dataclass(frozen=True)
class Limit:
    writes: float
    reads: float
    meaning: str


def read_limits(path=HERE / "limits.tsv"):
    """name -> Limit"""
    limits = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, writes, reads, meaning = line.split("\t")
            limits[name] = Limit(float(writes), float(reads), meaning)
    return limits


def judge(limit, values):
    """(sentence, is it so?, figure) of a burst's figures, as the checker makes them."""
    for kind, figure in FIGURES.items():
        most = getattr(limit, kind)
        yield f"at most {most:g} {kind} a pod", 0 < values[figure] <= most, values[figure]


def breaches(limit, values):
    """Which kinds of calls were too many."""
    return [kind for kind, figure in FIGURES.items() if values[figure] > getattr(limit, kind)]
