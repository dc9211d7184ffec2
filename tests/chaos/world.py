# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's burst with hamid schedulers that a test may kill, stop and start again.

kube-scheduler's stand-in calls a relay; the test says which replica each call goes to. What
a test does in the middle it does in `on_progress`, between two lines of progress.
"""

import http.client
import json
import pathlib
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "standins"))

from checker import figures  # noqa: E402
from cluster import api, probes  # noqa: E402
from demo import building, options, simulated  # noqa: E402
from tests import peers  # noqa: E402

NODE = "gpu-0"
LOCK = "hami.io/mutex.lock"
ZERO = ("double_holds", "covered_locks", "cover_violations", "double_serves", "stuck_pods",
        "locks_left", "fence_violations")
# Longer than any patience here: a caller that is left alone is no part of these tests.
CALL_SECONDS = 60


class Replica:
    """One hamid scheduler. It may have been several processes, one after the other."""

    def __init__(self, world, name, flags):
        self.world = world
        self.name = name
        self.flags = flags
        self.child = None
        self.address = None

    def start(self):
        addresses = self.world.folder / f"{self.name}.address"
        addresses.unlink(missing_ok=True)
        self.child = self.world.group.start(self.name, [
            building.program("daemon/hamid"), "scheduler", "--listen=127.0.0.1:0",
            f"--address-file={addresses}", f"--scheduler-name={simulated.SCHEDULER}",
            f"--kubeconfig={self.world.kubeconfig('hamid-scheduler')}", *self.flags])
        wait = self.world.group.wait_until
        wait(self.name, self.child, addresses.exists, simulated.START_SECONDS)
        address = addresses.read_text(encoding="ascii").split()[0]
        wait(self.name, self.child, lambda: probes.binder_is_ready(address),
             simulated.START_SECONDS)
        self.address = address

    def kill(self):
        self.world.kill(self.child)

    def pause(self):
        self.child.send_signal(signal.SIGSTOP)

    def resume(self):
        self.child.send_signal(signal.SIGCONT)

    def bind(self, call):
        """The Error text of its answer; what went wrong where there is none."""
        connection = http.client.HTTPConnection(self.address, timeout=CALL_SECONDS)
        try:
            connection.request("POST", "/bind", json.dumps(call),
                               {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read()).get("Error", "")
        except (OSError, http.client.HTTPException, ValueError) as error:
            return f"{self.name}: {error!r}"
        finally:
            connection.close()


class World(simulated.Burst):
    """A context manager; run() answers the checker's figures."""

    def __init__(self, *words, replicas=1, flags=(), route=None, on_progress=None,
                 on_server=lambda: None):
        building.BUILD = peers.BUILD.resolve()
        super().__init__(options.parse(words), self)
        self.replicas = [Replica(self, f"hamid-{number}", [
            f"--patience={options.duration_text(self.asked.patience)}", *flags])
            for number in range(replicas)]
        self.route = route or (lambda call, _number: self.replicas[0].bind(call))
        self.on_progress = on_progress or (lambda line: None)
        self.on_server = on_server
        self.threads = []
        self.relay = None
        self.client = None
        self.answers = []

    def __exit__(self, *error):
        for replica in self.replicas:
            if replica.child is not None and replica.child.poll() is None:
                replica.resume()
        super().__exit__(*error)
        if self.relay is not None:
            self.relay.close()

    def figures(self):
        return figures.figures(self.run())

    def run_until_all(self, threads):
        """As run(), with everything up until these threads, started meanwhile, have ended."""
        self.threads = threads
        return self.run()

    # What the demo asks of its screen.
    def say(self, text):
        pass

    def burst(self, line, is_last=False):
        if not is_last:
            self.on_progress(line)

    # Steps of the demo that are other here.
    def _start_server(self):
        super()._start_server()
        ready = json.loads((self.folder / "ready").read_text(encoding="utf-8"))
        authority = self.folder / "authority.pem"
        authority.write_text(peers.authority(self.folder / "kubeconfig"), encoding="ascii")
        self.client = api.Client(ready["port"], authority, "admin", agent="test")
        self.on_server()

    def _start_binder(self):
        for replica in self.replicas:
            replica.start()
        self.relay = peers.Binder(self._decide)
        return self.relay.url

    def _decide(self, call, number):
        text = self.route(call, number)
        self.answers.append((call["PodName"], text))
        return text

    def _follow(self, binder):
        super()._follow(binder)
        for thread in self.threads:
            thread.join(CALL_SECONDS)

    # Tools for tests.
    def kill(self, child):
        """As the kernel does when memory is short: no last word."""
        self.group.children = [pair for pair in self.group.children if pair[1] is not child]
        child.kill()
        child.wait()

    def restart_agent(self, node=NODE):
        name = f"hamid-node-{node}"
        self.kill(dict(self.group.children)[name])
        self._start_agent(node)
        agent = self._agent(node)
        self.group.wait_until(name, dict(self.group.children)[name],
                              lambda: probes.agent_is_ready(agent), simulated.START_SECONDS)

    def lock(self, node=NODE):
        """The lock annotation, or nothing."""
        found = self.client.need("GET", f"/api/v1/nodes/{node}")
        return (found.metadata.get("annotations") or {}).get(LOCK, "")

    def pod(self, name):
        return self.client.need("GET", f"/api/v1/namespaces/default/pods/{name}").body

    def arm(self, **fault):
        return self.client.need("POST", "/kubesim/faults", fault).body["id"]

    def hits(self, number):
        found = self.client.need("GET", "/kubesim/faults").body
        return next(one["hits"] for one in found if one["id"] == number)

    def audit(self):
        """What the server has logged so far; its last line may be half written."""
        self.client.need("POST", "/kubesim/flush", {})
        with open(self.folder / "audit.log", encoding="utf-8") as log:
            return [json.loads(line) for line in log if line.endswith("\n")]


def wait_for(is_true):
    peers.wait_for(is_true)
