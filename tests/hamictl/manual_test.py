# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""docs/hamictl.md says what hamictl prints: each of its commands is run and compared.

Ages, times, tokens and the width of columns may differ. With --update the file is written anew.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import cluster as clusters  # noqa: E402
import tap  # noqa: E402
import world  # noqa: E402
from tap import equal, has  # noqa: E402

MANUAL = pathlib.Path(os.environ["SOURCE"]) / "docs/hamictl.md"
# Blocks with a mark of their own are for tests/docs.
BLOCK = re.compile(r"(?<!-->\n)```console\n\$ (hamictl [^\n]*)\n(.*?)```", re.DOTALL)
ADDRESS = "http://127.0.0.1:9397"
ANY_TOKEN = "0123456789abcdef"


def plain(text):
    """What may differ taken out."""
    text = re.sub(r"\b[0-9a-f]{16}\b", "TOKEN", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "TIME", text)
    text = re.sub(r"\b\d+d\b", "AGE", text)
    text = re.sub(r"\b(\d+h)?(\d+m)?\d+(\.\d+)?s\b", "AGE", text)
    text = re.sub(r"\bfence \d+", "fence N", text)
    return text.split()


def run(cluster, command):
    words = command.replace(ADDRESS, f"http://{cluster.other_address}").split()[1:]
    if ANY_TOKEN in words:
        words[words.index(ANY_TOKEN)] = cluster.token_of(words[1])
    configuration = pathlib.Path(cluster.folder.name) / "scheduler.yaml"
    configuration.write_text(world.CONFIGURATION.replace("600s", "30s"))
    words = [str(configuration) if word == "scheduler.yaml" else word for word in words]
    printed = cluster.hamictl(*words).stdout
    return printed.replace(f"http://{cluster.other_address}", ADDRESS).replace(
        str(configuration), "scheduler.yaml")


def test_each_command_of_the_manual_prints_what_stands_there():
    text = MANUAL.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    equal({command.split()[1] for command, _ in blocks},
          {"locks", "queue", "explain", "release", "watch", "doctor"})
    cluster = clusters.Cluster().start_queue()
    try:
        for command, said in blocks:
            printed = run(cluster, command)
            if "--update" in sys.argv:
                printed = re.sub(r"[ ]+$", "", printed, flags=re.MULTILINE)
                text = text.replace(f"$ {command}\n{said}```", f"$ {command}\n{printed}```", 1)
            elif plain(printed) != plain(said):
                raise AssertionError(f"{command} prints\n{printed}\nand not\n{said}")
    finally:
        cluster.end()
    MANUAL.write_text(text, encoding="utf-8") if "--update" in sys.argv else None


def test_the_manual_names_each_check_of_doctor_and_no_other():
    text = MANUAL.read_text(encoding="utf-8")
    table = text[text.index("| check | finds |"):text.index("A check that could not look")]
    named = set(re.findall(r"`([a-z-]+)`", "".join(
        line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))))
    control_plane = world.World()
    try:
        report = json.loads(control_plane.hamictl("doctor", "-o", "json").stdout)
    finally:
        control_plane.end()
    equal(named - {"node-rights", "side-by-side"}, {check["check"] for check in report["checks"]})


def test_the_manual_names_each_command():
    listed = subprocess.run([os.environ["HAMICTL"], "--help"], text=True, check=True,
                            stdout=subprocess.PIPE).stdout
    text = MANUAL.read_text(encoding="utf-8")
    for command in re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE):
        has(text, f"[`{command}")


if __name__ == "__main__":
    sys.exit(tap.run([value for name, value in list(globals().items())
                      if name.startswith("test_")]))
