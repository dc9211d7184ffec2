# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""An installation of the libraries below a temporary folder, as programs of others find it."""

import fcntl
import os
import pathlib
import re


def command(meson, build, destination):
    """Two installations of one build folder at a time would write one log."""
    return [meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", destination]


class Exclusive:
    """While it is held, no other script of this suite installs from the build folder."""

    def __init__(self, build):
        self.file = open(pathlib.Path(build) / "install.lock", "w", encoding="ascii")

    def __enter__(self):
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def relocate(folder, prefix, root):
    """The files say where they will be; here they are below another folder."""
    names = []
    for file in sorted(folder.glob("*.pc")):
        text = file.read_text()
        file.write_text(re.sub(rf"^prefix={re.escape(prefix)}$", f"prefix={root}", text,
                               flags=re.MULTILINE))
        names.append(file.stem)
    return names


def environment(folder, libraries):
    return {**os.environ, "PKG_CONFIG_PATH": str(folder),
            "LD_LIBRARY_PATH": str(libraries)}
