# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""hamid before a simulated API server, in sizes that a real one would take minutes for.

Each burst has a server, a hamid and everything else of its own, all processes on loopback:
kubesim; `hamid scheduler`; a caller that sends all binds at once, as many kube-schedulers'
threads would; and a node side that writes success onto each bound pod, for all nodes. Times and
calls come from the server's audit log, times of processors from the kernel.
"""

import base64
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from bench.sizes import Size
from checker import events
from cluster import api, processes
from parked import sockets

SCHEDULER = "bench-scheduler"
RESOURCE = "nvidia.com/gpu"
AGENT = {"metadata": {"annotations": {"hami.io/mutex.agent": "1,free=scheduler"}}}
FLOOR = {"metadata": {"annotations": {"floor.example/mutex.lock": "none",
                                      "floor.example/mutex.lease": "none"}}}
USERS = ("hamid", "nodes", "floor")
SECONDS = 120
TARGETS = ("hamid", "./tests/kubesim/kubesim:executable", "bench-writers", "bench-callers")


@dataclasses.dataclass(frozen=True)
class Burst:
    """What one burst took."""

    size: Size
    seconds: float  # from the arrival of its first call to the answer to its last write
    writes: int  # of all who serve it
    reads: int
    failed: int  # binds that were answered with an error
    cpu_us: dict  # program -> time of processors, user and system, for each pod


def cpu_us(pid):
    """Time that all threads of a process have run so far."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
        except FileNotFoundError:  # it ended just now
            pass
    return total / 1000


def names(size):
    """(pod, node) of each pod: nodes in turn."""
    return [(f"pod-{number}", f"node-{number % size.nodes}") for number in range(size.pods)]


def span(found, users):
    """(seconds, writes, reads) of what these users did: from first arrival to last answer."""
    writes = [event for event in found if event.user in users and event.is_write]
    reads = [event for event in found if event.user in users and event.is_read]
    if not writes:
        raise RuntimeError("the server's log has no writes of the burst")
    begin = min(event.received for event in writes + reads)
    end = max(event.finished for event in writes)
    return end - begin, len(writes), len(reads)


class World:
    """A server and whoever talks to it, for one burst; a context manager."""

    def __init__(self, setting, size):
        self.setting = setting
        self.size = size
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hami-bench-"))
        self.group = processes.Group(self.folder)
        self.fed = []
        self.kubesim = None
        self.hamid = None
        self.address = None
        self.metrics = None
        self.port = None

    def __enter__(self):
        return self

    def __exit__(self, _kind, error, _traceback):
        for child in self.fed:
            if child.poll() is None:
                child.kill()
            child.communicate()
        self.group.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if isinstance(error, (processes.Failed, sockets.TooFew, api.Refused)):
            raise RuntimeError(str(error)) from error

    # ---- programs ----------------------------------------------------------------

    def start_server(self, annotations):
        """With all nodes, which get these annotations."""
        users = [word for user in USERS for word in ("--user", user)]
        self.kubesim = self.group.start("kubesim", [
            self.setting.build / "tests/kubesim/kubesim", "--directory", self.folder,
            "--nodes", self.size.nodes, *users,
            # Nobody is to lose its watch for want of history.
            "--history", 20000 + 6 * self.size.pods + 2 * self.size.nodes])
        self.group.wait_until("kubesim", self.kubesim, (self.folder / "ready").exists, SECONDS)
        told = json.loads((self.folder / "ready").read_text(encoding="utf-8"))
        self.port = told["port"]
        text = (self.folder / "kubeconfig").read_text(encoding="ascii")
        (self.folder / "authority.pem").write_text(authority(text), encoding="ascii")
        client = self.client()
        for number in range(self.size.nodes):
            client.need("PATCH", f"/api/v1/nodes/node-{number}", annotations, api.MERGE_PATCH)
        client.close()

    def client(self):
        return api.Client(self.port, self.folder / "authority.pem", "admin", agent="bench")

    def start_hamid(self, *flags, before=()):
        # hamid inherits it, and wants more than it has callers.
        sockets.raise_file_limit(min(2 * self.size.pods + 1000, 19000))
        addresses = self.folder / "address"
        self.hamid = self.group.start("hamid", [
            *before, self.setting.build / "daemon/hamid", "scheduler", "--listen=127.0.0.1:0",
            "--metrics-listen=127.0.0.1:0", f"--address-file={addresses}",
            f"--kubeconfig={self.folder / 'kubeconfig-hamid'}", "--patience=600s",
            f"--scheduler-name={SCHEDULER}", f"--managed-resource={RESOURCE}",
            "--stall-limit=0", "--event-after=0", "--v=0", *flags])
        self.group.wait_until("hamid", self.hamid, addresses.exists, SECONDS)
        self.address, self.metrics = addresses.read_text(encoding="ascii").split()
        self.group.wait_until("hamid", self.hamid, self._is_ready, SECONDS)

    def ask_hamid(self, path):
        """The text at its second listener, or None."""
        asked = subprocess.run(["curl", "-sf", "--max-time", "30", f"http://{self.metrics}{path}"],
                               capture_output=True, text=True, check=False)
        return asked.stdout if asked.returncode == 0 else None

    def _is_ready(self):
        return self.ask_hamid("/readyz") is not None

    def gauge(self, name):
        found = re.search(rf"^{name} (\d+)$", self.ask_hamid("/metrics") or "", re.MULTILINE)
        return int(found[1]) if found else 0

    def feed(self, name, *words):
        """A program of the bench's own, which is told on its standard input what to do."""
        log = open(self.folder / f"{name}.log", "ab")
        child = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=log, text=True,
                                 preexec_fn=processes.end_with_parent(os.getpid()))
        log.close()
        self.fed.append(child)
        return child

    def writers(self, task, user, *words):
        return self.feed(task, self.setting.build / "bench/bench-writers", "--kubeconfig",
                         self.folder / f"kubeconfig-{user}", task, *words)

    def next_word(self, name, child, word):
        """Waits for that line of it."""
        line = child.stdout.readline()
        if line != word + "\n":
            raise processes.Failed(f"{name} said {line!r} and not {word!r}:\n"
                                   + self.group.last_words(name))

    def go(self, child):
        child.stdin.write("go\n")
        child.stdin.flush()

    def end(self, name, child):
        """What else it prints until it ends well."""
        text, _ = child.communicate(timeout=SECONDS)
        if child.returncode != 0:
            raise processes.Failed(f"{name} ended with code {child.returncode}:\n"
                                   + self.group.last_words(name))
        return text

    # ---- a burst -----------------------------------------------------------------

    def create_pods(self, pods):
        """pods: [(name, node)]; answers "NAME UID NODE" lines."""
        child = self.writers("create", "nodes")
        self.fill("create", child, [f"{name} {node}" for name, node in pods])
        self.go(child)
        lines = {line.split()[0]: line for line in self.end("create", child).splitlines()}
        return [lines[name] for name, _ in pods]

    def fill(self, name, child, lines):
        child.stdin.write("\n".join(lines) + "\n\n")
        child.stdin.flush()
        self.next_word(name, child, "ready")

    def callers(self, lines, at_once=None):
        """Connected, with one bind for each line; they go when told."""
        words = [f"--at-once={at_once}"] if at_once else []
        child = self.feed("callers", self.setting.build / "bench/bench-callers", *words,
                          self.address)
        self.fill("callers", child, lines)
        return child

    def node_side(self, pods):
        """Serves that many pods, then ends."""
        child = self.writers("serve", "nodes", "--pods", pods)
        self.next_word("serve", child, "ready")
        return child

    def serve(self, callers, nodes, meter=None):
        """A burst, to its last success; answers what the callers found, and what was spent."""
        self.go(callers)
        told = self.answers(callers)
        self.next_word("serve", nodes, "done")
        told["spent"] = meter.spent() if meter else {}
        self.end("callers", callers)
        self.end("serve", nodes)
        return told

    def answers(self, callers):
        """Once all of its binds are answered."""
        try:
            return json.loads(callers.stdout.readline())
        except ValueError as error:
            raise processes.Failed("callers ended early:\n"
                                   + self.group.last_words("callers")) from error

    def audit(self, begin):
        """Everything that the server answered since its log was that long, and until now: it
        goes on writing, and what comes later may be half a line."""
        end = self.log_size()
        with open(self.folder / "audit.log", "rb") as file:
            file.seek(begin)
            text = file.read(end - begin)
        whole = text[:text.rfind(b"\n") + 1].decode("utf-8")
        return events.read(whole.split("\n"))

    def log_size(self):
        """Up to the last line that is whole."""
        client = self.client()
        client.need("POST", "/kubesim/flush", {})
        client.close()
        return (self.folder / "audit.log").stat().st_size


def authority(kubeconfig):
    """The PEM text that this kubeconfig trusts."""
    return base64.b64decode(
        re.search(r"certificate-authority-data: (\S+)", kubeconfig)[1]).decode("ascii")


class Meter:
    """What processes use from its making on."""

    def __init__(self, **pids):
        self.pids = pids
        self.before = {name: cpu_us(pid) for name, pid in pids.items()}

    def spent(self, share=1):
        """program -> microseconds, by this share."""
        return {name: (cpu_us(pid) - self.before[name]) / share
                for name, pid in self.pids.items()}


def floor(setting, size):
    """The bare writes of such a burst, by one tight client without any lock."""
    with World(setting, size) as world:
        world.start_server(FLOOR)
        lines = world.create_pods(names(size))
        child = world.writers("floor", "floor")
        world.fill("floor", child, lines)
        begin = world.log_size()
        meter = Meter(kubesim=world.kubesim.pid, client=child.pid)
        world.go(child)
        world.next_word("floor", child, "done")
        spent = meter.spent(size.pods)
        world.end("floor", child)
        seconds, writes, reads = span(world.audit(begin), {"floor"})
        return Burst(size, seconds, writes, reads, 0, spent)


def hamid(setting, size):
    """The same behind hamid."""
    with World(setting, size) as world:
        world.start_server(AGENT)
        world.start_hamid()
        lines = world.create_pods(names(size))
        nodes = world.node_side(size.pods)
        callers = world.callers(lines)
        begin = world.log_size()
        meter = Meter(hamid=world.hamid.pid, kubesim=world.kubesim.pid, nodes=nodes.pid,
                      callers=callers.pid)
        told = world.serve(callers, nodes, meter)
        seconds, writes, reads = span(world.audit(begin), {"hamid", "nodes"})
        if told["failed"]:
            setting.say(f"a bind failed: {told['first_error']}")
        return Burst(size, seconds, writes, reads, told["failed"],
                     {name: value / size.pods for name, value in told["spent"].items()})
