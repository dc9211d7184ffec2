# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Links of the documentation: each leads to a file of the tree, and to a heading that it has.

Addresses elsewhere are not asked for, only looked at: https, so that nobody is sent over plain HTTP.
"""

import pathlib
import re

_LINK = re.compile(r"!?\[(?:[^\][]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_SOURCE = re.compile(r"\b(?:src|srcset|href)=\"([^\"]+)\"")
_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_HEADING = re.compile(r"^#{1,6} +(.*?)(?: +#+)?$", re.MULTILINE)
_NAMED = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")
# Pages that the build of the site writes.
BUILT = ("docs/api/",)
_PLAIN = ("http://127.0.0.1", "http://localhost")


def prose(text):
    """The text without code, in which nothing is a link."""
    lines = [line for line in _FENCE.sub("", text).splitlines()
             if not line.startswith("    ") or line.lstrip().startswith(("- ", "* "))]
    return _CODE.sub("``", "\n".join(lines))


def targets(text):
    shown = prose(text)
    return [found[1] for pattern in (_LINK, _SOURCE) for found in pattern.finditer(shown)]


def anchors(text):
    """The names that headings get, as they do where the sources are hosted."""
    found = set(_NAMED.findall(text))
    count = {}
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(f"{name}-{count[name]}" if name in count else name)
        count[name] = count.get(name, 0) + 1
    return found


def problems(root, names):
    """What is wrong with the links of these documents, as "document: what"."""
    root = pathlib.Path(root)
    texts = {name: (root / name).read_text(encoding="utf-8") for name in names}
    for name, text in texts.items():
        for target in targets(text):
            wrong = _problem(root, name, target, text)
            if wrong:
                yield f"{name}: {target}: {wrong}"


def _problem(root, name, target, text):
    if re.match(r"^[a-z][a-z0-9+.-]*:", target):
        is_plain = target.startswith("http:") and not target.startswith(_PLAIN)
        return "is not https" if is_plain else None
    path, _, anchor = target.partition("#")
    file = (root / name).parent / path if path else root / name
    place = file.resolve()
    if not place.is_relative_to(root.resolve()):
        return "leads out of the tree"
    if str(place.relative_to(root.resolve())).startswith(BUILT):
        return None
    if not file.exists():
        return "is not there"
    if anchor and file.suffix == ".md":
        if anchor not in anchors(text if not path else file.read_text(encoding="utf-8")):
            return "has no such heading"
    return None
