# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""snippets.py SOURCE_FOLDER: README shows examples/minimal.c as it is; the examples stay short."""

import pathlib
import re
import sys

from points import Points

LIMIT = 40
EXAMPLES = ["bind_blocking.c", "event_loop.c", "device_plugin.c", "etcd_transport.c"]


def shown(readme):
    match = re.search(r"<!-- begin examples/minimal\.c -->\n```c\n(.*?)```\n"
                      r"<!-- end examples/minimal\.c -->", readme, re.DOTALL)
    return match.group(1) if match else None


def marked(source):
    match = re.search(r"/\* README begins \*/\n(.*?)/\* README ends \*/", source, re.DOTALL)
    return match.group(1) if match else None


def code_lines(source):
    """Without comments, includes, and lines that hold nothing but a brace."""
    source = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
    return [line for line in source.splitlines()
            if line.strip(" {}\t") and not line.startswith("#include")]


def main():
    points = Points()
    root = pathlib.Path(sys.argv[1])
    snippet = marked((root / "examples/minimal.c").read_text())
    points.check(snippet and shown((root / "README.md").read_text()) == snippet,
                 "README shows examples/minimal.c as it is",
                 f"it should show:\n{snippet}")
    for name in EXAMPLES:
        count = len(code_lines((root / "examples" / name).read_text()))
        points.check(0 < count <= LIMIT, f"{name} has at most {LIMIT} lines of code",
                     f"{count} lines")
    points.end()


main()
