# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""hamictl and a hamid that runs: over HTTPS, without an API server, and on a terminal."""

import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import cluster as clusters  # noqa: E402
import tap  # noqa: E402
from tap import equal, has  # noqa: E402


def test_over_https_both_show_a_certificate():
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=test",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                        certificate], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        cluster = clusters.Cluster("--tls-cert-file", certificate, "--tls-key-file", key,
                                   "--client-ca-file", certificate)
        try:
            url = f"https://{cluster.address}"
            done = cluster.hamictl("locks", "--hamid", url, "--hamid-ca-file", certificate,
                                   "--hamid-cert-file", certificate, "--hamid-key-file", key)
            equal(done.returncode, 0)
            done = cluster.hamictl("locks", "--hamid", url)
            equal(done.returncode, 1)
            has(done.stdout, "certificate")
            done = cluster.hamictl("locks", "--hamid", url, "--hamid-ca-file", certificate)
            equal(done.returncode, 1)
            done = cluster.hamictl("locks", "--hamid", f"http://{cluster.address}")
            equal(done.returncode, 1)
            has(done.stdout, "Then say https://")
        finally:
            cluster.end()


def test_without_an_api_server_hamid_alone_is_asked():
    cluster = clusters.Cluster().start_queue()
    try:
        nowhere = {"KUBECONFIG": "/does/not/exist", "HOME": "/does/not/exist"}
        hamid = ("--hamid", f"http://{cluster.other_address}")
        done = cluster.hamictl("explain", "train-2", *hamid, environment=nowhere)
        equal(done.returncode, 0)
        has(done.stdout, "hamid alone is asked")
        has(done.stdout, "place 2 of 2")
        has(done.stdout, "by pod default/train-0")
        done = cluster.hamictl("queue", "gpu-0", *hamid, "-o", "json", environment=nowhere)
        equal([waiter["pod"] for waiter in json.loads(done.stdout)["waiters"]],
              ["train-1", "train-2"])
        done = cluster.hamictl("explain", "train-2", environment=nowhere)
        equal(done.returncode, 1)
    finally:
        cluster.end()


def test_doctor_asks_whether_hamid_is_ready():
    cluster = clusters.Cluster().start_queue()
    try:
        _, found, report = cluster.doctor("--hamid", f"http://{cluster.other_address}")
        results = {check["check"]: check["result"] for check in report["checks"]}
        equal((results["hamid-ready"], "hamid-ready" in found), ("ok", False))
        code, found, _ = cluster.doctor("--hamid", "http://127.0.0.1:1")
        equal(code, 4)
        has(found["hamid-ready"][0]["what"], "could not ask hamid")
    finally:
        cluster.end()


def test_watch_and_queue_follow_a_lock_from_pod_to_pod():
    cluster = clusters.Cluster().start_queue()
    hamid = ("--hamid", f"http://{cluster.other_address}")
    watch = subprocess.Popen(
        [os.environ["HAMICTL"], "watch", "--interval", "20ms", "--for", "60s", *hamid],
        stdout=subprocess.PIPE, text=True, env={**os.environ,
                                                "KUBECONFIG": str(cluster.kubeconfig)})
    try:
        has(watch.stdout.readline(), "locked by default/train-0 (handed-off), 2 wait")
        cluster.annotate("gpu-0", {"hami.io/mutex.lock": None})  # as HAMi's plugin does
        lines = []
        while not lines or "default/train-1 (handed-off), 1 waits" not in lines[-1] \
                and "of default/train-1 is handed-off now, 1 waits" not in lines[-1]:
            lines.append(watch.stdout.readline())
        has("".join(lines), "gpu-0  hami.io/mutex.lock ")
        done = cluster.hamictl("queue", "gpu-0", *hamid)
        has(done.stdout, "by pod default/train-1")
        has(" ".join(done.stdout.split()), "1 default/train-2 ")
    finally:
        watch.terminate()
        watch.wait()
        cluster.end()


def on_terminal(cluster, *words, **environment):
    """What hamictl prints on a terminal of its own."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update({"KUBECONFIG": str(cluster.kubeconfig), "TERM": "xterm", **environment})
        os.execv(os.environ["HAMICTL"], ["hamictl", *words])
    printed = b""
    try:
        while chunk := os.read(terminal, 65536):
            printed += chunk
    except OSError:
        pass  # the other side has gone
    os.close(terminal)
    os.waitpid(pid, 0)
    return printed.decode()


def test_colours_are_for_terminals_and_not_against_no_color():
    cluster = clusters.Cluster()
    try:
        cluster.configure("apiVersion: v1\nkind: KubeSchedulerConfiguration\n")
        has(on_terminal(cluster, "doctor"), "\033[1;31merror")
        has(on_terminal(cluster, "doctor"), "\033[32mok")
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            printed = on_terminal(cluster, "doctor", **environment)
            has(printed, "error ")
            if "\033[" in printed:
                raise AssertionError(f"colours with {environment}")
        if "\033" in cluster.hamictl("doctor").stdout:
            raise AssertionError("colours in a pipe")
    finally:
        cluster.end()


if __name__ == "__main__":
    sys.exit(tap.run([value for name, value in list(globals().items())
                      if name.startswith("test_")]))
