# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the checkout and runs its TAP programs against a real API server."""

import os
import pathlib
import shutil
import subprocess
import sys

from cluster import processes
from deploy import confined

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PATIENCE = 600


def hamid():
    """The words that start hamid under its seccomp profile; as it is without libseccomp."""
    program = [str(BUILD / "daemon/hamid")]
    if confined.library() is None:
        return program
    return [sys.executable, "-B", confined.__file__, str(ROOT / "deploy/seccomp/hamid.json"),
            *program]


def hamid_of_a_node():
    """As deploy/ has it on a node: root without any capability, and no way to get one."""
    if shutil.which("setpriv") is None:
        return hamid()
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", *hamid()]


def build(results):
    """What a fresh clone needs before anything can run: packages, then the build."""
    for arguments in (["scripts/bootstrap"], *_meson()):
        done = subprocess.run(arguments, cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            tail = "\n".join(done.stdout.splitlines()[-30:])
            raise processes.Failed(f"{' '.join(arguments)} failed:\n{tail}")
    results.say("built the checkout")


def _meson():
    if not (BUILD / "build.ninja").exists():
        yield ["meson", "setup", str(BUILD)]
    yield ["meson", "compile", "-C", str(BUILD)]


def run(results, part, program, environment, excuse=None, arguments=()):
    """Runs one TAP program and counts each of its points, but for excused failures."""
    if not program.exists():
        results.check(False, f"{part}: {program.relative_to(BUILD)} is built")
        return
    child = subprocess.Popen(
        [str(program), *arguments], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
        env={**os.environ, "CK_TAP_LOG_FILE_NAME": "-", "CK_VERBOSITY": "silent",
             **environment},
        preexec_fn=processes.end_with_parent(os.getpid()))
    failed, passed, skipped = results.failed, results.passed, results.skipped
    try:
        for line in child.stdout:
            results.take_over(part, line.rstrip("\n"), excuse)
        code = child.wait(PATIENCE)
    finally:
        child.kill()
        child.wait()
    if code == 77 and results.passed == passed:
        results.check(False, f"{part}: runs against the real server instead of skipping")
    elif code != 0 and results.failed == failed and results.skipped == skipped:
        results.check(False, f"{part}: ends with code 0", f"code {code}")
    elif results.passed == passed and results.failed == failed:
        results.check(False, f"{part}: ran at least one test")
