# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that take too long for a test of the pages, and are run by .ci/run or scripts/nightly themselves."""

import ast
import pathlib
import re
import shlex
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from nightly import parts  # noqa: E402

RUNNERS = (".ci/run", "scripts/nightly")
PACKAGES = "scripts/packages"


def run_by(name, root):
    """The commands of that runner, as words."""
    if name == "scripts/nightly":
        return [part.command.split() for part in parts.PARTS] + [["scripts/bootstrap"]]
    lines = (root / name).read_text(encoding="utf-8").splitlines()
    found = [re.sub(r"^part \S+ | \|\| exit 1$", "", line) for line in lines
             if re.match(r"(part \S+ )?scripts/", line)]
    return [shlex.split(line) for line in found]


def packages(root):
    """The parts that scripts/packages has when none is named."""
    tree = ast.parse((root / "tests/packages/run.py").read_text(encoding="utf-8"))
    [value] = [one.value for one in tree.body
               if isinstance(one, ast.Assign) and one.targets[0].id == "PARTS"]
    return set(ast.literal_eval(value))


def is_one(words, command, root):
    """Is it run as it stands, perhaps with more words between, or as one part of all?"""
    if command[:1] == words[:1] == [PACKAGES] and len(command) == 1:
        options = dict(zip(words[1::2], words[2::2]))
        return set(options) <= {"--only", "--work"} and options.get("--only") in packages(root)
    rest = iter(command)
    return command[:1] == words[:1] and all(word in rest for word in words)


def problem(block_commands, name, root):
    """What is wrong with a block that names this runner; "" if nothing."""
    if name not in RUNNERS:
        return f"{name} is none of {', '.join(RUNNERS)}"
    have = run_by(name, root)
    for command in block_commands:
        if command.expected:
            return f"'{command.text}' shows an output that nobody compares"
        words = shlex.split(command.text, comments=True)
        if not words or not any(is_one(words, other, root) for other in have):
            return f"'{command.text}' is no part of {name}"
    return ""
