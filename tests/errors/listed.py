# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Which codes the public functions list, read out of the comments of include/hami/*.h."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "install"))

import declarations  # noqa: E402

# A tag of a comment begins a line behind at most one blank; what goes on is indented further.
TAG = re.compile(r"^ ?(@\w+|Returns|Blocks|Threads|Signals|Callback|Life|Since|Otherwise|Parameters)\b")
# "Codes as f()", "codes and state afterwards as f()", "Returns as f()": those of f() count, too.
SAME = re.compile(r"\b(?:[Cc]odes [a-z ]*\b|Returns\s+)as (hami_\w+)\(\)")


def all_codes(include):
    text = (include / "hami/nodelock.h").read_text(encoding="utf-8")
    return re.findall(r"^    X\((\w+), \d+,", text, re.M)


def returns_of(comment):
    """The lines of a comment that say what is returned; a one-line comment is that line."""
    lines, inside = [], False
    for line in comment.strip("/*").splitlines():
        line = re.sub(r"^ \*", "", line)
        tag = TAG.match(line)
        if tag:
            inside = tag.group(1) in ("Returns", "Parameters")
        if inside:
            lines.append(line)
    return "\n".join(lines)


# What the comments say in words: the answer's own codes; codes that a callback is told.
IN_WORDS = {
    "hami_kubernetes_request": ("hami_kubernetes_request_start", "TRANSPORT TIMEDOUT ACCESS NOMEM "
                                "IN_DOUBT LIMIT CLOSED"),
    "hami_handshake_begin": ("hami_handshake_begin_start", "LOST BUSY HELD LIMIT PROTO ACCESS NODE "
                             "TRANSPORT TIMEDOUT NOMEM CLOSED"),
    "hami_handshake_fail_start": ("hami_handshake_finish_start", ""),
}


def listed(include):
    """{function: set of codes} of the functions that return a code."""
    word = re.compile(rf"\b({'|'.join(all_codes(include))})\b")
    found = {}
    for function in declarations.all_functions(include):
        if not re.match(r"HAMI_PUBLIC int hami_", function.declaration):
            continue
        whole = re.sub(r"\s*\n \*\s*", " ", function.comment)
        codes = set(word.findall(returns_of(function.comment)))
        other, more = IN_WORDS.get(function.name, ("", ""))
        codes |= set(more.split())
        # Of a _start that shares its comment with the blocking form, they are the callback's.
        same_as = SAME.findall(whole) if function.name not in IN_WORDS else []
        for same in same_as + [other]:
            codes |= found.get(same, set())
        found[function.name] = codes
    return found


if __name__ == "__main__":
    for name, codes in listed(pathlib.Path(sys.argv[1])).items():
        print(name, " ".join(sorted(codes)))
