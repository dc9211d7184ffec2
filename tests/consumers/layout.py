# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The structs of the public headers as the C compiler lays them out, for bindings that declare
them again.

layout.py INCLUDE_FOLDER FILE writes a line "struct member offset size" for each member, and a
line
"struct - 0 size" for the whole.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STRUCT = re.compile(r"^struct (hami_\w+) \{(.*?)^\};", re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r"\(\*(\w+)\)\s*\(")


def members(body):
    """Their names, in order."""
    names = []
    for declaration in body.split(";"):
        declaration = " ".join(declaration.split())
        if not declaration:
            continue
        function = FUNCTION.search(declaration)
        if function:
            names.append(function.group(1))
        else:
            names += [re.search(r"(\w+)(?:\[[^]]*\])*$", one.strip()).group(1)
                      for one in declaration.split(",")]
    return names


def structs(include):
    for header in sorted((include / "hami").glob("*.h")):
        for name, body in STRUCT.findall(COMMENT.sub("", header.read_text())):
            yield name, members(body)


def program(include):
    lines = ["#include <stdio.h>", *(f"#include <hami/{header.name}>"
                                     for header in sorted((include / "hami").glob("*.h"))),
             "int main(void)\n{"]
    for name, names in structs(include):
        lines.append(f'printf("{name} - 0 %zu\\n", sizeof(struct {name}));')
        for member in names:
            lines.append(f'printf("{name} {member} %zu %zu\\n", '
                         f"offsetof(struct {name}, {member}), "
                         f"sizeof(((struct {name} *)0)->{member}));")
    return "\n".join([*lines, "return 0;\n}"])


def main():
    include, target = map(pathlib.Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as work:
        source, binary = pathlib.Path(work, "layout.c"), pathlib.Path(work, "layout")
        source.write_text(program(include))
        subprocess.run(["cc", f"-I{include}", source, "-o", binary], check=True)
        target.write_text(subprocess.run([binary], check=True, capture_output=True,
                                         text=True).stdout)


main()
