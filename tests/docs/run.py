# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Each block of the documentation is run, or says why not.

    run.py MESON BUILD PREFIX LIBDIR KUBESIM [PAGE...]

Runs the commands for "kubesim" and "checkout"; scripts/test-cluster runs those for "cluster", and
scripts/newcomer the pages of the three readers in a clean root.
"""

import os
import pathlib
import shutil
import sys
import tempfile

import blocks
import runners
import session
import worlds

sys.path.insert(0, str(worlds.HERE.parent / "install"))

from points import Points  # noqa: E402

HERE_RUN = ("kubesim", "checkout")
NEEDS = {"docs/start-go.md": "go"}


def page_names(root):
    """What readers are given; below tests/ and bench/ notes of those who work there."""
    others = [str(path.relative_to(root)) for folder in ("bindings", "deploy", "examples")
              for path in sorted((root / folder).rglob("README.md"))]
    return ["README.md", "CONTRIBUTING.md", "SECURITY.md", *others,
            *sorted(f"docs/{path.relative_to(root / 'docs')}" for path in (root / "docs").rglob("*.md"))]


def write(folder, block):
    path = folder / block.words
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def check_marks(points, root, name, found):
    wrong = [f"{block.where()}: {what}" for block in found
             for what in [blocks.problem(block, root)] if what]
    points.check(not wrong, f"{name}: each block says how it is tested", "\n".join(wrong))
    for block in found:
        if block.mark == "from":
            points.check(blocks.is_part(block, root), f"{block.where()}: stands so in {block.words}")
        elif block.mark == "same as":
            points.check(blocks.is_run_in(block, blocks.read(root / block.words, block.words)),
                         f"{block.where()}: each command is run in {block.words}")
        elif block.mark == "run by":
            what = runners.problem(blocks.commands(block), block.words, root)
            points.check(not what, f"{block.where()}: each command is a part of {block.words}", what)


def environments(installed, kubesim, name):
    """environment -> (folder, variables)"""
    folder = installed.scratch(name.replace("/", "-"))
    return {"kubesim": (folder, {**installed.environment, **kubesim.environment}),
            "checkout": (worlds.ROOT, dict(os.environ))}


def run_page(points, installed, programs, name, found):
    build, kubesim_program = programs
    with tempfile.TemporaryDirectory(prefix="hami-kubesim-") as temporary:
        kubesim = worlds.Kubesim(kubesim_program, pathlib.Path(temporary))
        changes = {**worlds.exchange(), **worlds.folders(pathlib.Path(temporary), build)}
        places = environments(installed, kubesim, name)
        sessions, agent, shim = {}, None, worlds.shim(pathlib.Path(temporary), installed.hamid, changes)
        places["kubesim"][1]["PATH"] = f"{shim}:{places['kubesim'][1]['PATH']}"
        try:
            if any(block.mark == "run" and worlds.AGENT in block.text for block in found):
                agent = worlds.Agent(installed.hamid, kubesim, changes[worlds.AGENT])
            for block in found:
                if block.mark == "file":
                    write(places["kubesim"][0], block)
                if block.mark != "run" or block.words not in HERE_RUN:
                    continue
                if block.words not in sessions:
                    sessions[block.words] = session.Session(*places[block.words], changes)
                for command in blocks.commands(block):
                    wrong = session.judge(sessions[block.words], block, command)
                    points.check(not wrong, f"{block.where()}: {command.text.splitlines()[0][:90]}", wrong)
        finally:
            for one in sessions.values():
                one.end()
            if agent:
                agent.end()
            kubesim.end()


def summary(every):
    """How many are tested where, and why the rest is not."""
    counts = {}
    for block in every:
        if block.mark:
            key = block.mark if block.mark != "run" else f"run in {block.words}"
            counts[key] = counts.get(key, 0) + 1
    print("# blocks: " + ", ".join(f"{count} {key}" for key, count in sorted(counts.items())))
    for block in every:
        if block.mark == "not run":
            print(f"# not run: {block.where()}: {block.words}")


def main():
    meson, build, prefix, libdir, kubesim_program = sys.argv[1:6]
    points, every = Points(), []
    installed = worlds.Installed(meson, build, prefix, libdir)
    try:
        for name in sys.argv[6:] or page_names(worlds.ROOT):
            found = blocks.read(worlds.ROOT / name, name)
            every += found
            check_marks(points, worlds.ROOT, name, found)
            if name in NEEDS and shutil.which(NEEDS[name]) is None:
                points.skip(f"{name}: its commands", f"there is no {NEEDS[name]} here")
            elif any(block.mark == "run" and block.words in HERE_RUN for block in found):
                run_page(points, installed, (build, kubesim_program), name, found)
    finally:
        installed.end()
    summary(every)
    points.end()


main()
