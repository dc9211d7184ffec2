# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The same Allocate in C, Go and Python, by the programs in examples/agent."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from agent_api import world

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/agent"
BUILD_SECONDS = 300


class Example:
    """What each of the programs has to do; a class below says which program it is."""

    command = None

    def setUp(self):
        self.world = self.enterContext(world.World())
        self.devices = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.devices / "GPU-7").touch()

    def run_example(self, *ids):
        return subprocess.run(
            [*self.command, self.world.socket, world.RESOURCE, self.devices, *(ids or ("d-0",))],
            capture_output=True, text=True, timeout=60, check=False)

    def test_that_devices_are_handed_out(self):
        self.world.add_pod("a")
        ended = self.run_example()
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertEqual(ended.stdout.splitlines(),
                         ["pod default/a", f"device {self.devices}/GPU-7"])
        self.assertEqual((self.world.phase("a"), self.world.lock()), ("success", None))

    def test_that_a_device_which_is_not_there_is_said(self):
        self.world.add_pod("a", devices="GPU-8,NVIDIA,1024,10:;")
        ended = self.run_example()
        self.assertEqual(ended.returncode, 1)
        self.assertIn("no device", ended.stderr)
        self.assertEqual((self.world.phase("a"), self.world.lock()), ("failed", None))

    def test_that_a_refusal_is_a_refusal(self):
        self.world.add_pod("a")
        self.world.add_pod("b")
        ended = self.run_example()
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertIn("default/a and default/b", ended.stderr)
        self.assertEqual((self.world.phase("a"), self.world.phase("b")),
                         ("allocating", "allocating"))

    def test_that_an_agent_which_is_away_is_a_refusal(self):
        self.world.kill_agent()
        ended = self.run_example()
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertNotEqual(ended.stderr, "")


class InPython(Example, unittest.TestCase):
    command = [sys.executable, FOLDER / "allocate.py"]


class InC(Example, unittest.TestCase):
    command = [pathlib.Path(os.environ["HAMI_BUILD"]) / "examples/agent/example-agent-allocate"]


@unittest.skipUnless(shutil.which("go"), "there is no Go here: the example in Go is not run")
class InGo(Example, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.command = [pathlib.Path(cls.folder) / "allocate"]
        subprocess.run(["go", "build", "-o", cls.command[0], FOLDER / "allocate.go"], check=True,
                       timeout=BUILD_SECONDS, env={**os.environ, "CGO_ENABLED": "0"})


if __name__ == "__main__":
    unittest.main()
