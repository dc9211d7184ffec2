# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Figures with their spread, and goals that they are held against.

Machines are noisy, so nothing here is judged by one value or by absolute time. What is compared
runs in turns within one run, each turn gives one ratio, and the median of the ratios is told with
an interval, within which the true median lies with a good chance: all of three values (three in
four), the second to the sixth of seven (seven in eight).
"""

import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Figure:
    """A median with its interval; low <= median <= high."""

    median: float
    low: float
    high: float
    unit: str = ""

    def text(self):
        spread = f" ({_short(self.low)} to {_short(self.high)})" if self.low != self.high else ""
        return f"{_short(self.median)}{' ' + self.unit if self.unit else ''}{spread}"


@dataclasses.dataclass(frozen=True)
class Goal:
    """A named figure that should be at most, or at least, a limit."""

    name: str
    about: str
    figure: Figure
    limit: float
    at_least: bool = False
    stopped_by: str = ""  # what keeps it from being reached, where it is not

    def is_met(self):
        """By the interval's better end."""
        if self.at_least:
            return self.figure.high >= self.limit
        return self.figure.low <= self.limit


@dataclasses.dataclass
class Findings:
    """What one part of the bench found."""

    figures: dict = dataclasses.field(default_factory=dict)  # name -> Figure
    goals: list = dataclasses.field(default_factory=list)  # Goal
    tables: list = dataclasses.field(default_factory=list)  # report.Table
    charts: list = dataclasses.field(default_factory=list)  # report.Chart
    notes: list = dataclasses.field(default_factory=list)  # sentences


def _short(value):
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def figure(values, unit=""):
    """The median of the values of all repeats; raises ValueError without any."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values to sum up")
    skipped = (len(ordered) - 1) // 5 if len(ordered) > 4 else 0
    return Figure(statistics.median(ordered), ordered[skipped], ordered[-1 - skipped], unit)


def ratio(above, below, unit=""):
    """Ratios of values that were measured in the same turn."""
    return figure([a / b for a, b in zip(above, below, strict=True)], unit)
