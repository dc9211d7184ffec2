# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""pages.py FOLDER ROOT [HAMICTL]: the manual pages that were made in FOLDER, held against the tree."""

import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "install"))

import declarations  # noqa: E402
from points import Points  # noqa: E402

PAGE = re.compile(r"^[\w.-]+\.[1-8]$")


def exported(root):
    """Functions by the version maps of the libraries."""
    found = set()
    for path in root.glob("lib/**/*.map"):
        found |= set(re.findall(r"^    (hami_\w+);", path.read_text(encoding="utf-8"), re.M))
    return found


def named(page):
    """What a page of section 3 has under NAME, and what under SYNOPSIS."""
    text = page.read_text(encoding="utf-8")
    return set(re.findall(r"^\.Nm (\w+)", text, re.M)), re.findall(r"^\.Fo (\w+)$", text, re.M)


def check_functions(points, pages, root):
    functions = exported(root)
    texts = [page for page in pages if not page.read_text(encoding="utf-8").startswith(".so ")
             and page.suffix == ".3"]
    names, synopses = set(), []
    for page in texts:
        of_page, shown = named(page)
        names |= of_page - {page.stem} | (of_page & functions)
        synopses += shown
    points.check(functions and names == functions, "the pages of section 3 name each exported function",
                 f"differ in {sorted(names ^ functions)}")
    points.check(sorted(synopses) == sorted(functions), "each function has one synopsis",
                 f"differ in {sorted(set(synopses) ^ functions)}")
    declared = {one.name for one in declarations.all_functions(root / "include")}
    points.check(names == declared, "the pages name what the headers declare",
                 f"differ in {sorted(names ^ declared)}")
    missing = [name for name in sorted(functions) if not any(page.name == f"{name}.3" for page in pages)]
    points.check(not missing, "man finds a page by the name of each function", str(missing))


def check_references(points, pages):
    """Each name with a section is a page of ours, or an alias of one; aliases lead somewhere."""
    have = {page.name for page in pages}
    lost = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        found = re.findall(r"^\.Xr (\S+) (\d)", text, re.M)
        found += re.findall(r"\\fB([\w.&\\-]+?)\\fR\((\d)\)", text)
        for name, section in found:
            name = name.replace("\\&", "")
            if f"{name}.{section}" not in have:
                lost.append(f"{page.name}: {name}({section})")
        if text.startswith(".so ") and pathlib.PurePath(text.split()[1]).name not in have:
            lost.append(f"{page.name}: {text.split()[1]}")
    points.check(len(have) > 100 and not lost, "each page that is referred to exists", str(lost))


def check_lint(points, pages):
    """But for pages that are not installed on this machine: check_references has looked for these."""
    files = [str(path) for path in pages if not path.read_text(encoding="utf-8").startswith(".so ")]
    said = subprocess.run(["mandoc", "-T", "lint", *files], capture_output=True, text=True, check=False,
                          timeout=60)
    found = [line for line in (said.stdout + said.stderr).splitlines()
             if not re.search(r"STYLE: referenced manual not found: Xr (hami|libhami)", line)]
    points.check(len(files) > 20 and not found, "mandoc -T lint finds nothing", "\n".join(found))


def flags_of_help(hamictl):
    found = set()
    for command in ("locks", "queue", "explain", "release", "watch", "doctor", "completion"):
        text = subprocess.run([hamictl, command, "--help"], capture_output=True, text=True, check=True,
                              timeout=30).stdout
        for head in re.findall(r"^  (-.*)$", text, re.M):
            found |= set(re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", head.split("  (")[0]))
    return found - {"--help"}


def check_hamictl(points, folder, hamictl):
    text = (folder / "hamictl.1").read_text(encoding="utf-8").replace("\\&", "").replace("\\-", "-")
    section = text.split(".SH OPTIONS")[1].split(".SH")[0]
    shown = set(re.findall(r"\\fB(--?[a-z][a-z-]*)\\fR", section))
    flags = flags_of_help(hamictl)
    points.check(flags and shown == flags, "hamictl(1) has the flags that --help has",
                 f"differ in {sorted(shown ^ flags)}")


def check_options(points, folder):
    """The pages of the roles are made of docs/configuration.md, which is held against the program."""
    for page, least in (("hamid-scheduler.8", 25), ("hamid-node.8", 15), ("hamid.yaml.5", 40)):
        count = (folder / page).read_text(encoding="utf-8").count(".RS 4\n")
        points.check(count >= least, f"{page} has the options", f"only {count}")


def main():
    folder, root = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    pages = [path for path in sorted(folder.iterdir()) if PAGE.match(path.name)]
    points = Points()
    check_functions(points, pages, root)
    check_references(points, pages)
    if len(sys.argv) > 3:
        check_hamictl(points, folder, sys.argv[3])
        check_options(points, folder)
    if shutil.which("mandoc"):
        check_lint(points, pages)
    else:
        print("# mandoc is not there: scripts/bootstrap test installs it")
        points.check(False, "mandoc -T lint finds nothing", "no mandoc")
    points.end()


main()
