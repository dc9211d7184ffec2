# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What a stand-in under test talks to: a simulated API server and a binder that obeys."""

import base64
import http.client
import http.server
import json
import os
import pathlib
import re
import select
import ssl
import subprocess
import tempfile
import threading
import time

BUILD = pathlib.Path(os.environ.get("HAMI_BUILD", "build"))
NODES = ["gpu-0", "gpu-1"]
PATIENCE = 60


def authority(kubeconfig):
    """The PEM text by which the server of a kubeconfig is known."""
    text = kubeconfig.read_text(encoding="utf-8")
    return base64.b64decode(
        re.search(r"certificate-authority-data: (\S+)", text)[1]).decode()


class Server:
    """kubesim in a folder of its own."""

    def __init__(self, nodes=NODES):
        self.temporary = tempfile.TemporaryDirectory(prefix="hami-standins-")
        self.folder = pathlib.Path(self.temporary.name)
        self.child = subprocess.Popen(
            [BUILD / "tests/kubesim/kubesim", "--directory", self.folder,
             "--exit-with-parent", *(word for node in nodes for word in ("--node", node))],
            stdout=subprocess.PIPE)
        # It prints one line when it is ready, and its files are written by then.
        if not select.select([self.child.stdout], [], [], PATIENCE)[0]:
            raise RuntimeError("kubesim did not start")
        ready = json.loads(self.child.stdout.readline())
        text = self.kubeconfig.read_text(encoding="utf-8")
        self.token = re.search(r"token: (\S+)", text)[1]
        self.port = ready["port"]
        self.context = ssl.create_default_context(cadata=authority(self.kubeconfig))

    @property
    def kubeconfig(self):
        return self.folder / "kubeconfig"

    def request(self, method, path, body=None, kind="application/json"):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE,
                                                 context=self.context)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {
                "Authorization": f"Bearer {self.token}", "Content-Type": kind,
                "User-Agent": "test"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def bind(self, call):
        return self.request(
            "POST", f"/api/v1/namespaces/{call['PodNamespace']}/pods/{call['PodName']}/binding",
            {"apiVersion": "v1", "kind": "Binding",
             "metadata": {"name": call["PodName"], "uid": call["PodUID"]},
             "target": {"apiVersion": "v1", "kind": "Node", "name": call["Node"]}})

    def serve(self, call):
        """What the node side leaves when a pod's last Allocate is over."""
        return self.request(
            "PATCH", f"/api/v1/namespaces/{call['PodNamespace']}/pods/{call['PodName']}",
            {"metadata": {"annotations": {"hami.io/bind-phase": "success"}}},
            "application/merge-patch+json")

    def log(self):
        """Ends the server; answers every request that it had, in order."""
        self.child.terminate()
        self.child.wait(PATIENCE)
        with open(self.folder / "audit.log", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def close(self):
        self.child.kill()
        self.child.wait(PATIENCE)
        self.child.stdout.close()
        self.temporary.cleanup()


class Binder:
    """An extender whose answers a test makes: DECIDE(call, number) gives the Error text.

    number counts the calls for that pod from 1. A DECIDE that waits parks the call.
    """

    def __init__(self, decide):
        self.decide = decide
        self.calls = []
        self.moments = []
        self.lock = threading.Lock()
        binder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One bind call."""

            def do_POST(self):
                call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                number = binder.note(call)
                text = json.dumps({"Error": binder.decide(call, number)}).encode()
                try:
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            """Room for a burst's connections; parked calls don't hold up its end."""

            request_queue_size = 128
            daemon_threads = True
            block_on_close = False

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,),
                                       daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def note(self, call):
        with self.lock:
            self.calls.append(call)
            self.moments.append(time.monotonic())
            return sum(one["PodName"] == call["PodName"] for one in self.calls)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def schedule(server, binder, *words):
    """Runs standin-scheduler to its end; answers its exit status and its lines."""
    done = subprocess.run(
        [BUILD / "tests/standins/standin-scheduler", f"--kubeconfig={server.kubeconfig}",
         f"--binder={binder.url}", "--progress", *words],
        stdout=subprocess.PIPE, timeout=PATIENCE, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def wait_for(is_true):
    """Asks again and again until it is true, or until patience ends."""
    deadline = time.monotonic() + PATIENCE
    pause = threading.Event()
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not become true in time")
        pause.wait(0.01)
