# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Takes a page of the documentation apart into blocks, and each block's mark.

A mark is an HTML comment in the line before the block:

    <!-- run: ENVIRONMENT [, status N] [, since 1.N] -->
                                             a console block: commands behind "$ " (or "> " where one goes
                                             on), each followed by what it prints; from that Kubernetes on
    <!-- file: NAME -->                      the block is a file of the reader's, used by commands below
    <!-- from: PATH -->                      the block is a part of that file of the tree
    <!-- same as: PATH -->                   each of its commands is run in that page
    <!-- tested by: PATH -->                 that test takes it from the page
    <!-- run by: RUNNER -->                  each of its commands is a part of that runner; see runners.py
    <!-- not run: REASON -->                 it can't be run

A `text` block is a drawing, a form or a message, and needs none. Others need one.
"""

import dataclasses
import re

MARK = re.compile(r"^<!-- (run|file|from|same as|tested by|run by|not run): (.*?) -->$")
WHOLE_PAGE = re.compile(r"^<!-- (\w+) blocks are tested by: (\S+) -->$", re.M)
ENVIRONMENTS = ("kubesim", "checkout", "cluster", "clean root")


@dataclasses.dataclass
class Block:
    page: str
    line: int
    language: str
    text: str
    mark: str = ""
    words: str = ""
    status: int = 0
    since: int = 0  # minor version of Kubernetes

    def where(self):
        return f"{self.page}:{self.line}"


@dataclasses.dataclass
class Command:
    text: str
    expected: list


def read(path, name):
    """All blocks, in order. An indented block has the language "indented"."""
    text = path.read_text(encoding="utf-8")
    everywhere = dict(WHOLE_PAGE.findall(text))
    lines = text.splitlines()
    found, number, before = [], 0, ""
    while number < len(lines):
        line = lines[number]
        fence = re.match(r"^( *)```(\S*)$", line)
        indented = re.match(r"^    \S", line) and not before.strip()
        if fence:
            end = next(index for index in range(number + 1, len(lines))
                       if lines[index].strip() == "```")
            margin = len(fence.group(1))
            body = "\n".join(one[margin:] for one in lines[number + 1:end]) + "\n"
            found.append(Block(name, number + 1, fence.group(2) or "none", body))
            mark_block(found[-1], before.strip(), everywhere)
            number = end
        elif indented and not within_list(lines, number):
            end = number
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            found.append(Block(name, number + 1, "indented", "\n".join(lines[number:end])))
            number = end - 1
        before = lines[number]
        number += 1
    return found


def within_list(lines, number):
    """Four blanks below an item of a list are a paragraph of it."""
    for line in reversed(lines[:number]):
        if line.strip() and not line.startswith(" "):
            return bool(re.match(r"^([-*]|\d+\.) ", line))
    return False


def mark_block(block, before, everywhere):
    match = MARK.match(before)
    if match:
        block.mark, block.words = match.groups()
        since = re.search(r", since 1\.(\d+)$", block.words)
        if since:
            block.since, block.words = int(since.group(1)), block.words[:since.start()]
        status = re.search(r", status (\d+)$", block.words)
        if status:
            block.status, block.words = int(status.group(1)), block.words[:status.start()]
    elif before.startswith("<!-- begin examples/"):  # tests/install/snippets.py compares it
        block.mark, block.words = "file", before.split("/")[-1].split()[0]
    elif before == "<!-- run -->":
        block.mark, block.words = "tested by", "tests/consumers/builds.py"
    elif block.language in everywhere:
        block.mark, block.words = "tested by", everywhere[block.language]


def shown_commands(path, text):
    """The commands of a page that have this text, on one line each."""
    return [command.text.replace("\\\n", " ") for block in read(path, path.name) if block.language == "console"
            for command in commands(block) if text in command.text]


def commands(block):
    found = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif line.startswith("> ") and found and not found[-1].expected:
            found[-1].text += "\n" + line[2:]
        elif found:
            found[-1].expected.append(line)
        else:
            raise ValueError(f"{block.where()}: the block does not begin with '$ '")
    return found


def problem(block, root):
    """What is wrong with a block's mark; None if nothing."""
    if block.language == "indented":
        return "an indented block: make it a fenced one, with a mark"
    if block.language == "none":
        return "a fence without a language"
    if block.language == "text":
        return "a text block with commands" if re.search(r"^\$ ", block.text, re.M) else None
    if not block.mark:
        return "no mark says how it is tested"
    if block.mark == "run" and (block.language != "console" or block.words not in ENVIRONMENTS):
        return f"'{block.words}' is no environment for a {block.language} block"
    if block.mark == "not run" and len(block.words) < 15:
        return "no reason is given"
    if block.mark == "tested by" and not names_page(root / block.words, block.page):
        return f"{block.words} does not name this page"
    return None


def names_page(path, page):
    return path.exists() and page.rpartition("/")[2] in path.read_text(encoding="utf-8")


def is_run_in(block, page):
    have = {command.text for other in page if other.mark == "run" for command in commands(other)}
    return all(command.text in have for command in commands(block))


def is_part(block, root):
    """Each line of it stands in the file, in this order; comments and empty lines aside."""
    lines = iter(plain(line) for line in (root / block.words).read_text(encoding="utf-8").splitlines())
    return all(any(line == other for other in lines)
               for line in map(plain, block.text.splitlines()) if line)


def plain(line):
    return re.sub(r"^//!|(^|\s)#.*$", "", line).strip()
