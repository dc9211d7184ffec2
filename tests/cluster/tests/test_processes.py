# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from cluster import processes

TESTS = pathlib.Path(__file__).resolve().parents[2]

# Starts a child that waits for ever, tells its id, and is killed then.
PARENT = """
import sys
sys.path.insert(0, sys.argv[1])
from cluster import processes
group = processes.Group(sys.argv[2])
print(group.start("child", ["cat", "/dev/stdin"]).pid, flush=True)
child = group.start("reader", [sys.executable, "-c", "import signal; signal.pause()"])
print(child.pid, flush=True)
sys.stdin.read()
"""


class Ending(unittest.TestCase):
    def test_a_closed_group_leaves_no_child(self):
        with tempfile.TemporaryDirectory() as folder:
            group = processes.Group(folder)
            child = group.start("child", [sys.executable, "-c", "import signal; signal.pause()"])
            self.assertIsNone(child.poll())
            group.close()
            self.assertIsNotNone(child.returncode)

    def test_a_child_that_stands_still_and_one_started_again_are_closed_too(self):
        with tempfile.TemporaryDirectory() as folder:
            group = processes.Group(folder)
            words = [sys.executable, "-c", "import signal; signal.pause()"]
            first, second = (group.start(name, words) for name in ("first", "second"))
            group.kill("first")
            again = group.start_again("first")
            self.assertIsNotNone(first.returncode)
            self.assertIs(group.find("first"), again)
            second.send_signal(signal.SIGSTOP)
            group.close()
            self.assertEqual((second.returncode, again.returncode),
                             (-signal.SIGTERM, -signal.SIGTERM))

    def test_a_killed_parent_takes_its_children_along(self):
        with tempfile.TemporaryDirectory() as folder:
            parent = subprocess.Popen(
                [sys.executable, "-B", "-c", PARENT, str(TESTS), folder],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            parent.stdout.readline()
            child = int(parent.stdout.readline())
            with open(f"/proc/{child}/stat", encoding="ascii") as before:
                self.assertTrue(before.read())
            parent.kill()
            parent.communicate()
            self.assertTrue(ended(child))

    def test_a_program_that_ends_early_is_reported_with_its_last_words(self):
        with tempfile.TemporaryDirectory() as folder:
            group = processes.Group(folder)
            child = group.start("teller", ["sh", "-c", "echo address already in use; exit 3"])
            with self.assertRaisesRegex(processes.Failed, "(?s)code 3.*already in use"):
                group.wait_until("teller", child, lambda: False, 30)

    def test_ports_asked_for_together_differ(self):
        self.assertEqual(len(set(processes.free_ports(20))), 20)


def ended(child):
    """The kernel kills it at once; who adopts it may take a moment to bury it."""
    for _ in range(1000):
        try:
            with open(f"/proc/{child}/stat", encoding="ascii") as file:
                if file.read().rsplit(")", 1)[1].split()[0] in "ZX":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        subprocess.run(["true"], check=True)
    return False


if __name__ == "__main__":
    unittest.main()
