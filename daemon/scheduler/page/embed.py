# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the status page a C source: embed.py PAGE OUT.

Its one script and its one style sheet are named to the browser by their hashes: nothing else
runs there, whatever a node or a pod is called.
"""

import base64
import hashlib
import pathlib
import re
import sys

POLICY = ("default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; "
          "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
          "require-trusted-types-for 'script'; trusted-types 'none'")
COMMENT = re.compile(r"^<!--.*?-->\n", re.DOTALL)


def digest(page, tag):
    """The source expression of the one element of that name."""
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    if len(found) != 1 or page.count(f"<{tag}") != 1:
        raise SystemExit(f"the page must have one <{tag}>, without attributes")
    return "'sha256-" + base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode() + "'"


def literal(page):
    """The bytes as numbers, twenty a line."""
    data = page.encode()
    return "\n".join("    " + "".join(f"{byte}," for byte in data[at:at + 20])
                     for at in range(0, len(data), 20))


def main():
    page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    page = COMMENT.sub("", page)
    policy = POLICY.format(script=digest(page, "script"), style=digest(page, "style"))
    pathlib.Path(sys.argv[2]).write_text(
        "/* Made of page/index.html. */\n"
        '#include "page.h"\n\n'
        f'const char page_policy[] = "{policy}";\n\n'
        f"const unsigned char page_text[] = {{\n{literal(page)}\n}};\n\n"
        "const size_t page_length = sizeof(page_text);\n", encoding="utf-8")


if __name__ == "__main__":
    main()
