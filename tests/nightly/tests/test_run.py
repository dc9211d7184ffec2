# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What a part says is counted, and nothing else passes."""

import contextlib
import io
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest
from unittest import mock

from nightly import parts, record, run


class Judging(unittest.TestCase):
    def test_a_part_that_counts_is_taken_at_its_last_word(self):
        self.assertEqual(run.judge(0, ["3 passed, 0 failed", "812 passed, 0 failed"]),
                         ("passed", 812, 0, 0))

    def test_failures_of_a_part_are_counted(self):
        self.assertEqual(run.judge(1, ["810 passed, 2 failed"]), ("failed", 810, 2, 0))

    def test_skipped_tests_are_told(self):
        self.assertEqual(run.judge(0, ["# [ 12.5 s] 4 skipped, not counted", "9 passed, 0 failed"]),
                         ("passed", 9, 0, 4))

    def test_a_part_that_counts_nothing_is_one_pass_or_one_failure(self):
        self.assertEqual(run.judge(0, []), ("passed", 1, 0, 0))
        self.assertEqual(run.judge(1, []), ("failed", 0, 1, 0))

    def test_a_bad_end_is_a_failure_whatever_the_part_says(self):
        self.assertEqual(run.judge(-9, ["9 passed, 0 failed"]), ("failed", 9, 1, 0))

    def test_a_part_that_tried_nothing_has_failed(self):
        self.assertEqual(run.judge(0, ["0 passed, 0 failed"]), ("failed", 0, 1, 0))

    def test_a_part_that_can_not_run_on_this_computer_is_no_pass(self):
        self.assertEqual(run.judge(77, []), ("not there", 0, 0, 0))


class Parts(unittest.TestCase):
    def test_have_names_and_commands_of_their_own(self):
        self.assertEqual(len(set(parts.NAMES)), len(parts.PARTS))
        self.assertEqual(len({part.command for part in parts.PARTS}), len(parts.PARTS))

    def test_a_script_that_is_missing_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            part = parts.Part("x", "scripts/x --seed {seed}", "")
            self.assertEqual(part.missing(pathlib.Path(folder)), "scripts/x")
            (pathlib.Path(folder) / "scripts").mkdir()
            (pathlib.Path(folder) / "scripts/x").touch()
            self.assertEqual(part.missing(pathlib.Path(folder)), "")
            self.assertEqual(part.arguments(7), ["scripts/x", "--seed", "7"])

    def test_a_program_that_is_missing_is_named(self):
        part = parts.Part("x", "scripts/nightly", "", needs=("no-such-program-of-ours",))
        self.assertEqual(part.missing(), "no-such-program-of-ours")

    def test_versions_are_those_that_the_programs_tell(self):
        self.assertRegex(parts.version("cc"), r"^\S+ \d+\.\d+")
        self.assertEqual(parts.version("no-such-program-of-ours"), "")


class Signals(unittest.TestCase):
    def test_each_that_asks_to_end_interrupts_the_part(self):
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for number in numbers:
            self.addCleanup(signal.signal, number, signal.signal(number, signal.SIG_IGN))
        run.end_on_signals()
        for number in numbers:
            with self.subTest(number), self.assertRaises(KeyboardInterrupt):
                signal.raise_signal(number)


class Whole(unittest.TestCase):
    """Runs of small parts, from the command to the table."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "scripts").mkdir()
        self.table = self.root / "nightly.md"
        self.script("bootstrap", "exit 0")
        self.script("counts", 'echo "5 passed, 0 failed"')
        self.script("fails", "echo nothing good; exit 3")
        chosen = [parts.Part("counts", "scripts/counts", ""),
                  parts.Part("fails", "scripts/fails", ""),
                  parts.Part("absent", "scripts/absent", "")]
        for name, value in (("ROOT", self.root), ("PARTS", chosen),
                            ("NAMES", [part.name for part in chosen]),
                            ("commit", lambda: "abcdef0123")):
            patch = mock.patch.object(parts, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        missing = mock.patch.object(parts.Part.missing, "__defaults__", (self.root,))
        missing.start()
        self.addCleanup(missing.stop)

    def script(self, name, text):
        path = self.root / "scripts" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def run_with(self, *words):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = run.main([f"--record={self.table}", *words])
        return code, said.getvalue().splitlines()

    def rows(self):
        return record.parse(self.table.read_text(encoding="utf-8"))

    def test_all_parts_are_run_and_written_down(self):
        code, said = self.run_with()
        self.assertEqual((code, said[-1]), (1, "5 passed, 1 failed"))
        self.assertEqual([row.result for row in self.rows().values()],
                         ["passed", "failed", "not there"])

    def test_parts_chosen_leave_the_rows_of_the_others(self):
        self.run_with()
        self.script("fails", "exit 0")
        code, said = self.run_with("--only=fails")
        self.assertEqual((code, said[-1]), (0, "1 passed, 0 failed"))
        self.assertEqual([row.result for row in self.rows().values()],
                         ["passed", "passed", "not there"])

    def test_what_is_not_there_alone_is_no_success(self):
        code, said = self.run_with("--only=absent")
        self.assertEqual((code, said[-1]), (1, "0 passed, 0 failed"))

    def test_nothing_is_written_where_that_is_asked_for(self):
        self.run_with("--no-record", "--only=counts")
        self.assertFalse(self.table.exists())

    def test_a_table_that_can_not_be_read_is_told_before_anything_runs(self):
        self.table.write_text("| soak | fine |\n")
        code, said = self.run_with()
        self.assertEqual(code, 2)
        self.assertFalse(any(line.startswith("==") for line in said))

    def test_an_interruption_ends_the_part_and_what_it_started(self):
        held = self.root / "held"
        os.mkfifo(held)
        reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.script("counts", f"trap '' TERM; exec 9>{held}; sleep 600 & echo begun; wait")

        class Interrupted(subprocess.Popen):
            """A part that is interrupted once it has begun."""
            def __init__(self, *arguments, **more):
                super().__init__(*arguments, **more)
                if more.get("start_new_session"):
                    begun, self.stdout = self.stdout, mock.MagicMock()
                    self.stdout.__iter__.side_effect = lambda: self.interrupt(begun)

            @staticmethod
            def interrupt(begun):
                with begun:
                    begun.readline()
                raise KeyboardInterrupt

        with mock.patch.object(subprocess, "Popen", Interrupted), \
                mock.patch.object(run, "END_SECONDS", 0.2):
            code, said = self.run_with("--only=counts")
        self.assertEqual((code, said[-1]), (1, "0 passed, 1 failed"))
        self.assertEqual(self.rows()["counts"].result, "interrupted")
        os.set_blocking(reader, True)
        self.assertEqual(os.read(reader, 1), b"")  # comes once nobody holds the other end
