# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""docs/hamictl.md says what hamictl prints: each of its commands is run and compared.

Ages, times, tokens and the width of columns may differ. With --update the file is written anew.
"""

import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import tap  # noqa: E402
import world  # noqa: E402
from tap import equal, has  # noqa: E402

MANUAL = pathlib.Path(os.environ["SOURCE"]) / "docs/hamictl.md"
BLOCK = re.compile(r"```console\n\$ (hamictl [^\n]*)\n(.*?)```", re.DOTALL)
ADDRESS = "http://127.0.0.1:8080"
ANY_TOKEN = "0123456789abcdef"
PODS = ("train-0", "train-1", "train-2")


class Cluster(world.World):
    """train-0 is bound to gpu-0 and never served, the others wait; gpu-1 has a lost lock."""

    def __init__(self):
        super().__init__()
        folder = pathlib.Path(self.folder.name)
        self.annotate("gpu-1", {"hami.io/mutex.lock": "2026-01-02T03:04:05Z,default,gone"})
        addresses = folder / "addresses"
        self.hamid = subprocess.Popen(
            [os.environ["HAMID"], "scheduler", "--kubeconfig", self.kubeconfig, "--listen",
             "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--address-file", addresses,
             "--patience", "600s", "--stall-limit", "0s"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.until(addresses.exists)
        self.address = addresses.read_text().split()[0]
        self.until(lambda: self.ask("GET", "/readyz")[0] == 200)
        self.callers = []
        for number, name in enumerate(PODS):
            self.bind(name)
            self.until(lambda number=number: self.shows(number))

    @staticmethod
    def until(is_so):
        end = time.monotonic() + 30
        while not is_so():
            if time.monotonic() > end:
                raise AssertionError("it did not come about within 30 s")
            threading.Event().wait(0.02)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.address, timeout=120)
        try:
            connection.request(method, path, json.dumps(body) if body else None,
                               {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def bind(self, name):
        pod = self.post("/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": {"hami.io/vgpu-node": "gpu-0"}},
            "spec": {"containers": [{"name": "c", "image": "none", "resources": {
                "limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}}]}})
        words = {"PodName": name, "PodNamespace": "default", "Node": "gpu-0",
                 "PodUID": pod["metadata"]["uid"]}
        caller = threading.Thread(target=self.ask, args=("POST", "/bind", words), daemon=True)
        caller.start()
        self.callers.append(caller)

    def shows(self, waiters):
        """train-0 is bound, and so many wait."""
        nodes = {node["node"]: node
                 for node in json.loads(self.ask("GET", "/v1/locks")[1])["nodes"]}
        node = nodes.get("gpu-0", {"slots": [], "waiters": []})
        return len(node["waiters"]) == waiters and \
            any(slot["state"] == "handed-off" and (
                waiters == 0 or "Allocate" in slot["reason"]) for slot in node["slots"])

    def token_of(self, node):
        done = self.hamictl("locks", "--node", node, "-o", "json")
        return json.loads(done.stdout)[0]["slots"][0]["token"]

    def end(self):
        self.hamid.terminate()
        self.hamid.wait()
        super().end()


def plain(text):
    """What may differ taken out."""
    text = re.sub(r"\b[0-9a-f]{16}\b", "TOKEN", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "TIME", text)
    text = re.sub(r"\b\d+d\b", "AGE", text)
    text = re.sub(r"\b(\d+h)?(\d+m)?\d+(\.\d+)?s\b", "AGE", text)
    text = re.sub(r"\bfence \d+", "fence N", text)
    return text.split()


def run(cluster, command):
    words = command.replace(ADDRESS, f"http://{cluster.address}").split()[1:]
    if ANY_TOKEN in words:
        words[words.index(ANY_TOKEN)] = cluster.token_of(words[1])
    configuration = pathlib.Path(cluster.folder.name) / "scheduler.yaml"
    configuration.write_text(world.CONFIGURATION.replace("600s", "30s"))
    words = [str(configuration) if word == "scheduler.yaml" else word for word in words]
    printed = cluster.hamictl(*words).stdout
    return printed.replace(f"http://{cluster.address}", ADDRESS).replace(
        str(configuration), "scheduler.yaml")


def test_each_command_of_the_manual_prints_what_stands_there():
    text = MANUAL.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    equal({command.split()[1] for command, _ in blocks},
          {"locks", "queue", "explain", "release", "watch", "doctor"})
    cluster = Cluster()
    try:
        for command, said in blocks:
            printed = run(cluster, command)
            if "--update" in sys.argv:
                printed = re.sub(r"[ ]+$", "", printed, flags=re.MULTILINE)
                text = text.replace(f"$ {command}\n{said}```", f"$ {command}\n{printed}```", 1)
            elif plain(printed) != plain(said):
                raise AssertionError(f"{command} prints\n{printed}\nand not\n{said}")
    finally:
        cluster.end()
    MANUAL.write_text(text, encoding="utf-8") if "--update" in sys.argv else None


def test_the_manual_names_each_check_of_doctor_and_no_other():
    text = MANUAL.read_text(encoding="utf-8")
    table = text[text.index("| check | finds |"):text.index("A check that could not look")]
    named = set(re.findall(r"`([a-z-]+)`", "".join(
        line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))))
    control_plane = world.World()
    try:
        report = json.loads(control_plane.hamictl("doctor", "-o", "json").stdout)
    finally:
        control_plane.end()
    equal(named - {"node-rights"}, {check["check"] for check in report["checks"]})


def test_the_manual_names_each_command():
    listed = subprocess.run([os.environ["HAMICTL"], "--help"], text=True, check=True,
                            stdout=subprocess.PIPE).stdout
    text = MANUAL.read_text(encoding="utf-8")
    for command in re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE):
        has(text, f"[`{command}")


if __name__ == "__main__":
    sys.exit(tap.run([value for name, value in list(globals().items())
                      if name.startswith("test_")]))
