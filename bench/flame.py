#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Draws where a program's time goes: stacks from `perf script` in, a flame graph as SVG out.

    perf record -e cpu-clock -F 5000 --call-graph dwarf -o DATA PROGRAM ...
    perf script -i DATA | bench/flame.py --from hami_ --title TEXT > PICTURE.svg

Each box is a function, as wide as its share of the samples; what it calls stands on top of it.
Under the pointer a box says its name and share. Boxes below half a percent are left out.
"""

import argparse
import html
import re
import sys

WIDTH, ROW, LEAST = 1000, 17, 0.005
COLOURS = ("#f0b37a", "#f7cd9f")  # of every other row


def name_of(symbol, library):
    """A function's name; where it has none, that of its library."""
    if symbol == "[unknown]":
        return re.sub(r"(\.so|-[0-9]).*", "", library.rsplit("/", 1)[-1])
    return re.sub(r"(\.isra|\.part|\.constprop|@@?).*", "", symbol)


def stacks(lines):
    """One list of function names a sample, the outermost first."""
    stack = []
    for line in lines:
        frame = re.match(r"\s+[0-9a-f]+ (.+?)(?:\+0x[0-9a-f]+)? \((.*)\)$", line)
        if frame:
            name = name_of(*frame.groups())
            # Functions without names that call one another are one box.
            if frame.group(1) != "[unknown]" or not stack or stack[-1] != name:
                stack.append(name)
        elif not line.strip() and stack:
            yield stack[::-1]
            stack = []
    if stack:
        yield stack[::-1]


def tree(samples, first):
    """Nested: name -> [count, callees], from the first function whose name begins so."""
    root = [0, {}]
    for stack in samples:
        begin = next((i for i, name in enumerate(stack) if name.startswith(first)), None)
        if begin is None:
            continue
        root[0] += 1
        node = root
        for name in stack[begin:]:
            node = node[1].setdefault(name, [0, {}])
            node[0] += 1
    return root


def boxes(node, total, depth=0, left=0.0):
    """(depth, left, width, name), shares of the whole."""
    for name, child in sorted(node[1].items()):
        share = child[0] / total
        if share >= LEAST:
            yield depth, left, share, name
            yield from boxes(child, total, depth + 1, left)
        left += share


def draw(found, title, total):
    rows = max((depth for depth, *_ in found), default=0) + 1
    height = (rows + 2) * ROW
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           'font-family="sans-serif" font-size="11">',
           # REUSE-IgnoreStart
           "<!-- SPDX-FileCopyrightText: 2026 The libhaminodelock authors -->",
           "<!-- SPDX-License-Identifier: Apache-2.0 -->",
           # REUSE-IgnoreEnd
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           f'<text x="4" y="13" font-size="13">{html.escape(title)} ({total} samples)</text>']
    for depth, left, share, name in found:
        x, y, width = left * WIDTH, height - (depth + 1) * ROW - 4, share * WIDTH
        short = name.replace("hami_internal_", "")
        room = int(width / 6.2)
        label = short if len(short) <= room else short[:room - 1] + "…" if room > 4 else ""
        out.append(f'<g><title>{html.escape(name)}: {share:.1%}</title>'
                   f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.6, 0.4):.1f}" '
                   f'height="{ROW - 1}" fill="{COLOURS[depth % 2]}"/>'
                   f'<text x="{x + 3:.1f}" y="{y + 12}">{html.escape(label)}</text></g>')
    return "\n".join([*out, "</svg>"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="first", default="", metavar="NAME",
                        help="leave out what stands below functions that begin so")
    parser.add_argument("--title", default="")
    arguments = parser.parse_args()
    root = tree(stacks(sys.stdin), arguments.first)
    if root[0] == 0:
        print("flame.py: no sample has such a function", file=sys.stderr)
        return 1
    print(draw(list(boxes(root, root[0])), arguments.title, root[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
