# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/release in a small checkout of its own, whose long runs are played."""

import datetime
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
VERSION = re.search(r"version: '(.*)'", (ROOT / "meson.build").read_text(encoding="utf-8"))[1]
NEVER = "99.0.0"


def load():
    loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "scripts/release"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    loader.exec_module(module)
    return module


RELEASE = load()


@unittest.skipUnless(shutil.which("git"), "needs git")
class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("scripts/release", *RELEASE.PLACES):
            if (ROOT / name).exists():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.root / name)
        self.changes(f"## [Unreleased]\n\n## [{VERSION}] - {datetime.date.today()}\n\n- All of it.\n")
        for name in ("deploy/render", "scripts/check", ".ci/run", "scripts/nightly"):
            self.program(name, "exit 0")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()

    def changes(self, text):
        (self.root / "CHANGELOG.md").write_text(f"# Changes\n\n{text}", encoding="utf-8")

    def program(self, name, text):
        file = self.root / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.root, check=True, stdout=subprocess.PIPE,
                              text=True, env=self.environment).stdout.strip()

    @property
    def environment(self):
        # Nothing of the git of whoever runs this.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return {**kept, "HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
                "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "All")

    def release(self, *words):
        done = subprocess.run([self.root / "scripts/release", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, env=self.environment)
        return done.returncode, done.stdout

    def refused(self, text, *words):
        code, said = self.release(*(words or (VERSION, "--dry-run")))
        self.assertEqual(code, 1, said)
        self.assertIn(text, said)
        self.assertEqual(self.git("tag"), "")

    def test_a_tree_that_is_ready_gets_its_tag_after_its_runs(self):
        code, said = self.release(VERSION)
        self.assertEqual(code, 0, said)
        self.assertEqual(self.git("tag"), f"v{VERSION}")
        self.assertEqual(self.git("cat-file", "-t", f"v{VERSION}"), "tag")
        self.assertIn(f"git push origin v{VERSION}", said)

    def test_a_dry_run_runs_nothing_and_tags_nothing(self):
        self.program(".ci/run", "exit 1")
        self.commit()
        code, said = self.release(VERSION, "--dry-run")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.git("tag"), "")
        self.assertIn(f"git tag --annotate v{VERSION}", said)

    def test_a_run_that_fails_is_the_end(self):
        self.program(".ci/run", "exit 3")
        self.commit()
        self.refused(".ci/run ended with code 3", VERSION)

    def test_each_place_that_says_another_version_is_named(self):
        code, said = self.release(NEVER, "--dry-run")
        self.assertEqual(code, 1)
        for name in RELEASE.PLACES:
            if (self.root / name).exists():
                self.assertIn(f"{name} has nothing like", said)

    def test_a_change_log_without_a_date_is_refused(self):
        self.changes(f"## [Unreleased]\n\n## [{VERSION}] - Unreleased\n\n- All of it.\n")
        self.commit()
        self.refused("has no date")

    def test_a_change_log_of_tomorrow_is_refused(self):
        tomorrow = datetime.date.today() + datetime.timedelta(days=2)
        self.changes(f"## [Unreleased]\n\n## [{VERSION}] - {tomorrow}\n\n- All of it.\n")
        self.commit()
        self.refused("which is to come")

    def test_a_change_log_that_lists_nothing_is_refused(self):
        self.changes(f"## [{VERSION}] - 2026-01-01\n\n## [0.0.1] - 2025-01-01\n\n- Something.\n")
        self.commit()
        self.refused(f"the section [{VERSION}] lists nothing")
        self.refused("has no section [Unreleased]")

    def test_manifests_that_are_not_the_charts_are_refused(self):
        self.program("deploy/render", "echo stand-alone.yaml differs; exit 1")
        self.commit()
        self.refused("stand-alone.yaml differs")

    def test_what_is_not_committed_is_refused(self):
        (self.root / "new").write_text("new\n")
        self.refused("not committed: ?? new")

    def test_another_branch_is_refused(self):
        self.git("checkout", "--quiet", "-b", "other")
        self.refused("this is other")

    def test_a_version_is_released_once_and_never_after_a_later_one(self):
        self.git("tag", f"v{NEVER}")
        code, said = self.release(VERSION, "--dry-run")
        self.assertEqual(code, 1)
        self.assertIn(f"there is a tag v{NEVER}", said)

    def test_what_is_no_version_is_refused(self):
        for word in ("1", "1.2", "v1.2.3", "01.2.3", "1.2.3-rc1"):
            code, said = self.release(word)
            self.assertEqual(code, 2, said)

    def test_every_place_of_this_checkout_says_the_version_of_the_build(self):
        self.assertEqual(list(RELEASE.wrong_versions(VERSION)), [])
