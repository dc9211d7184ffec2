# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""comments.py INCLUDE_FOLDER: each public function says what a caller has to know.

The parts: what it does, Returns, Blocks, Threads, Since. A comment may hand the middle ones over to
another function ("Otherwise as f()", "as f()"), or its section may speak for all. Functions that
only look at an object or give it back need no more than a sentence and Since.
"""

import pathlib
import re
import sys

from declarations import all_functions
from points import Points

PARTS = {
    "Returns": r"\bReturns\b|Gives|Tells|true if|\bvoid\b",
    "Blocks": r"\bBlocks\b",
    "Threads": r"\bThreads\b",
}
REFERS = re.compile(r"(?:Otherwise|Codes|codes|The same|Parameters, codes).*?\bas\b|The same for",
                    re.DOTALL)


def is_plain(function):
    """Looks at one object, or frees one."""
    words = function.declaration.replace("HAMI_PUBLIC ", "")
    arguments = words[words.index("(") + 1:words.rindex(")")]
    if re.search(r"_(free|ref|unref)$", function.name):
        return True
    first = arguments.split(",")[0]
    return bool(re.match(r"const hami_\w+ \*", first)) or arguments in ("void", "uint64_t ms")


def missing(function):
    said = function.comment + function.section + function.declaration
    lacks = [] if re.search(r"Since\s+0\.\d", said) else ["Since"]
    if not function.comment and not function.section:
        lacks.append("a comment")
    if is_plain(function) or REFERS.search(function.comment):
        return lacks
    said = said + (" Blocks Threads" if speaks_for_all(function.section) else "")
    return lacks + [part for part, form in PARTS.items() if not re.search(form, said)]


def speaks_for_all(section):
    return "never block" in section and "MT-Safe" in section


def main():
    points = Points()
    for function in all_functions(pathlib.Path(sys.argv[1])):
        lacks = missing(function)
        points.check(not lacks, f"{function.header}: {function.name} says what its caller must know",
                     f"its comment lacks: {', '.join(lacks)}")
    points.end()


main()
