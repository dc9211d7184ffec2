# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""configuration_doc.py HAMID ROOT: docs/configuration.md says of each option what the program says, as TAP."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

LEFT_OUT = {"help", "config", "print-config"}


def run(hamid, role, *arguments):
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("HAMI_NODELOCK_EXPIRE", "KUBECONFIG", "NODE_NAME")}
    if role == "node":
        environment["NODE_NAME"] = "here"
    return subprocess.run([hamid, role, *arguments], env=environment, check=True,
                          capture_output=True, text=True, timeout=30).stdout


def printed(hamid, role):
    """{name: default}"""
    found = {}
    for line in run(hamid, role, "--print-config").splitlines():
        match = re.match(r"(?:# )?([a-z-]+): ?(.*?)(?:  # .*)?$", line)
        if match:
            found[match[1]] = match[2].strip('"').replace("[]", "none")
    return found


def helped(hamid, role):
    """{name: (names, value, reload)}"""
    found = {}
    for block in re.split(r"\n(?=  -)", run(hamid, role, "--help"))[1:]:
        head = block.splitlines()[0]
        match = re.match(r"  --?([a-z][a-z-]*)(?:[= ](\S+?))?(?=,|  |$)", head)
        name, argument = match[1], match[2]
        bounds = re.search(r"\((\S+ to \S+|at least \S+)\)", head)
        value = bounds[1] if bounds else (argument or "true, false").replace("|", ", ")
        if "may be repeated" in head:
            value += ", repeatable"
        names = [name] + re.findall(r", --?([a-z_-]+)", head)
        found[name] = (names, value, "yes" if "SIGHUP" in block else "no")
    return {name: row for name, row in found.items() if name not in LEFT_OUT}


def documented(text, role):
    """{name: (names, value, default, reload)}"""
    section = re.search(rf"^## hamid {role}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
    found = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("| `") or len(cells) != 5:
            continue
        names = re.findall(r"`([^`]+)`", cells[0])
        found[names[0]] = (names, *cells[1:4])
        if not cells[4].rstrip("| "):
            raise ValueError(f"{names[0]} has no words of its own")
    return found


def compare(hamid, role, text):
    defaults, flags, docs = printed(hamid, role), helped(hamid, role), documented(text, role)
    if role == "node":
        defaults["node"] = "not set"
    problems = [f"{name} is not in docs/configuration.md" for name in flags if name not in docs]
    if role == "scheduler" or "gateway" in flags:
        problems += [f"{name} is in docs/configuration.md and no option" for name in docs
                     if name not in flags]
    if set(defaults) != set(flags):
        problems.append(f"--help and --print-config differ: {set(defaults) ^ set(flags)}")
    for name in sorted(set(flags) & set(docs) & set(defaults)):
        names, value, reload = flags[name]
        if docs[name] != (names, value, defaults[name], reload):
            problems.append(f"{name}: documented as {docs[name]}, is {(names, value, defaults[name], reload)}")
    return problems


def compare_locks(root, text):
    """The rows of HAMi's vendors."""
    source = (root / "daemon/scheduler/lock_table.c").read_text(encoding="utf-8")
    keys = {"HAMI_NODELOCK_KEY": "`hami.io/mutex.lock`", "EXEMPT": "exempt",
            "HAMI_NODELOCK_CAMBRICON_KEY": "`cambricon.com/dsmlu.lock`"}
    wanted = {(resource, keys[key]) for resource, key in re.findall(r'^    \{"([^"]+)", (\w+)\},', source, re.M)}
    section = text.split("## Which lock a pod needs")[1].split("\n## ")[0]
    found = set()
    for line in section.splitlines():
        cells = line.strip("|").split("|")
        if line.startswith("| `") and len(cells) == 2:
            found |= {(resource, cells[1].strip()) for resource in re.findall(r"`([^`]+)`", cells[0])}
    return [f"{row} is not the same in table and documentation" for row in sorted(wanted ^ found)] \
        if wanted else ["no row was found in lock_table.c"]


def check_example(hamid, text):
    """The example of a file is a right one."""
    example = re.search(r"```yaml\n(.*?)```", text, re.S)[1]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(example)
        file.flush()
        output = run(hamid, "scheduler", "--config", file.name, "--print-config")
    return [] if "patience: 10m0s  # file, line " in output else ["the example says something else"]


def main():
    hamid, root = sys.argv[1], pathlib.Path(sys.argv[2])
    text = (root / "docs/configuration.md").read_text(encoding="utf-8")
    points = [("the_scheduler_roles_options_are_documented_as_they_are", compare(hamid, "scheduler", text)),
              ("the_node_roles_options_are_documented_as_they_are", compare(hamid, "node", text)),
              ("the_lock_table_is_documented_as_it_is", compare_locks(root, text)),
              ("the_example_of_a_file_is_taken", check_example(hamid, text))]
    print(f"1..{len(points)}")
    for number, (name, problems) in enumerate(points, 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"# {problem}")
    return 1 if any(problems for _, problems in points) else 0


if __name__ == "__main__":
    sys.exit(main())
