# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from deploy import confined

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROFILE = ROOT / "deploy/seccomp/hamid.json"
HAMID = os.environ.get("HAMID", "")
# What somebody would like to have who has taken over the process.
NEVER = {"bpf", "chroot", "fork", "init_module", "kexec_load", "keyctl", "kill", "mount", "open_by_handle_at",
         "perf_event_open", "personality", "pivot_root", "process_vm_readv", "ptrace", "reboot",
         "setns", "swapon", "umount2", "unshare", "userfaultfd", "vfork"}


class Profile(unittest.TestCase):
    def setUp(self):
        self.profile = json.loads(PROFILE.read_text(encoding="utf-8"))
        self.names = confined.allowed(PROFILE)

    def test_what_is_not_named_is_refused(self):
        self.assertEqual(self.profile["defaultAction"], "SCMP_ACT_ERRNO")

    def test_names_are_in_order_and_there_once(self):
        self.assertEqual(self.names, sorted(set(self.names)))

    def test_nothing_is_allowed_that_only_an_intruder_needs(self):
        self.assertEqual(NEVER & set(self.names), set())

    @unittest.skipUnless(confined.library(), "libseccomp is not installed")
    def test_each_name_is_a_system_call(self):
        resolve = confined.library().seccomp_syscall_resolve_name
        unknown = [name for name in self.names if resolve(name.encode()) == confined.UNKNOWN]
        self.assertEqual(unknown, [])


@unittest.skipIf("HAMID_IS_INSTRUMENTED" in os.environ, "hamid is instrumented")
@unittest.skipUnless(HAMID and confined.library(), "needs HAMID and libseccomp")
class Confined(unittest.TestCase):
    def run_confined(self, *words):
        return subprocess.run([sys.executable, str(ROOT / "tests/deploy/confined.py"), str(PROFILE),
                               *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, timeout=60)

    def test_what_is_not_allowed_ends_a_program(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_confined(sys.executable, "-c", f"import os; os.mkdir('{folder}/new')")
        self.assertEqual(done.returncode, -signal.SIGSYS, done.stderr)

    def test_hamid_says_its_version(self):
        done = self.run_confined(HAMID, "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_hamid_scheduler_starts_answers_and_stops(self):
        with tempfile.TemporaryDirectory() as folder:
            kubeconfig = pathlib.Path(folder) / "kubeconfig"
            kubeconfig.write_text(json.dumps({
                "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}]}))
            address = pathlib.Path(folder) / "address"
            child = subprocess.Popen(
                [sys.executable, str(ROOT / "tests/deploy/confined.py"), str(PROFILE), HAMID,
                 "scheduler", "--listen=127.0.0.1:0", f"--kubeconfig={kubeconfig}",
                 f"--address-file={address}"], stderr=subprocess.PIPE, text=True)
            try:
                deadline = time.monotonic() + 60
                while not address.exists() and child.poll() is None:
                    self.assertLess(time.monotonic(), deadline, "it did not open its port")
                    time.sleep(0.02)
                where = address.read_text().split()[0] if address.exists() else "127.0.0.1:1"
                probed = self.run_confined(HAMID, "probe", where, "/livez")
            finally:
                child.terminate()
                log = child.communicate(timeout=60)[1]
        self.assertEqual((probed.returncode, child.returncode), (0, 0), log)
