# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Reads include/hami/*.h into sections of functions and types, for the manual pages and the site.

The comments are the only source of what a function does: nothing is said twice. A comment's tags
(Returns, Blocks, @parameter ...) are told apart, so that each form of output can set them.
"""

import dataclasses
import re

# Behind at most one blank; what goes on is indented further.
TAG = re.compile(r"^ ?(@\w+(?:, @\w+)*|Returns|Blocks|Threads|Signals|Callback|Life|Since|Otherwise|Parameters)\b(.*)$")
# "NAME, NAME - words": one row of what a function returns.
ROW = re.compile(r"^((?:0|[A-Z][A-Z_]+)(?:, [A-Z][A-Z_]+)*)(?: - |(?=$)| (?=\())(.*)$")
WIDTH = 94


@dataclasses.dataclass
class Function:
    name: str
    declaration: str
    comment: str


@dataclasses.dataclass
class Section:
    header: str
    title: str
    prose: str = ""
    items: list = dataclasses.field(default_factory=list)  # Function, or the text of declarations

    def functions(self):
        return [item for item in self.items if isinstance(item, Function)]

    def types(self):
        return [item for item in self.items if isinstance(item, str)]


@dataclasses.dataclass
class Answer:
    """Words, then rows of codes, then what is so of all of them."""
    before: str = ""
    rows: list = dataclasses.field(default_factory=list)        # (codes, text)
    after: str = ""


@dataclasses.dataclass
class Said:
    """A comment, taken apart."""
    what: str = ""
    parameters: list = dataclasses.field(default_factory=list)  # (names, Answer)
    returns: object = None                                      # Answer
    facts: list = dataclasses.field(default_factory=list)       # (tag, text)


def bare(comment):
    """The lines of a comment without its stars; a blank stays before each."""
    text = re.sub(r"^/\*|\*/$", "", comment.strip())
    return [re.sub(r"^ ?\*(?= |$)", "", line.strip(" ") if line.startswith(" *") else line).rstrip()
            for line in text.splitlines()]


def words(text):
    return " ".join(text.split())


def chunks(text):
    """Parts between empty lines, where no brace is open; a part is never split within a comment."""
    part, depth, inside = [], 0, False
    for line in text.splitlines():
        if not line.strip() and depth == 0 and not inside:
            if part:
                yield "\n".join(part)
            part = []
            continue
        part.append(line)
        code = re.sub(r"/\*.*?\*/", "", line)
        if inside and "*/" in code:
            inside, code = False, code.split("*/", 1)[1]
        if not inside and "/*" in code:
            code, inside = code.split("/*", 1)[0], True
        if not inside or code:
            depth += code.count("{") - code.count("}") if not (inside and "/*" not in line) else 0
    if part:
        yield "\n".join(part)


def body(text):
    """The header between its extern "C" braces, without what only the compiler needs."""
    start = text.index('extern "C" {')
    text = text[text.index("#endif", start) + len("#endif"):]
    return text[:text.rindex("#ifdef __cplusplus")]


def split(chunk):
    """A chunk's functions and the declarations before them."""
    found, comment, rest = [], "", chunk
    opening = re.match(r"/\*.*?\*/\n?", rest, re.S)
    if opening and "HAMI_PUBLIC" in rest:
        comment, rest = opening.group().strip(), rest[opening.end():]
    for match in re.finditer(r"(/\*.*?\*/\s*)|(HAMI_PUBLIC\b[^;]*;)", rest, re.S):
        if match.group(1):
            comment = match.group(1).strip()
            continue
        declaration = words(match.group(2).replace("HAMI_PUBLIC ", "", 1))
        name = re.search(r"(\w+)\(", declaration).group(1)
        found.append(Function(name, declaration, comment))
    return found


def read(path):
    """(prose of the whole header, its sections)"""
    text = path.read_text(encoding="utf-8")
    prose = re.search(r"\*/\n/\*\n(.*?)\*/", text, re.S).group(1)
    sections = [Section(path.name, "")]
    for chunk in chunks(body(text) if 'extern "C"' in text else text):
        title = re.match(r"/\* -{3,} (.*?) -{3,}(.*?)\*/", chunk, re.S)
        if title:
            sections.append(Section(path.name, title.group(1), "\n".join(
                bare("/*" + title.group(2) + "*/"))))
        elif "HAMI_PUBLIC" in chunk and "#define HAMI_PUBLIC" not in chunk:
            sections[-1].items += split(chunk)
        else:
            sections[-1].items.append(chunk)
    return "\n".join(bare("/*\n" + prose + "*/")), [one for one in sections if one.items]


def begins_row(line, before, is_first):
    row = ROW.match(line)
    if not row or (before or "").endswith(","):
        return None
    return row if not is_first or " - " in line else None


def read_answer(lines):
    """Rows of codes; a line that broke off early ends a row, and what follows speaks of all."""
    answer, before = Answer(), None
    for line in lines:
        row = begins_row(line, before, before is None)
        if row and not answer.after:
            answer.rows.append([row.group(1), row.group(2)])
        elif answer.rows and (answer.after or (line[0].isupper() and len(before) + 1
                                               + len(line.split()[0]) <= WIDTH - 10)):
            answer.after += " " + line
        elif answer.rows:
            answer.rows[-1][1] += " " + line
        else:
            answer.before += " " + line
        before = line
    return Answer(words(answer.before), [(codes, words(text)) for codes, text in answer.rows],
                  words(answer.after))


def say(comment):
    said, tag, parts = Said(), None, []
    for line in bare(comment):
        match = TAG.match(line)
        if match:
            tag, rest = match.group(1), match.group(2).strip()
            parts.append((tag, [rest] if rest else []))
        elif tag:
            if line.strip():
                parts[-1][1].append(line.strip())
        else:
            said.what += line + "\n"
    since = re.search(r" Since (0\.\d+)\s*$", said.what)
    if since:
        said.what = said.what[:since.start()]
        parts.append(("Since", [since.group(1)]))
    said.what = said.what.strip()
    for tag, lines in parts:
        late = re.search(r" Since (0\.\d+)$", lines[-1]) if lines and tag != "Since" else None
        if late:
            lines[-1] = lines[-1][:late.start()]
        if tag.startswith("@"):
            said.parameters.append((tag.replace("@", ""), read_answer(lines)))
        elif tag == "Returns":
            said.returns = read_answer(lines)
        elif tag in ("Otherwise", "Parameters"):
            said.facts.append(("", words(tag + " " + " ".join(lines))))
        else:
            said.facts.append((tag, words(" ".join(lines))))
        if late:
            said.facts.append(("Since", late.group(1)))
    return said
