# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the public functions out of the headers, each with the comment that describes it."""

import dataclasses
import re


@dataclasses.dataclass
class Function:
    name: str
    header: str
    declaration: str
    comment: str  # of its own, or of the group that it stands in
    section: str  # comment that opens its section, which may speak for all below


COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
TOKEN = re.compile(r"/\*.*?\*/|HAMI_PUBLIC\s[^;]*;|^#.*?$|^\s*$", re.DOTALL | re.MULTILINE)


def functions(header):
    """In order. A comment speaks for all functions that follow it without an empty line."""
    text = header.read_text()
    found, comment, section = [], "", ""
    for match in TOKEN.finditer(text):
        part = match.group()
        if part.startswith("/*"):
            comment = part
            if re.match(r"/\* -{3,}", part):
                section, comment = part, ""
        elif part.startswith("HAMI_PUBLIC"):
            declaration = " ".join(COMMENT.sub("", part).split())
            name = re.search(r"(\w+)\(", declaration.replace("HAMI_PUBLIC ", "", 1)).group(1)
            found.append(Function(name, header.name, declaration, comment, section))
        elif not part.strip():
            comment = ""
    return found


def all_functions(include):
    return [function for header in sorted((include / "hami").glob("*.h"))
            for function in functions(header)]
