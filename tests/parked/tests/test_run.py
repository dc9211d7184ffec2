# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The run with parked binds, in small: scripts/soak --parked runs the large one."""

import contextlib
import io
import json
import os
import pathlib
import socket
import subprocess
import sys
import unittest

from parked import run, sockets

PROGRAM = pathlib.Path(run.__file__)
# A sanitizer's own memory is many times what hamid needs.
RSS_LIMIT = 4000 if os.environ.get("HAMI_SANITIZED") else 40


def soak(*words):
    """Exit status, standard error, and the JSON of the last line."""
    done = subprocess.run([sys.executable, "-B", PROGRAM, "--json", *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    lines = done.stdout.splitlines()
    return done.returncode, done.stderr, json.loads(lines[-1]) if lines else {}


class RunTest(unittest.TestCase):
    """Real processes."""

    def test_500_binds_are_parked_at_one_moment_and_served_in_order(self):
        code, errors, found = soak("--parked=500", "--nodes=20", f"--rss-limit={RSS_LIMIT}",
                                   f"--tls-rss-limit={2 * RSS_LIMIT}")
        self.assertEqual(code, 0, errors)
        for kind in ("", "tls_"):
            self.assertEqual([found[kind + name] for name in
                              ("parked", "served", "order_violations", "failed")],
                             [500, 500, 0, 0])
            self.assertGreaterEqual(found[kind + "established"], 500)
            self.assertGreater(found[kind + "rss_mb"], 1)

    def test_more_memory_than_is_allowed_fails_the_run(self):
        code, errors, found = soak("--parked=20", "--nodes=4", "--rss-limit=1",
                                   "--plain-only")
        self.assertEqual((code, found["served"]), (1, 20), errors)

    def test_a_hard_limit_of_files_that_is_too_low_is_told(self):
        script = ("import resource, runpy, sys\n"
                  "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))\n"
                  "sys.argv[1:] = ['--parked=500']\n"
                  f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')")
        done = subprocess.run([sys.executable, "-B", "-c", script], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("need 756 open files, and the hard limit is 200", done.stderr)


class SocketsTest(unittest.TestCase):
    """What the kernel is asked."""

    def test_a_process_has_only_its_own_connections(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            self.assertEqual(sockets.established(os.getpid(), port), 0)
            with contextlib.ExitStack() as stack:
                for _ in range(3):
                    stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                    stack.enter_context(listener.accept()[0])
                self.assertEqual(sockets.established(os.getpid(), port), 3)
                self.assertEqual(sockets.established(1, port), 0)

    def test_memory_is_that_of_the_process(self):
        self.assertGreater(sockets.memory_mb(os.getpid()), 5)


class ArgumentsTest(unittest.TestCase):
    """The command line."""

    def test_nonsense_is_refused(self):
        for words in (["--parked=0"], ["--nodes=x"], ["--parked=99999"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                run.read_arguments(words)

    def test_each_figure_of_a_bad_run_fails_it(self):
        asked = run.read_arguments(["--parked=10"])
        one = {"parked": 10, "served": 10, "order_violations": 0, "failed": 0, "rss_mb": 100}
        good = {**one, **{f"tls_{name}": value for name, value in one.items()}}
        self.assertTrue(run.is_good(asked, good))
        for name, value in (("parked", 9), ("served", 9), ("order_violations", 1),
                            ("failed", 1), ("rss_mb", 100.1), ("tls_served", 9),
                            ("tls_order_violations", 1), ("tls_rss_mb", 500.1)):
            self.assertFalse(run.is_good(asked, {**good, name: value}), name)


if __name__ == "__main__":
    unittest.main()
