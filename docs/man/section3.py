# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Sets the headers' comments as manual pages of section 3, in mdoc(7).

    section3.py --list HEADER...            the names of all pages and aliases, one a line
    section3.py DATE INCLUDE FOLDER     writes them all
"""

import pathlib
import re
import sys
import textwrap

import headers
import pages

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
CODES = r"\b({})\b"
FUNCTION = re.compile(r"(\S*?)\b(hami_\w+|getenv)\((3?)\)(\S*)")
NAMES = {"Blocks": "Blocks", "Threads": "Threads", "Signals": "Signals", "Callback": "Callbacks",
         "Life": "Life", "Since": "Since"}


class Writer:
    def __init__(self, codes):
        self.lines = []
        self.codes = re.compile(CODES.format("|".join(codes)))

    def macro(self, *words_):
        self.lines.append("." + " ".join(words_))

    @staticmethod
    def escape(text):
        text = text.replace("\\", "\\e")
        return "\\&" + text if text[:1] in (".", "'") else text

    def sentence(self, text):
        """One sentence: functions become macros, the rest is filled."""
        rest = text
        while rest:
            match = FUNCTION.search(rest)
            if not match:
                self.fill(rest)
                return
            self.fill(rest[:match.start()])
            before, name, _, after = match.groups()
            macro = f"Fn {name}"
            if before:
                macro = f"No {self.escape(before)} Ns {macro}"
            marks = re.match(r"[.,;:)\]]*", after).group()
            macro += "".join(" " + mark for mark in marks)
            if after[len(marks):]:
                macro += f" Ns No {self.escape(after[len(marks):])}"
            self.macro(macro)
            rest = rest[match.end():]

    def fill(self, text):
        for line in textwrap.wrap(text.strip(), 76, break_long_words=False,
                                  break_on_hyphens=False):
            self.lines.append(self.escape(line))

    def text(self, text):
        """Each sentence begins a line, as mandoc wants it."""
        text = headers.words(text)
        for part in re.split(r"(?<=[a-z0-9)\"`'A-Z][.!?])\s+(?=[^\s])|(?<=[.!?]\))\s+", text):
            self.sentence(part)

    def named(self, text):
        """Codes as a program writes them."""
        self.text(self.codes.sub(r"HAMI_E_\1", text))

    def literal(self, text):
        self.macro("Bd -literal")
        self.lines += [self.escape(line) for line in text.splitlines()]
        self.macro("Ed")


def arguments(declaration):
    """What stands in the outermost parentheses, parted at its own commas."""
    inner = declaration[declaration.index("(", re.search(r"hami_\w+\(", declaration).start()) + 1:
                        declaration.rindex(")")]
    found, depth = [""], 0
    for letter in inner:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]


def synopsis(page, writer):
    writer.macro("Sh SYNOPSIS")
    writer.macro(f"In hami/{page.header}")
    for function in page.functions():
        writer.macro(f"Ft {function.declaration[:function.declaration.index(function.name)].strip()}")
        writer.macro(f"Fo {function.name}")
        for argument in arguments(function.declaration):
            writer.macro(f'Fa "{argument}"')
        writer.macro("Fc")


def prose(text, writer):
    """Paragraphs, and lists of rules that begin with a dash or a number such as L1."""
    inside = False
    for block in re.split(r"\n\s*\n|\n(?=\s+(?:-|[LKT]\d) )", text.strip("\n")):
        item = re.match(r"\s+(-|[LKT]\d) +(.*)", block, re.S)
        # What goes on at the margin does not belong to the list.
        margin = re.search(r"\n (?=\S)", block) if item else None
        if item and not inside:
            writer.macro("Bl -tag -width L1")
        elif not item and inside:
            writer.macro("El")
        inside = bool(item)
        if item:
            writer.macro(f"It {'*' if item.group(1) == '-' else item.group(1)}")
            writer.text(item.group(2) if not margin else block[item.start(2):margin.start()])
            if margin:
                writer.macro("El")
                writer.macro("Pp")
                inside = False
                writer.text(block[margin.end():])
        elif block.strip():
            if writer.lines[-1] not in (".Sh DESCRIPTION",) and not writer.lines[-1].startswith(".Ss"):
                writer.macro("Pp")
            writer.text(block)
    if inside:
        writer.macro("El")


def answer(said, writer):
    if said.before:
        writer.named(said.before)
    if said.rows:
        writer.macro("Bl -tag -width HAMI_E_NOMEM -compact")
        for codes, text in said.rows:
            writer.macro("It " + " , ".join(
                "0" if code == "0" else f"Dv {writer.codes.sub(r'HAMI_E_' + code, code)}"
                for code in codes.split(", ")))
            writer.named(text)
        writer.macro("El")
    if said.after:
        writer.macro("Pp")
        writer.named(said.after)


def describe(group, writer):
    """Functions that share a comment."""
    said = headers.say(group[0].comment)
    writer.macro("Ss " + ", ".join(function.name for function in group))
    for number, part in enumerate(re.split(r"\n\s*\n", said.what)):
        if number:
            writer.macro("Pp")
        writer.named(part)
    if not (said.parameters or said.returns or said.facts):
        return
    if said.parameters or said.returns:
        writer.macro("Bl -tag -width Ds")
    for names, text in said.parameters:
        writer.macro("It " + " , ".join(f"Fa {name}" for name in names.split(", ")))
        answer(text, writer)
    if said.returns:
        writer.macro("It Returns")
        answer(said.returns, writer)
    if said.parameters or said.returns:
        writer.macro("El")
    facts = [(tag, text) for tag, text in said.facts if tag]
    for _, text in (one for one in said.facts if not one[0]):
        writer.macro("Pp")
        writer.named(text)
    if facts:
        writer.macro("Pp")
        writer.macro('Bl -tag -width Callbacks -compact')
        for tag, text in facts:
            writer.macro(f"It {NAMES[tag]}")
            writer.named(text)
        writer.macro("El")


def groups(section):
    found = []
    for function in section.functions():
        if found and found[-1][0].comment == function.comment:
            found[-1].append(function)
        else:
            found.append([function])
    return found


def page_text(page, every, date, codes):
    writer = Writer(codes)
    names = [function.name for function in page.functions()]
    writer.lines += ['.\\" SPDX-FileCopyrightText: 2026 The libhaminodelock authors',
                     '.\\" SPDX-License-Identifier: Apache-2.0',
                     f'.\\" Made from the comments of include/hami/{page.header}.']
    writer.macro(f"Dd {date}")
    writer.macro(f"Dt {page.name.upper()} 3")
    writer.macro("Os")
    writer.macro("Sh NAME")
    listed = names if page.name in names else [page.name] + names
    for number, name in enumerate(listed):
        writer.macro(f"Nm {name}" + (" ," if number + 1 < len(listed) else ""))
    writer.macro(f"Nd {page.about}")
    writer.macro("Sh LIBRARY")
    writer.text(f"{page.library()} (pkg-config {page.library()}, -l{page.library()})")
    synopsis(page, writer)
    writer.macro("Sh DESCRIPTION")
    if page.prose:
        prose(page.prose, writer)
    else:
        first = next(one for one in every if one.header == page.header and one.prose)
        writer.macro(f"Xr {first.name} 3")
        writer.text("has the rules that hold for all of these functions.")
    for section in page.sections:
        if section.prose.strip():
            writer.macro("Pp")
            writer.text(section.prose)
        for group in groups(section):
            describe(group, writer)
    types = [text for section in page.sections for text in section.types()]
    if types:
        writer.macro("Sh TYPES AND CONSTANTS")
        for text in types:
            writer.literal(text)
    writer.macro("Sh SEE ALSO")
    others = sorted(one.name for one in every if one.name != page.name)
    for name in others:
        writer.macro(f"Xr {name} 3 ,")
    writer.macro("Xr hami-nodelock-protocol 7 ,")
    writer.macro("Xr libhaminodelock 7")
    return "\n".join(writer.lines) + "\n"


def aliases(page):
    return [function.name for function in page.functions() if function.name != page.name]


def all_codes(include):
    text = (include / "hami/nodelock.h").read_text(encoding="utf-8")
    return re.findall(r"^    X\((\w+), \d+,", text, re.M)


def main():
    if sys.argv[1] == "--list":
        for page in pages.all_pages(pathlib.Path(sys.argv[2]).resolve().parent.parent):
            print("\n".join(f"{name}.3" for name in [page.name] + aliases(page)))
        return
    date, include, folder = sys.argv[1], *map(pathlib.Path, sys.argv[2:4])
    every = pages.all_pages(include)
    for page in every:
        text = page_text(page, every, date, all_codes(include))
        (folder / f"{page.name}.3").write_text(text, encoding="utf-8")
        for name in aliases(page):
            (folder / f"{name}.3").write_text(f".so man3/{page.name}.3\n", encoding="utf-8")


if __name__ == "__main__":
    main()
