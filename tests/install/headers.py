# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""headers.py INCLUDE_FOLDER COMPILER..: each public header compiles alone and clean, as C and C++.

The initialisers are used as well: they are macros, and compile nothing by themselves.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from points import Points

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
STANDARDS = {"c": ["c99", "c11"], "c++": ["c++11", "c++20"]}


def program(header):
    """Includes it twice, and makes one of each struct that has an initialiser."""
    lines = [f"#include <hami/{header.name}>"] * 2
    macros = re.findall(r"^#define (HAMI_\w+_INIT) HAMI_SIZED\((struct \w+)\)",
                        header.read_text(), re.MULTILINE)
    lines.append("int main(void)\n{")
    for number, (macro, kind) in enumerate(macros):
        lines.append(f"    {kind} value_{number} = {macro};")
    lines.append("    int bad = 0;")
    for number in range(len(macros)):
        lines.append(f"    bad |= value_{number}.size != sizeof(value_{number});")
    lines.append("    return bad;\n}")
    return "\n".join(lines) + "\n"


def main():
    points = Points()
    include = pathlib.Path(sys.argv[1])
    for header in sorted((include / "hami").glob("*.h")):
        for language, standards in STANDARDS.items():
            for compiler in compilers(language):
                for standard in standards:
                    check(points, include, header, language, compiler, standard)
    points.end()


def compilers(language):
    names = ["gcc", "clang"] if language == "c" else ["g++", "clang++"]
    return [name for name in names if shutil.which(name) and works(name, language)]


def works(compiler, language):
    """clang without a C++ library is no C++ compiler."""
    text = "#include <cstddef>\n" if language == "c++" else "#include <stddef.h>\n"
    return subprocess.run([compiler, "-x", language, "-fsyntax-only", "-"], input=text,
                          text=True, capture_output=True, check=False).returncode == 0


def check(points, include, header, language, compiler, standard):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as source:
        source.write(program(header))
        source.flush()
        points.run(f"{header.name} compiles alone with {compiler} as {standard}",
                   [compiler, "-x", language, f"-std={standard}", *STRICT, f"-I{include}",
                    source.name])


main()
