# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the report: Markdown, SVG pictures, and everything as JSON."""

import dataclasses
import html
import json
import math
import os
import pathlib
import platform
import subprocess


@dataclasses.dataclass(frozen=True)
class Table:
    title: str
    head: list  # texts
    rows: list  # of lists of texts


@dataclasses.dataclass(frozen=True)
class Chart:
    """Bars side by side, by the length of their values; of several orders of size: logarithmic."""

    name: str  # of the file, without suffix
    title: str
    unit: str
    bars: list  # (label, value)
    is_logarithmic: bool = False


def _width(value, largest, is_logarithmic):
    if value <= 0 or largest <= 0:
        return 0.0
    if not is_logarithmic:
        return 400 * value / largest
    return 400 * max(0.02, (math.log10(value / largest) + 5) / 5)


def svg(chart):
    """A picture that can be read in light and in dark."""
    largest = max((value for _, value in chart.bars), default=0)
    rows = []
    for index, (label, value) in enumerate(chart.bars):
        top = 44 + 30 * index
        width = _width(value, largest, chart.is_logarithmic)
        rows.append(
            f'<text x="236" y="{top + 15}" text-anchor="end">{html.escape(label)}</text>'
            f'<rect x="244" y="{top}" width="{width:.1f}" height="20" rx="3" fill="#3b7dd8"/>'
            f'<text x="{250 + width:.1f}" y="{top + 15}">{value:,.4g} {html.escape(chart.unit)}'
            '</text>')
    height = 56 + 30 * len(chart.bars)
    scale = ", logarithmic" if chart.is_logarithmic else ""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 {height}" '
            'font-family="sans-serif" font-size="13" role="img">'
            '<style>text{fill:#222}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>'
            f'<title>{html.escape(chart.title)}</title>'
            f'<text x="16" y="24" font-size="15" font-weight="bold">{html.escape(chart.title)}'
            f'{scale}</text>{"".join(rows)}</svg>\n')


def _markdown_table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def _processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _first_line(*command):
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        return (ended.stdout or ended.stderr).splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return "unknown"


def machine(setting):
    """What the figures depend on, by name."""
    return {
        "processors": f"{os.cpu_count()} x {_processor()}",
        "kernel": platform.release(),
        "commit": _first_line("git", "-C", str(setting.source), "rev-parse", "--short", "HEAD"),
        "compiler": _first_line("cc", "--version"),
        "libcurl": _first_line("curl", "--version"),
        "kubernetes": setting.kubernetes,
        "repeats": str(setting.repeats),
    }


def _goals(found):
    rows = []
    for findings in found.values():
        for goal in findings.goals:
            sign = "≥" if goal.at_least else "≤"
            mark = "yes" if goal.is_met() else "**no**: " + goal.stopped_by
            rows.append([goal.about, goal.figure.text(), f"{sign} {goal.limit:g}", mark])
    return _markdown_table(["goal", "measured", "limit", "met"], rows) if rows else []


def _part(folder, name, findings):
    lines = [f"## {name}", ""]
    for table in findings.tables:
        lines += [f"### {table.title}", ""] + _markdown_table(table.head, table.rows)
    for chart in findings.charts:
        (folder / f"{chart.name}.svg").write_text(svg(chart), encoding="utf-8")
        lines += [f"![{chart.title}]({chart.name}.svg)", ""]
    return lines + [f"- {note}" for note in findings.notes] + [""]


def write(folder, setting, found, failed):
    """Makes the folder and everything in it anew."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = machine(setting)
    lines = ["# Figures", "", "Medians of the turns of one run, in brackets the interval of the "
             "median. Ratios compare what ran in the same turn.", ""]
    lines += _markdown_table(["machine", ""], [[key, value] for key, value in facts.items()])
    lines += _goals(found)
    if failed:
        lines += [f"Could not be run to their end: {', '.join(failed)}.", ""]
    for name, findings in found.items():
        lines += _part(folder, name, findings)
    (folder / "report.md").write_text("\n".join(lines), encoding="utf-8")
    whole = {"machine": facts, "failed_parts": failed, "parts": {
        name: {"figures": {key: dataclasses.asdict(value)
                           for key, value in findings.figures.items()},
               "goals": [dataclasses.asdict(goal) | {"is_met": goal.is_met()}
                         for goal in findings.goals],
               "tables": [dataclasses.asdict(table) for table in findings.tables],
               "notes": findings.notes}
        for name, findings in found.items()}}
    (folder / "report.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
