# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""scd.py SCDOC ROOT PAGE OUT: fills in what stands elsewhere in the tree, and runs scdoc(1).

    @OPTIONS ROLE@        the rows of docs/configuration.md as flags
    @ENTRIES ROLE@        the same as entries of the file
    @CONFIGURATION@       that page's example
    @EXAMPLE PATH@        a program, from its README marks
"""

import os
import pathlib
import re
import subprocess
import sys
import textwrap

FIXED_DATE = "1795996800"  # of what was last written by hand here: a page is the same on every build


def rows(text, role):
    section = re.search(rf"^## hamid {role}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 5:
            yield (re.findall(r"`([^`]+)`", cells[0]), *cells[1:4], cells[4].rstrip("| "))


def escape(text):
    return re.sub(r"([\\_*`#~<>|\[\]])", r"\\\1", text)


def marked(text):
    """Markdown's `code` is bold in scdoc, and underscores are plain."""
    parts = text.split("`")
    return "".join(f"*{escape(part)}*" if number % 2 else escape(part)
                   for number, part in enumerate(parts))


def options(text, role, is_file):
    found = []
    for names, value, default, reload, what in rows(text, role):
        tail = "" if default in ("not set", "none") else f" Default: {escape(default)}."
        if is_file:
            head = f"*{names[0]}:* _{escape(value)}_"
            tail += " Reloadable." if reload == "yes" else ""
        else:
            flags = [f"*{'--' if len(name) > 1 else '-'}{escape(name)}*" for name in names]
            head = ", ".join(flags) + ("" if value == "true, false" else f" _{escape(value)}_")
        found.append(f"{head}\n\t{marked(what)}{tail}\n")
    return "\n".join(found).rstrip("\n")


def example(path):
    return re.search(r"/\* README begins \*/\n(.*?)/\* README ends \*/", path.read_text(), re.S)[1]


def filled(root, source):
    configuration = (root / "docs/configuration.md").read_text(encoding="utf-8")
    text = re.sub(r"^@OPTIONS (\w+)@$", lambda m: options(configuration, m[1], False), source, flags=re.M)
    text = re.sub(r"^@ENTRIES (\w+)@$", lambda m: options(configuration, m[1], True), text, flags=re.M)
    text = re.sub(r"^@EXAMPLE (\S+)@\n", lambda m: example(root / m[1]), text, flags=re.M)
    return re.sub(r"^@CONFIGURATION@\n", lambda _: re.search(
        r"```yaml\n(.*?)```", configuration, re.S)[1], text, flags=re.M)


def wrapped(lines):
    """Lines of running text, at most 78 wide; what is set as it stands is left."""
    literal = False
    for line in lines:
        if line in (".nf", ".TS"):
            literal = True
        elif line in (".fi", ".TE"):
            literal = False
        if literal or line.startswith(".") or len(line) <= 78:
            yield line
        else:
            yield from textwrap.wrap(line, 76, break_long_words=False, break_on_hyphens=False)


def tidied(text):
    """What mandoc(1) finds to say about scdoc's output: paragraphs without a text, lower-case titles."""
    lines, literal = [], False
    for line in text.splitlines():
        literal = line == ".nf" or (literal and line != ".fi")
        if literal:
            lines.append(line)
            continue
        if line.startswith(".TH "):
            line = re.sub(r'^\.TH "([^"]*)"', lambda match: f'.TH "{match[1].upper()}"', line)
        if not line:
            continue
        if line.startswith((".SH", ".RE", ".P")) and lines[-1] == ".P":
            lines.pop()
            if line == ".RE":
                line = ".RE\n.P"
        if line == ".P" and lines[-1].startswith((".TH", ".SH")):
            continue
        lines += line.split("\n")
    while lines[-1] == ".P":
        lines.pop()
    return "\n".join(wrapped(lines)) + "\n"


def main():
    scdoc, root, page, out = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    text = filled(root, page.read_text(encoding="utf-8"))
    environment = {**os.environ, "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", FIXED_DATE)}
    made = subprocess.run([scdoc], input=text, capture_output=True, text=True, env=environment, check=False)
    if made.returncode != 0:
        sys.exit(f"{page.name}: {made.stderr}")
    out.write_text(tidied(made.stdout), encoding="utf-8")


if __name__ == "__main__":
    main()
