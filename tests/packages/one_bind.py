# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""One pod is bound by a hamid that was built, packed or installed somewhere else than here.

one_bind.py --kubesim PROGRAM [--root DIR] COMMAND...: COMMAND is hamid and what it is run by; with
--root it is run in there, and finds nothing but what is in there.
"""

import argparse
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))

import kubesim_server  # noqa: E402

NODE = "node-1"
LIMIT = 60


class Failure(Exception):
    """Something that was to come about did not."""


def until(what, is_so):
    end = time.monotonic() + LIMIT
    while not is_so():
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {LIMIT} s")
        threading.Event().wait(0.05)


class Server(kubesim_server.Server):
    """One with what is to be bound."""

    def pod(self):
        return self.ask("POST", "/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "pod-1", "annotations": {"hami.io/vgpu-node": NODE}},
            "spec": {"containers": [{"name": "main", "image": "example.com/none", "resources": {
                "limits": {"nvidia.com/gpu": "1"}}}]}})["metadata"]["uid"]


class Hamid:
    """The program under test; its files are where it sees them."""

    def __init__(self, asked, folder):
        self.seen = pathlib.Path("/") if asked.root else folder
        self.prefix = ["chroot", str(asked.root)] if asked.root else []
        self.command = asked.command
        self.folder = folder

    def run(self, *words):
        done = subprocess.run([*self.prefix, *self.command, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT, check=False)
        return done.returncode, done.stdout

    def start(self):
        self.child = subprocess.Popen(
            [*self.prefix, *self.command, "scheduler", "--kubeconfig", self.seen / "kubeconfig",
             "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--address-file",
             self.seen / "addresses", "--patience", "30s"], stderr=subprocess.PIPE, text=True)
        addresses = self.folder / "addresses"
        until("hamid listens", lambda: addresses.exists() or self.child.poll() is not None)
        if self.child.poll() is not None:
            raise Failure("hamid ended: " + self.child.stderr.read())
        self.address, self.metrics = addresses.read_text(encoding="utf-8").split()

    def ready(self):
        return self.run("probe", self.metrics)[0] == 0

    def bind(self, uid):
        connection = http.client.HTTPConnection(self.address, timeout=LIMIT)
        connection.request("POST", "/bind", json.dumps(
            {"PodName": "pod-1", "PodNamespace": "default", "Node": NODE, "PodUID": uid}),
            {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def check(good, sentence, detail=""):
    if not good:
        raise Failure(f"not so: {sentence}: {detail}")
    print(f"so: {sentence}")


def trial(server, hamid):
    code, said = hamid.run("--help")
    check(code == 0 and "scheduler" in said and "node" in said, "hamid tells its roles", said)
    hamid.start()
    until("hamid is ready", hamid.ready)
    check(hamid.ready(), "hamid probe finds it ready")
    status, answer = hamid.bind(server.pod())
    check(status == 200 and not answer.get("Error"), "hamid binds a pod", answer)
    pod = server.ask("GET", "/api/v1/namespaces/default/pods/pod-1")
    check(pod["spec"].get("nodeName") == NODE, "the pod is on the node", pod["spec"])
    lock = server.ask("GET", f"/api/v1/nodes/{NODE}")["metadata"]["annotations"]
    check(lock.get("hami.io/mutex.lock", "").endswith(",default,pod-1"),
          "the node is locked for it", lock)
    hamid.child.terminate()
    check(hamid.child.wait(LIMIT) == 0, "hamid ends when it is told to", hamid.child.returncode)
    code, said = hamid.run("probe", hamid.metrics)
    check(code == 1, "hamid probe finds that it is gone", said)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubesim", type=pathlib.Path, required=True)
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hami-bind-") as temporary:
        folder = asked.root or pathlib.Path(temporary)
        server = Server(asked.kubesim, folder, "--node", NODE)
        hamid = Hamid(asked, folder)
        try:
            trial(server, hamid)
        except Failure as failure:
            print(failure)
            return 1
        finally:
            if getattr(hamid, "child", None) and hamid.child.poll() is None:
                hamid.child.kill()
                hamid.child.wait()
            server.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
