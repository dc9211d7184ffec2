# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What can be seen of a change without running it; the last line is 'N passed, N failed'.

Each part is one point, and names file and line of what it found.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from check import links  # noqa: E402

HELP = """Looks at the checkout without running it, in under a minute on two cores:

  format    clang-format is content with each C file (the public headers are set by hand)
  tidy      clang-tidy finds nothing in the C files that differ from main, or in all of them
  spell     codespell knows each word, or tests/check/words.txt does
  licences  each file says whose it is and under which licence (reuse)
  links     each link of the documentation leads somewhere
  shell     shellcheck finds nothing in the scripts
  python    pyflakes finds nothing in the Python files
  text      no blanks at ends of lines, and each file ends with one line

It looks at files that git has, or would add. tidy needs build/ (scripts/test makes it). What is missing
of the programs is installed by scripts/bootstrap developer."""

LINES = 40
GENERATED = ("tests/fuzz/corpus/", "docs/images/")
# Formats in which a blank at the end of a line means something, or that others write.
NO_TEXT = (".png", ".svg", ".sum", ".lock")
TOOLS = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") \
    / "haminodelock/tools/bin"


class Missing(Exception):
    """A program that a part needs."""


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def tracked():
    """Files that git has or would add, and that are there."""
    names = git("ls-files", "--cached", "--others", "--exclude-standard") or []
    return sorted(name for name in set(names) if (ROOT / name).is_file())


def changed():
    """Of these, those that differ from main; on main itself, from the commit before."""
    for main in ("origin/main", "main"):
        base = git("merge-base", "HEAD", main)
        if base:
            break
    head = git("rev-parse", "HEAD")
    if not base or base == head:
        base = git("rev-parse", "HEAD~1") or head
    names = (git("diff", "--name-only", base[0]) or []) if base else []
    return set(names) | set(git("ls-files", "--others", "--exclude-standard") or [])


def tool(*names):
    """The first of these programs that is there."""
    for name in names:
        path = shutil.which(name, path=f"{TOOLS}:{os.environ['PATH']}")
        if path:
            return path
    raise Missing(f"{names[0]} is not installed: scripts/bootstrap developer")


def output(words, is_wrong=None, errors=subprocess.STDOUT):
    """What a program complains of; nothing where it ends well."""
    done = subprocess.run([str(word) for word in words], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=errors, text=True, errors="replace", check=False)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if is_wrong:
        lines = [line for line in lines if is_wrong(line)]
    if done.returncode != 0 and not lines:
        lines = [f"{words[0]} ended with code {done.returncode}", *done.stdout.splitlines()[-5:]]
    return lines if done.returncode != 0 else []


def batches(names, size):
    return [names[start:start + size] for start in range(0, len(names), size)]


def check_format(names, asked):
    program = tool("clang-format")
    sources = [name for name in names if name.endswith((".c", ".h"))
               and not name.startswith("include/hami/")]
    if asked.fix:
        return [line for batch in batches(sources, 50)
                for line in output([program, "-i", *batch])]
    return [line for batch in batches(sources, 50)
            for line in output([program, "--dry-run", "-Werror", *batch],
                               lambda line: ": error:" in line)]


def check_tidy(names, asked):
    program = tool("clang-tidy")
    build = ROOT / "build"
    if not (build / "compile_commands.json").exists():
        raise Missing("build/ is not there: meson setup build && meson compile -C build")
    compiled = set(re.findall(r'"file": "\.\./([^"]+\.c)"',
                              (build / "compile_commands.json").read_text(encoding="utf-8")))
    wanted = compiled & set(names if asked.all else changed())
    found = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(lambda batch: output(
                [program, "--quiet", "-p", build, *batch], lambda line: "error:" in line,
                subprocess.DEVNULL), batches(sorted(wanted), 4)):
            found += lines
    if any("file not found" in line and "/build/" in line for line in found):
        raise Missing("build/ lacks what it makes: meson compile -C build")
    # Its paths begin in the build folder.
    return sorted({re.sub(r"^(\.\./|.*/build/\.\./)", "", line) for line in found})


def check_spell(names, _asked):
    program = tool("codespell")
    words = [name for name in names if not name.startswith(GENERATED)
             and not name.endswith(NO_TEXT) and name != "tests/check/words.txt"]
    return output([program, f"--ignore-words={HERE / 'words.txt'}", *words],
                  lambda line: "==>" in line)


def check_licences(_names, _asked):
    return output([tool("reuse"), "lint", "--lines"])


def check_links(names, _asked):
    return list(links.problems(ROOT, [name for name in names if name.endswith(".md")]))


def first_line(name):
    with open(ROOT / name, "rb") as file:
        return file.readline(200)


def check_shell(names, _asked):
    program = tool("shellcheck")
    scripts = [name for name in names if not name.startswith(GENERATED)
               and re.match(rb"#!.*\b(ba|da)?sh\b", first_line(name))]
    return output([program, "--format=gcc", "--external-sources", *scripts])


def check_python(names, _asked):
    program = tool("pyflakes3", "pyflakes")
    files = [name for name in names if not name.startswith(GENERATED)
             and (name.endswith(".py") or re.match(rb"#!.*\bpython3?\b", first_line(name)))]
    ignored = {(ROOT / line.partition(":")[0], line) for line in output([program, *files])}
    return [line for path, line in sorted(ignored) if not _is_excused(path, line)]


def _is_excused(path, line):
    """Pyflakes itself knows no `noqa`."""
    number = re.match(r"[^:]*:(\d+):", line)
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return bool(number) and "# noqa" in lines[int(number[1]) - 1]


def check_text(names, _asked):
    found = []
    for name in names:
        if name.startswith(GENERATED) or name.endswith(NO_TEXT):
            continue
        data = (ROOT / name).read_bytes()
        if b"\0" in data:
            continue
        found += text_problems(name, data)
    return found


def text_problems(name, data):
    for number, line in enumerate(data.split(b"\n"), 1):
        if line != line.rstrip():
            yield f"{name}:{number}: blanks at the end"
    if data and not data.endswith(b"\n"):
        yield f"{name}: the last line has no end"
    if data.endswith(b"\n\n"):
        yield f"{name}: empty lines at the end"


PARTS = {"format": check_format, "tidy": check_tidy, "spell": check_spell,
         "licences": check_licences, "links": check_links, "shell": check_shell,
         "python": check_python, "text": check_text}


def run_part(name, names, asked):
    begun = time.monotonic()
    try:
        found = PARTS[name](names, asked)
    except (Missing, OSError) as error:
        found = [str(error)]
    return name, found, time.monotonic() - begun


def parse():
    parser = argparse.ArgumentParser(prog="scripts/check", description=HELP,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(PARTS), metavar="PART",
                        help="this part only; may be given again")
    parser.add_argument("--all", action="store_true", help="tidy looks at every C file")
    parser.add_argument("--fix", action="store_true", help="format formats, rather than looks")
    return parser.parse_args()


def main():
    asked = parse()
    names = tracked()
    failed = 0
    wanted = asked.only or list(PARTS)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda name: run_part(name, names, asked), wanted)
        for number, (name, found, seconds) in enumerate(done, 1):
            failed += bool(found)
            print(f"{'not ok' if found else 'ok'} {number} - {name} ({seconds:.0f} s)", flush=True)
            for line in found[:LINES]:
                print(f"# {line}")
            if len(found) > LINES:
                print(f"# and {len(found) - LINES} more")
    print(f"{len(wanted) - failed} passed, {failed} failed")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
