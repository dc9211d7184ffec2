# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What a fresh clone needs before anything can run: packages, then the build."""

import os
import pathlib
import re
import subprocess
import time

from cluster import processes

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = ROOT / "build"
TARGETS = ["hamid", "tests/kubesim/kubesim:executable", "standin-scheduler",
           "standin-kubelet", "standin-broken-binder"]


def prepare(screen):
    """Quiet when there is nothing to do. Raises processes.Failed with what to do."""
    _bootstrap()
    if not (BUILD / "build.ninja").exists():
        screen.say("setting up build/")
        _run(screen, ["meson", "setup", str(BUILD), str(ROOT)], "setting up the build")
    _build(screen)


def program(path):
    found = BUILD / path
    if not found.exists():
        raise processes.Failed(
            f"{path} was not built: build/ may have been set up without it.\n"
            "Remove build/ and run scripts/demo again.")
    return found


def _bootstrap():
    """Its questions go to the terminal; its output is no part of ours."""
    done = subprocess.run([str(ROOT / "scripts/bootstrap")], stdout=2, check=False)
    if done.returncode != 0:
        raise processes.Failed("the packages that the demo needs are not all there.\n"
                               "See what is missing: scripts/bootstrap --list\n"
                               "Install it:          scripts/bootstrap --yes")


def _environment():
    return {**os.environ, "NINJA_STATUS": "[%f/%t] "}


def _run(screen, command, what):
    """Runs it quietly; when it fails, its last lines are the best explanation."""
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          env=_environment(),
                          preexec_fn=processes.end_with_parent(os.getpid())) as child:
        for line in child.stdout:
            lines.append(line.rstrip("\n"))
            found = re.match(r"\[(\d+)/(\d+)\]", line)
            if found:
                screen.build(int(found[1]), int(found[2]))
    if child.returncode != 0:
        tail = "\n".join("    " + line for line in lines[-25:])
        raise processes.Failed(f"{what} failed:\n{tail}\n"
                               "If build/ is an old one, remove it and run the demo again.")
    return lines


def _build(screen):
    begin = time.monotonic()
    lines = _run(screen, ["meson", "compile", "-C", str(BUILD), *TARGETS], "the build")
    screen.clear()
    if any(re.match(r"\[\d+/\d+\]", line) for line in lines):
        screen.say(f"built in {time.monotonic() - begin:.0f} s")
