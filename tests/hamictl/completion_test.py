# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The shells complete hamictl's commands, flags and values: asked of the shells themselves."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import tap  # noqa: E402
import world  # noqa: E402
from tap import equal, has  # noqa: E402

FOLDER = pathlib.Path(os.environ["COMPLETIONS"])
COMMANDS = ["locks", "queue", "explain", "release", "watch", "doctor", "completion"]
BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_hamictl
printf '%s\\n' "${COMPREPLY[@]}"
"""


def run(*words, environment=None):
    folder = pathlib.Path(os.environ["HAMICTL"]).parent
    return subprocess.run(words, text=True, check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={
                              **os.environ, "PATH": f"{folder}:{os.environ['PATH']}",
                              **(environment or {})}).stdout


def bash(*words, environment=None):
    """What bash offers for the last of these words."""
    done = run("bash", "--norc", "-c", BASH, "bash", str(FOLDER / "hamictl"), "hamictl", *words,
               environment=environment)
    return [line for line in done.splitlines() if line]


def flags_of(command):
    return re.findall(r"^  (--[a-z-]+)", run(os.environ["HAMICTL"], command, "--help"),
                      re.MULTILINE)


def test_bash_offers_each_command():
    equal(bash(""), COMMANDS + ["--help", "--version"])
    equal(bash("re"), ["release"])
    listed = re.findall(r"^  ([a-z]+) ", run(os.environ["HAMICTL"], "--help"), re.MULTILINE)
    equal(listed, COMMANDS)


def test_bash_offers_the_flags_that_help_lists():
    for command in COMMANDS:
        equal(sorted(bash(command, "--")), sorted(flags_of(command)))
    equal(bash("doctor", "--scheduler-config"), ["--scheduler-config", "--scheduler-configmap"])
    equal(bash("nonsense", "--"), ["--help"])


def test_bash_offers_choices_and_files():
    equal(bash("locks", "-o", ""), ["table", "json"])
    equal(bash("locks", "--output", "j"), ["json"])
    equal(bash("completion", ""), ["bash", "zsh", "fish"])
    equal(bash("doctor", "--patience", ""), [])
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "scheduler.yaml"
        file.touch()
        equal(bash("doctor", "--scheduler-config", f"{folder}/sch"), [str(file)])


def test_bash_offers_the_nodes_that_are_locked():
    control_plane = world.World()
    try:
        control_plane.annotate("gpu-1", {"hami.io/mutex.lock": "2026-01-02T03:04:05Z,ns,p"})
        login = {"KUBECONFIG": str(control_plane.kubeconfig)}
        equal(bash("release", "", environment=login), ["gpu-1"])
        equal(bash("locks", "--node", "gpu", environment=login), ["gpu-1"])
    finally:
        control_plane.end()


def test_zsh_reads_its_script():
    if shutil.which("zsh") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        known = run("zsh", "-fc", "autoload -U compinit && compinit -u -d $1/dump && source $2 && "
                    "print $_comps[hamictl] && which _hamictl", "zsh", folder,
                    str(FOLDER / "_hamictl"))
    has(known, "_hamictl\n")
    for command in COMMANDS:
        has(known, f"({command})")


def test_fish_offers_commands_flags_and_choices():
    if shutil.which("fish") is None:
        return

    def fish(line):
        with tempfile.TemporaryDirectory() as home:
            done = run("fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]',
                       str(FOLDER / "hamictl.fish"), line, environment={"HOME": home})
        return [each.split("\t")[0] for each in done.splitlines()]
    equal(sorted(fish("hamictl ")), sorted(COMMANDS))
    for command in COMMANDS:
        offered = fish(f"hamictl {command} --")
        for flag in flags_of(command):
            if flag != "--help" and flag not in offered:
                raise AssertionError(f"{flag} of {command} is not among {offered}")
    equal(sorted(fish("hamictl locks --output ")), ["json", "table"])


def test_another_shell_is_refused():
    done = subprocess.run([os.environ["HAMICTL"], "completion", "csh"], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 2)
    has(done.stdout, "bash, zsh, fish")


if __name__ == "__main__":
    sys.exit(tap.run([value for name, value in list(globals().items())
                      if name.startswith("test_")]))
