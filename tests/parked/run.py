# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Thousands of binds parked in one hamid at a time, then served: order, memory, sockets.

    run.py --parked 10000 --nodes 100 --json

A real `hamid scheduler` before a simulated API server, both processes of their own on loopback.
One pod of each node is bound first and holds its node's lock. Then all callers connect, and when
all are connected each sends one bind, in an order that is known. When the kernel sees all
connections established in hamid and hamid sees all binds waiting, the nodes' device plugins
start, and every bind is served in its turn.

All of it is run twice: over plain HTTP, and over TLS with certificates of the callers. Members of
the second one begin with tls_. OpenSSL keeps some kilobytes for each connection, so that its
limit of memory is another one.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import ssl
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "standins"))

from cluster import api, certificates, processes  # noqa: E402
from demo import building  # noqa: E402
from parked import callers, judge, node_side, sockets  # noqa: E402
from tests import peers  # noqa: E402

building.BUILD = peers.BUILD.resolve()
# It has the C library write to all memory that is ever asked for: no measure then.
os.environ.pop("MALLOC_PERTURB_", None)

START_SECONDS = 60
PATIENCE = "1h"  # of the callers: nobody is sent away
SCHEDULER = "hami-scheduler"
RESOURCE = "nvidia.com/gpu"


class World:
    """The processes of one run, in a folder of its own. A context manager."""

    def __init__(self, asked, has_tls=False):
        self.asked = asked
        self.has_tls = has_tls
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hami-parked-"))
        self.group = processes.Group(self.folder)
        self.nodes = [f"node-{number}" for number in range(asked.nodes)]
        self.uids = {}
        self.port = None
        self.hamid = None
        self.command = []  # that starts hamid
        self.address = None
        self.metrics = None
        self.context = None  # of callers; None = plain HTTP

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.group.close()
        if not self.asked.keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    # ---- the API server ----------------------------------------------------------

    def start_server(self):
        child = self.group.start("kubesim", [
            building.program("tests/kubesim/kubesim"), "--directory", self.folder,
            "--nodes", len(self.nodes), "--user", "hamid",
            # Nobody is to lose its watch for want of history.
            "--history", max(20000, 12 * self.asked.parked)])
        self.group.wait_until("kubesim", child, (self.folder / "ready").exists, START_SECONDS)
        self.port = json.loads((self.folder / "ready").read_text(encoding="utf-8"))["port"]
        (self.folder / "authority.pem").write_text(
            peers.authority(self.folder / "kubeconfig"), encoding="ascii")

    def client(self):
        return api.Client(self.port, self.folder / "authority.pem", "admin", agent="test")

    def create_pod(self, client, name, node):
        metadata = {"name": name, "namespace": "default", "annotations": {
            "hami.io/vgpu-node": node,
            "hami.io/vgpu-devices-to-allocate": f"GPU-{node}-0,NVIDIA,1024,5:;"}}
        resources = {"limits": {RESOURCE: "1"}, "requests": {RESOURCE: "1"}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {
            "schedulerName": SCHEDULER, "containers": [
                {"name": "work", "image": "registry.example/work:1", "resources": resources}]}}
        made = client.need("POST", "/api/v1/namespaces/default/pods", pod)
        self.uids[name] = made.metadata["uid"]

    def create_pods(self, pods):
        client = self.client()
        for node, name in pods:
            self.create_pod(client, name, node)
        client.close()

    def audit(self):
        client = self.client()
        client.need("POST", "/kubesim/flush", {})
        client.close()
        with open(self.folder / "audit.log", encoding="utf-8") as log:
            # Only Bindings are looked at; a log of these sizes takes its time to read.
            return [json.loads(line) for line in log
                    if line.endswith("\n") and '"binding"' in line]

    # ---- hamid -------------------------------------------------------------------

    def _tls_flags(self):
        if not self.has_tls:
            return []
        made = certificates.make(self.folder / "certificates")
        self.context = ssl.create_default_context(cafile=str(made / "ca.crt"))
        self.context.load_cert_chain(made / "admin.crt", made / "admin.key")
        return [f"--tls-cert-file={made / 'server.crt'}",
                f"--tls-key-file={made / 'server.key'}", f"--client-ca-file={made / 'ca.crt'}"]

    def start_hamid(self, *flags):
        addresses = self.folder / "address"
        self.hamid = self.group.start("hamid", [
            *self.command, building.program("daemon/hamid"), "scheduler",
            "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", f"--address-file={addresses}",
            f"--kubeconfig={self.folder / 'kubeconfig-hamid'}",
            f"--patience={PATIENCE}", f"--scheduler-name={SCHEDULER}",
            f"--managed-resource={RESOURCE}", "--stall-limit=0", "--v=0", *self._tls_flags(), *flags])
        wait = self.group.wait_until
        wait("hamid", self.hamid, addresses.exists, START_SECONDS)
        self.address, self.metrics = addresses.read_text(encoding="ascii").split()
        wait("hamid", self.hamid, self._is_ready, START_SECONDS)

    def _get(self, path):
        """Status and text, from the listener that asks nobody for a certificate."""
        connection = (http.client.HTTPConnection(self.metrics, timeout=START_SECONDS)
                      if self.context is None else http.client.HTTPSConnection(
                          self.metrics, timeout=START_SECONDS, context=self.context))
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def _is_ready(self):
        try:
            return self._get("/readyz")[0] == 200
        except OSError:
            return False

    def request_text(self, node, name):
        body = json.dumps({"PodName": name, "PodNamespace": "default",
                           "PodUID": self.uids[name], "Node": node}).encode()
        return (f"POST /bind HTTP/1.1\r\nHost: {self.address}\r\n"
                "Content-Type: application/json\r\nUser-Agent: kube-scheduler/parked\r\n"
                f"Accept-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body

    def gauge(self, name):
        return int(re.search(rf"^{name} (\d+)$", self._get("/metrics")[1], re.MULTILINE)[1])


def error_of(status, body):
    """"" for a bind that was answered with success."""
    if status != 200:
        return f"status {status}: {body[:200].decode(errors='replace')}"
    return json.loads(body).get("Error", "")


def hold_nodes(world):
    """One pod of each node is bound and keeps its lock until device plugins run."""
    holders = [(node, f"holder-{node}") for node in world.nodes]
    world.create_pods(holders)
    first = callers.Callers(world.address, world.context)
    first.open(len(holders), START_SECONDS)
    first.send([world.request_text(*holder) for holder in holders])
    for _, _, status, body in first.answers(START_SECONDS):
        error = error_of(status, body)
        if error:
            raise processes.Failed(f"a first pod was not bound: {error}")
    first.close()


def park(world, pods, crowd):
    """Opens all connections, sends all binds; answers the counts of one moment."""
    port = int(world.address.rpartition(":")[2])
    crowd.open(len(pods), world.asked.seconds)
    connected = sockets.established(world.hamid.pid, port)
    world.say(f"{connected} connections established in hamid")
    crowd.send([world.request_text(*pod) for pod in pods])

    def all_wait():
        crowd.expect_silence()
        return world.gauge("hamid_lock_waiters") == len(pods)

    world.group.wait_until("hamid", world.hamid, all_wait, world.asked.seconds)
    # While each of them is known to wait: after that moment none had left.
    connected = sockets.established(world.hamid.pid, port)
    waiting = world.gauge("hamid_lock_waiters")
    world.say(f"{waiting} binds wait, {connected} connections established in hamid, "
              f"{sockets.memory_mb(world.hamid.pid, 'VmRSS'):.1f} MB")
    return min(waiting, connected), connected


def run(world):
    asked = world.asked
    pods = [(world.nodes[number % asked.nodes], f"pod-{number}")
            for number in range(asked.parked)]
    world.start_server()
    world.start_hamid()
    hold_nodes(world)
    world.create_pods(pods)
    world.say(f"{len(pods)} pods created, {len(world.nodes)} nodes held; hamid has "
              f"{sockets.memory_mb(world.hamid.pid, 'VmRSS'):.1f} MB")
    crowd = callers.Callers(world.address, world.context)
    plugins = node_side.NodeSide(world.client)
    try:
        parked, connected = park(world, pods, crowd)
        begun = time.monotonic()
        plugins.start()
        answers = [(moment, pods[index][1], error_of(status, body))
                   for moment, index, status, body in crowd.answers(asked.seconds)]
        seconds = time.monotonic() - begun
    finally:
        crowd.close()
        plugins.close()
    memory = sockets.memory_mb(world.hamid.pid)
    for fault in plugins.faults[:10]:
        world.say(f"node side: {fault}")
    for _, pod, error in [one for one in answers if one[2]][:10]:
        world.say(f"{pod}: {error}")
    found = judge.figures(pods, answers, world.audit())
    found["failed"] += len(plugins.faults)
    return {"parked": parked, **found, "rss_mb": round(memory, 1),
            "established": connected, "seconds": round(seconds, 1)}


def read_arguments(arguments):
    def count(most):
        def number(text):
            value = int(text)
            if not 1 <= value <= most:
                raise argparse.ArgumentTypeError(f"a number from 1 to {most}, please")
            return value
        return number
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parked", type=count(19000), default=10000,
                        help="binds that wait at one moment (default 10000)")
    parser.add_argument("--nodes", type=count(1000), default=100,
                        help="nodes that they wait for (default 100)")
    parser.add_argument("--rss-limit", type=float, default=100, metavar="MB",
                        help="memory that hamid may have needed (default 100)")
    parser.add_argument("--tls-rss-limit", type=float, default=500, metavar="MB",
                        help="the same with TLS (default 500)")
    parser.add_argument("--plain-only", action="store_true", help="leave the run with TLS out")
    parser.add_argument("--seconds", type=count(3600), default=600,
                        help="how long one phase may take (default 600)")
    parser.add_argument("--json", action="store_true", help="the last line is the sum as JSON")
    parser.add_argument("--keep", action="store_true", help="keep the folder with all logs")
    return parser.parse_args(arguments)


def is_good(asked, found):
    kinds = [("", asked.rss_limit)]
    if not asked.plain_only:
        kinds.append(("tls_", asked.tls_rss_limit))
    return all(found[kind + "parked"] == found[kind + "served"] == asked.parked
               and found[kind + "order_violations"] == found[kind + "failed"] == 0
               and found[kind + "rss_mb"] <= limit for kind, limit in kinds)


def run_both(asked):
    found = {}
    for kind in [""] if asked.plain_only else ["", "tls_"]:
        with World(asked, has_tls=kind != "") as world:
            world.say("with TLS:" if kind else "plain HTTP:")
            found.update({kind + name: value for name, value in run(world).items()})
            if asked.keep:
                world.say(f"logs: {world.folder}")
    return found


def main(arguments=None):
    asked = read_arguments(arguments)
    processes.exit_on_signals()
    try:
        sockets.raise_file_limit(asked.parked)
        found = run_both(asked)
    except (processes.Failed, sockets.TooFew, callers.Stuck, api.Refused) as error:
        print(f"scripts/soak: {error}", file=sys.stderr)
        return 1
    if asked.json:
        print(json.dumps(found))
    else:
        print("\n".join(f"{name:22}{value}" for name, value in found.items()))
    return 0 if is_good(asked, found) else 1


if __name__ == "__main__":
    sys.exit(main())
