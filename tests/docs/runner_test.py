# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The runner of the documentation sees what it is there to see."""

import os
import pathlib
import sys
import tempfile

import blocks
import runners
import session
import worlds

sys.path.insert(0, str(worlds.HERE.parent / "install"))

from points import Points  # noqa: E402

PAGE = """\
# Page

<!-- run: kubesim, status 3, since 1.31 -->
```console
$ echo one
one
$ cat <<X
> two
> X
two
```

```yaml
a: 1
```

    indented

- item

    its paragraph

<!-- not run: no -->
```console
$ rm -rf /
```
"""


def of_page(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.md"
        path.write_text(text, encoding="utf-8")
        return blocks.read(path, "page.md")


def check_blocks(points):
    found = of_page(PAGE)
    points.check([block.language for block in found] == ["console", "yaml", "indented", "console"],
                 "blocks are found, paragraphs of lists are none", found)
    problems = [blocks.problem(block, worlds.ROOT) for block in found]
    points.check(problems[0] is None and all(problems[1:]),
                 "a block without a mark, an indented one, and one without a reason are faults", problems)
    points.check(found[0].status == 3 and found[0].words == "kubesim", "a mark tells the exit status")
    points.check(found[0].since == 31, "a mark tells from which Kubernetes on it is")
    commands = blocks.commands(found[0])
    points.check([command.text for command in commands] == ["echo one", "cat <<X\ntwo\nX"],
                 "a command may go on over several lines", commands)


def check_comparing(points):
    for expected, printed, good in (
            (["one"], "one\n", True), (["one"], "two\n", False), (["one"], "one\ntwo\n", False),
            ([], "", True), ([], "something\n", False), (["..."], "a\nb\n", True), (["..."], "", True),
            (["a", "...", "d"], "a\nb\nc\nd\n", True), (["a", "...", "d"], "a\nb\n", False),
            (["took ... s"], "took 1.5 s\n", True), (["took ... s"], "took nothing\n", False),
            (["A  B"], "A       B\n", True)):
        points.check(session.matches(expected, printed) == good,
                     f"{expected} {'matches' if good else 'does not match'} {printed!r}")


def check_session(points):
    shell = session.Session("/", dict(os.environ), {"8080": "1234"})
    try:
        points.check(shell.run("cd /tmp; X=5") == (0, ""), "a command may print nothing")
        points.check(shell.run("pwd; echo $X; false") == (1, "/tmp\n5\n"), "folder and variables stay")
        points.check(shell.run("echo 8080 >/dev/null; echo 12; echo 34") == (0, "12\n34\n"),
                     "only whole addresses are exchanged")
        points.check(shell.run("echo port 8080") == (0, "port 8080\n"), "they are undone in what is printed")
        status, printed = shell.run("read -t 60 X < <(sleep 60)", seconds=1)
        points.check(status == -1 and "still ran" in printed, "a command that goes on is told")
    finally:
        shell.end()


def check_parts(points):
    block = blocks.Block("p", 1, "yaml", "bindVerb: bind  # ours\nignorable: false\n", "from",
                         "deploy/kube-scheduler/one-entry.yaml")
    points.check(blocks.is_part(block, worlds.ROOT), "a part of a file is one, comments aside")
    block.text = "ignorable: true\n"
    points.check(not blocks.is_part(block, worlds.ROOT), "what stands otherwise is none")


def check_runners(points):
    for text, name, good in (
            ("scripts/test", ".ci/run", True), ("scripts/test --only nothing", ".ci/run", False),
            ("scripts/bootstrap build test", ".ci/run", True), ("scripts/bootstrap none", ".ci/run", False),
            ("scripts/packages --only debs --work ../packed", ".ci/run", True),
            ("scripts/packages --only static", ".ci/run", False),
            ("scripts/packages --only static", "scripts/nightly", True),
            ("scripts/reproducible", ".ci/run", False), ("scripts/reproducible", "scripts/nightly", True),
            ("true", ".ci/run", False), ("scripts/test", "scripts/demo", False)):
        problem = runners.problem([blocks.Command(text, [])], name, worlds.ROOT)
        points.check((not problem) == good, f"'{text}' is {'' if good else 'no '}part of {name}", problem)
    points.check(runners.problem([blocks.Command("scripts/test", ["fine"])], ".ci/run", worlds.ROOT),
                 "a command of a runner that shows an output is a fault")


def main():
    points = Points()
    check_blocks(points)
    check_comparing(points)
    check_session(points)
    check_parts(points)
    check_runners(points)
    points.end()


main()
