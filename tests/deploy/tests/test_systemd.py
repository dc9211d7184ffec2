# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from deploy import confined

ROOT = pathlib.Path(__file__).resolve().parents[3]
UNITS = ROOT / "deploy/systemd"
HAMID = os.environ.get("HAMID", "")
# Of 100; systemd calls what is below 20 good. The node's runs as root, which alone is 4.
EXPOSURE = {"hamid-scheduler.service": 12, "hamid-node.service": 18}
# What a container runtime calls before it becomes hamid; systemd filters after that.
RUNTIMES = {"capget", "capset", "chdir", "setgid", "setgroups", "setuid"}


def analyze(*words):
    return subprocess.run(["systemd-analyze", *map(str, words)], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, check=False, timeout=60)


def members(name, known):
    """The system calls of a set of systemd's, sets in it included."""
    if not name.startswith("@"):
        return {name}
    if name not in known:
        known[name] = set()
        for line in analyze("syscall-filter", name).stdout.splitlines():
            word = line.strip()
            if line.startswith(" ") and not word.startswith("#"):
                known[name] |= members(word, known)
    return known[name]


def filtered(unit):
    """What the lines SystemCallFilter of a unit allow."""
    allowed, known = set(), {}
    for words in re.findall(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE):
        names = set().union(*(members(word, known) for word in words.lstrip("~").split()))
        allowed = allowed - names if words.startswith("~") else allowed | names
    return allowed | members("@default", known)


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
class Units(unittest.TestCase):
    def test_a_service_is_exposed_no_more_than_it_must_be(self):
        for name, most in EXPOSURE.items():
            done = analyze("security", "--offline=true", f"--threshold={most}", UNITS / name)
            self.assertEqual(done.returncode, 0, done.stdout[-300:])

    def test_a_service_that_is_not_confined_would_be_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            bare = pathlib.Path(folder) / "bare.service"
            bare.write_text("[Service]\nExecStart=/bin/true\n")
            done = analyze("security", "--offline=true", "--threshold=18", bare)
        self.assertNotEqual(done.returncode, 0)

    @unittest.skipUnless(HAMID, "HAMID names no program")
    def test_systemd_finds_nothing_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            copies = []
            for unit in sorted(UNITS.iterdir()):
                copies.append(pathlib.Path(folder) / unit.name)
                copies[-1].write_text(unit.read_text().replace("/usr/bin/hamid", HAMID))
            done = analyze("verify", "--man=no", *copies)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_the_filter_has_room_for_what_the_seccomp_profile_allows(self):
        needed = set(confined.allowed(ROOT / "deploy/seccomp/hamid.json")) - RUNTIMES
        for name in EXPOSURE:
            allowed = filtered((UNITS / name).read_text(encoding="utf-8"))
            self.assertGreater(len(allowed), 100)
            self.assertEqual(needed - allowed, set(), name)

    @unittest.skipUnless(HAMID, "HAMID names no program")
    def test_hamid_understands_what_a_service_tells_it(self):
        for name in EXPOSURE:
            unit = (UNITS / name).read_text(encoding="utf-8")
            words = re.search(r"^ExecStart=/usr/bin/hamid (.*)$", unit, re.MULTILINE)[1].split()
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write("v: 2\n")
                file.flush()
                words = [re.sub(r"/etc/hamid/.*", file.name, word) for word in words]
                done = subprocess.run([HAMID, *words, "--print-config"], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, check=False,
                                      env={"NODE_NAME": "n"}, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_kubelet_does_not_wait_for_the_service_that_waits_for_its_node(self):
        unit = (UNITS / "hamid-node.service").read_text(encoding="utf-8")
        self.assertIn("\nType=notify\n", unit)
        self.assertNotRegex(unit, r"(?m)^(Before|RequiredBy)=.*kubelet")

    def test_a_service_has_as_long_to_stop_as_hamid_takes(self):
        for name in EXPOSURE:
            self.assertIn("\nTimeoutStopSec=30\n", (UNITS / name).read_text(encoding="utf-8"))
