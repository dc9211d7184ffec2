# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""hamid in a container of runc's, as deploy/pods has it: no capability, nothing to write to, a user of
its own, and the seccomp profile of deploy/seccomp."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HAMID = os.environ.get("HAMID", "")
USER = 65532


def specification(words, folder, profile):
    """What a runtime is told for such a pod, on the network of this computer."""
    build = str(pathlib.Path(HAMID).resolve().parents[1])
    usr = [("/usr", "/usr"), (build, build), (str(folder / "shared"), "/shared")]
    mounts = [{"destination": where, "type": "bind", "source": source,
               "options": ["rbind", "rw" if where == "/shared" else "ro"]} for source, where in usr]
    return {
        "ociVersion": "1.0.2", "root": {"path": str(folder / "root"), "readonly": True},
        "process": {"args": words, "cwd": "/", "env": ["PATH=/usr/bin"], "noNewPrivileges": True,
                    "user": {"uid": USER, "gid": USER}, "capabilities": {}},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}, *mounts],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")],
                  **({"seccomp": profile} if profile else {})}}


@unittest.skipIf("HAMID_IS_INSTRUMENTED" in os.environ, "hamid is instrumented")
@unittest.skipUnless(HAMID and shutil.which("runc") and os.geteuid() == 0,
                     "needs HAMID, runc and root")
class Container(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        for part in ("root", "shared", "state"):
            (self.folder / part).mkdir()
        (self.folder / "shared").chmod(0o777)
        for name in ("lib", "lib64", "bin"):
            (self.folder / "root" / name).symlink_to(f"usr/{name}")
        self.profile = json.loads((ROOT / "deploy/seccomp/hamid.json").read_text())
        if self.run_to_its_end([HAMID, "--version"], None).returncode != 0:
            self.skipTest("runc runs no container here, confined or not")

    def start(self, words, profile):
        (self.folder / "config.json").write_text(
            json.dumps(specification(words, self.folder, profile)))
        name = f"hamid-{os.getpid()}-{time.monotonic_ns()}"
        runc = ["runc", "--root", str(self.folder / "state")]
        self.addCleanup(subprocess.run, [*runc, "delete", "--force", name], check=False,
                        stderr=subprocess.DEVNULL)
        return subprocess.Popen([*runc, "run", "--bundle", str(self.folder), name], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def run_to_its_end(self, words, profile):
        child = self.start(words, profile)
        said = child.communicate(timeout=60)[0]
        return subprocess.CompletedProcess(words, child.returncode, said)

    def test_hamid_runs_under_its_profile(self):
        done = self.run_to_its_end([HAMID, "--version"], self.profile)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("hamid ", done.stdout)

    def test_it_is_the_profile_that_is_in_force(self):
        for rule in self.profile["syscalls"]:
            rule["names"].remove("getrandom")
            rule["names"].remove("openat")
        done = self.run_to_its_end([HAMID, "--version"], self.profile)
        self.assertNotEqual(done.returncode, 0, done.stdout)

    def test_hamid_scheduler_serves_and_stops_there(self):
        shared = self.folder / "shared"
        (shared / "kubeconfig").write_text(json.dumps({
            "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}]}))
        child = self.start([HAMID, "scheduler", "--listen=127.0.0.1:0", "--address-file=/shared/a",
                            "--kubeconfig=/shared/kubeconfig"], self.profile)
        try:
            deadline = time.monotonic() + 60
            while not (shared / "a").exists() and child.poll() is None:
                self.assertLess(time.monotonic(), deadline, "it did not open its port")
                time.sleep(0.02)
            self.assertTrue((shared / "a").exists(), "it ended")
            connection = http.client.HTTPConnection((shared / "a").read_text().split()[0],
                                                    timeout=10)
            connection.request("GET", "/livez")
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()
        finally:
            child.send_signal(signal.SIGTERM)
            said = child.communicate(timeout=60)[0]
        self.assertEqual(child.returncode, 0, said)
