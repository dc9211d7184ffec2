# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/check-abi: this checkout against the last release; and it sees what it is there to see."""

import re
import subprocess

from common import HERE, ROOT, need

SIZED = re.compile(r"^struct (hami_\w+) \{\n(?:    /\*(?:[^*]|\*(?!/))*\*/\n)?    size_t size;",
                   re.MULTILINE)


def grown(text):
    """A new last member, in a struct that tells its size."""
    start = text.index("struct hami_nodelock_stats {")
    end = text.index("\n};", start)
    return text[:end] + "\n    uint64_t added_last;" + text[end:]


def widened(text):
    """The same, in a struct without: an array of them would be read wrongly."""
    start = text.index("struct hami_owner {")
    end = text.index("\n};", start)
    return text[:end] + "\n    uint64_t added_last;" + text[end:]


def added(text):
    return text.replace("HAMI_PUBLIC const char *hami_strerror(",
                        "HAMI_PUBLIC int hami_added(void);\nHAMI_PUBLIC const char *hami_strerror(",
                        1)


# file, what is done to it, whether programs of the last release still run
CHANGES = {
    "a function that is gone": ([("lib/haminodelock.map", lambda text: text.replace(
        "    hami_errname;\n", ""))], False),
    "a struct of fixed size that grew": ([("include/hami/nodelock.h", widened)], False),
    "a struct of known size that grew at its end": ([("include/hami/nodelock.h", grown)], True),
    "a function that came": ([
        ("include/hami/nodelock.h", added),
        ("lib/errors.c", lambda text: text + "\nint hami_added(void)\n{\n    return 1;\n}\n"),
        ("lib/haminodelock.map", lambda text: text.replace(
            "    hami_errname;\n", "    hami_added;\n    hami_errname;\n"))], True),
}


def changed(tree, edits):
    """Returns what undoes it."""
    before = []
    for name, edit in edits:
        file = tree / name
        text = file.read_text(encoding="utf-8")
        after = edit(text)
        need(after != text)
        file.write_text(after, encoding="utf-8")
        before.append((file, text))
    return before


def check(*words):
    done = subprocess.run([ROOT / "scripts/check-abi", *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=900)
    return done.returncode, done.stdout


def run(points, work, release):
    listed = re.search(r"name_regexp = \^\((.*)\)\$", (HERE / "abi.ini").read_text(
        encoding="utf-8")).group(1).split("|")
    sized = {name for file in (ROOT / "include/hami").glob("*.h")
             for name in SIZED.findall(file.read_text(encoding="utf-8"))}
    points.check(set(listed) == sized, "abi.ini names the structs that tell their size",
                 sorted(set(listed) ^ sized))
    code, said = check()
    points.check(code == 0, said.strip().splitlines()[-1] if code == 0 else
                 "programs of the last release still run", said)
    tree = release.unpack(points, work / "abi")
    before = work / "abi-before"
    code, said = check("--core", "--record", before, "--tree", tree)
    points.check(code == 0, "an ABI is described", said)
    for name, (edits, fine) in CHANGES.items():
        undo = changed(tree, edits)
        code, said = check("--core", "--against", before, "--tree", tree)
        points.check(code == (0 if fine else 1),
                     f"{name}: {'accepted' if fine else 'refused'}", said)
        for file, text in undo:
            file.write_text(text, encoding="utf-8")
