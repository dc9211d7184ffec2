# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Sets the headers' comments as Markdown, for the site: one text a page, and one that lists all."""

import re

import headers
import section3

FUNCTION = re.compile(r"\b(hami_\w+)\(\)")
FACTS = {"Blocks": "Blocks", "Threads": "Threads", "Signals": "Signals", "Callback": "In callbacks",
         "Life": "Life", "Since": "Since"}


class Setter:
    """Links functions to their pages; gives codes their whole names."""

    def __init__(self, every):
        self.home = {function.name: page.name for page in every for function in page.functions()}
        self.page = None

    def text(self, text):
        text = re.sub(r"[<>*_|]", lambda match: "\\" + match.group(), text.replace("\\", "\\\\"))
        text = re.sub(r"`([^`]*)`", lambda match: "`" + re.sub(r"\\(.)", r"\1", match[1]) + "`", text)
        return FUNCTION.sub(self._link, re.sub(r"\bhami(?:\\_\w+?)+\(\)",
                                               lambda match: match.group().replace("\\", ""), text))

    def _link(self, match):
        name = match.group(1)
        if name not in self.home:
            return f"`{name}()`"
        page = "" if self.home[name] == self.page else f"{self.home[name]}.md"
        return f"[`{name}()`]({page}#{name})"


def answer(said, setter, codes):
    parts = []
    if said.before:
        parts.append(setter.text(said.before))
    if said.rows:
        parts.append("".join(f"\n    - `{name(code, codes)}`{': ' if text else ''}{setter.text(text)}"
                             for code, text in said.rows))
    if said.after:
        parts.append(f"\n\n    {setter.text(said.after)}")
    return "".join(parts)


def name(listed, codes):
    return ", ".join(f"HAMI_E_{one}" if one in codes else one for one in listed.split(", "))


def function_text(group, setter, codes):
    said = headers.say(group[0].comment)
    lines = []
    for function in group:
        lines += [f"### {function.name} {{ #{function.name} }}", "",
                  "```c", broken(function.declaration), "```", ""]
    lines += [setter.text(headers.words(part)) + "\n" for part in re.split(r"\n\s*\n", said.what)]
    for names, text in said.parameters:
        lines.append(f"- **{setter.text(names)}**: {answer(text, setter, codes)}")
    if said.returns:
        lines.append(f"- Returns: {answer(said.returns, setter, codes)}")
    for tag, text in said.facts:
        lines.append(f"- {FACTS[tag]}: {setter.text(text)}" if tag else f"- {setter.text(text)}")
    return "\n".join(lines) + "\n"


def broken(declaration):
    """One argument a line where it is long."""
    if len(declaration) <= 88:
        return declaration
    start = re.search(r"hami_\w+\(", declaration)
    head = declaration[:start.end()]
    return head + "\n    " + ",\n    ".join(section3.arguments(declaration)) + ");"


def page_text(page, setter, codes):
    setter.page = page.name
    lines = [f"# {page.name}: {page.about}", "", f"`#include <hami/{page.header}>`, library "
             f"`{page.library()}`.", ""]
    if page.prose:
        lines += ["```text", page.prose.strip("\n"), "```", ""]
    for section in page.sections:
        if section.title:
            lines += [f"## {section.title[0].upper()}{section.title[1:]}", ""]
        if section.prose.strip():
            lines += [setter.text(headers.words(section.prose)), ""]
        for group in section3.groups(section):
            lines += [function_text(group, setter, codes)]
    types = [text for section in page.sections for text in section.types()]
    if types:
        lines += ["## Types and constants", ""]
        for text in types:
            lines += ["```c", text, "```", ""]
    return "\n".join(lines)


def texts(every):
    """name of a file -> its text"""
    setter, codes = Setter(every), section3.all_codes(section3.INCLUDE)
    made = {f"api/{page.name}.md": page_text(page, setter, codes) for page in every}
    lines = ["# Reference", "", "Made of the comments in `include/hami/`, as are the manual pages of "
             "section 3. Rules that hold for all functions stand at the head of each header's first "
             "page.", "", "| page | header | functions |", "| --- | --- | --- |"]
    setter.page = None
    for page in every:
        functions = " ".join(f"[`{one.name}`]({page.name}.md#{one.name})" for one in page.functions())
        lines.append(f"| [{page.name}]({page.name}.md): {page.about} | `{page.header}` | {functions} |")
    made["api/index.md"] = "\n".join(lines) + "\n"
    return made
