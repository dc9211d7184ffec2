# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""symbols.py --include DIR --headers a.h,b.h --map FILE --shared LIB [--static LIB] [--libc-only]

Headers, symbol map and built library name the same functions; a static archive keeps to hami_.
"""

import argparse
import pathlib
import re
import subprocess

from declarations import functions
from points import Points

# What the C library consists of, seen from a program.
LIBC = re.compile(r"(libc|libpthread|librt|libm|ld-linux.*|ld|libgcc_s|lib[atu]?san.*|libubsan)\.so")


def declared(include, headers):
    return {function.name for header in headers.split(",")
            for function in functions(pathlib.Path(include) / "hami" / header)}


def mapped(path):
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(path).read_text(), flags=re.DOTALL)
    names = set()
    for block in re.findall(r"global:(.*?)(?:local:|\})", text, re.DOTALL):
        names |= set(re.findall(r"(\w+)\s*;", block))
    return names


def defined(library, *options):
    output = subprocess.run(["nm", *options, "--extern-only", "--defined-only", library],
                            capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in output.splitlines()]
    return {row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] not in "A"}


def needed(library):
    output = subprocess.run(["readelf", "-d", library], capture_output=True, text=True,
                            check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output)


def compare(points, sentence, left, right):
    points.check(left == right, sentence,
                 f"only in the first: {sorted(left - right)}\n"
                 f"only in the second: {sorted(right - left)}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--include", "--headers", "--map", "--shared", "--static"):
        parser.add_argument(name)
    parser.add_argument("--libc-only", action="store_true")
    asked = parser.parse_args()
    points = Points()
    names = declared(asked.include, asked.headers)
    points.check(len(names) > 10, "the headers declare functions", len(names))
    compare(points, "headers and symbol map name the same functions", names, mapped(asked.map))
    compare(points, "headers and shared library name the same functions", names,
            defined(asked.shared, "--dynamic"))
    if asked.static:
        foreign = {name for name in defined(asked.static)
                   if not re.match(r"(__odr_asan\.|_+)?hami_", name)}
        points.check(not foreign, "the static archive exports nothing outside hami_",
                     sorted(foreign))
    if asked.libc_only:
        others = [name for name in needed(asked.shared) if not LIBC.match(name)]
        points.check(not others, "the core library needs libc and nothing else", others)
    points.end()


main()
