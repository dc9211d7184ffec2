# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Guarded patches of nodes by the Kubernetes transport, beside libcurl alone and beside client-go.

All send the same JSON Patch (two texts are tested and replaced) and ask for metadata only, each
node having one under way at a time: on kubesim, which answers at once, so that what the clients
cost themselves is most of it, and on a real kube-apiserver. In turns, another first each time.
"""

import contextlib
import dataclasses
import json
import pathlib
import re
import subprocess
import tempfile

from bench import figures, report, simulated
from cluster import api, control_plane, manifests, processes

ABOUT = "guarded patches: the Kubernetes transport, libcurl alone, client-go"
IN_FLIGHT = (1, 8, 64)
CURL, TRANSPORT, CLIENT, GO = "libcurl", "transport", "client", "client-go"
SAYS = {CURL: "libcurl alone: curl_multi, one HTTP/2 connection, one thread",
        TRANSPORT: "the node-annotation transport: hami_transport_call(), a thread a call",
        CLIENT: "the client under it: hami_kubernetes_request_start()",
        GO: "client-go's metadata client, without its limiter"}
RESOURCE = "nvidia.com/gpu"
LIMIT = 1.1


@dataclasses.dataclass(frozen=True)
class Server:
    name: str
    kubeconfig: pathlib.Path
    calls: int  # of one turn, for one call in flight


@dataclasses.dataclass
class Turns:
    """What each way's program printed, turn by turn."""

    server: str
    in_flight: int
    printed: dict = dataclasses.field(default_factory=dict)  # way -> list of objects

    def values(self, way, key):
        return [one[key] for one in self.printed[way]]

    def over_curl(self, way, key):
        """Of values that are better the smaller they are."""
        return figures.ratio(self.values(way, key), self.values(CURL, key))


def commands(build, go):
    """way -> first words of its program."""
    found = {CURL: [build / "bench/bench-patches-curl"],
             TRANSPORT: [build / "bench/bench-patches-hami", "transport"],
             CLIENT: [build / "bench/bench-patches-hami", "client"]}
    return found | ({GO: [go]} if go else {})


def _one(words, server, calls, nodes):
    ended = subprocess.run([*map(str, words), "--kubeconfig", str(server.kubeconfig), "--calls",
                            str(calls), *nodes], capture_output=True, text=True, timeout=300,
                           check=False)
    if ended.returncode != 0:
        raise RuntimeError(f"{words[0].name}: {ended.stderr.strip()}")
    return json.loads(ended.stdout)


def measure(setting, server, programs):
    """Turns of each number of calls in flight."""
    found = []
    for in_flight in IN_FLIGHT:
        turns = Turns(server.name, in_flight, {way: [] for way in programs})
        nodes = [f"node-{index}" for index in range(in_flight)]
        calls = server.calls * (1 if in_flight == 1 else 2)
        ways = list(programs)
        for turn in range(setting.repeats):
            first = turn % len(ways)
            for way in ways[first:] + ways[:first]:
                turns.printed[way].append(_one(programs[way], server, calls, nodes))
        setting.say(f"transport: {server.name}, {in_flight} in flight: transport over libcurl "
                    f"{turns.over_curl(TRANSPORT, 'median_us').text()}")
        found.append(turns)
    return found


def _row(turns, way):
    def value(key, unit=""):
        return figures.figure(turns.values(way, key), unit).text()

    return [str(turns.in_flight), way, value("calls_per_second"), value("median_us", "us"),
            value("p99_us", "us"), value("cpu_us", "us"),
            turns.over_curl(way, "median_us").text(), turns.over_curl(way, "cpu_us").text()]


def table(title, all_turns):
    return report.Table(title, ["in flight", "way", "calls a second", "median", "p99",
                                "processor time", "median over libcurl", "processor over libcurl"],
                        [_row(turns, way) for turns in all_turns for way in turns.printed])


def goals(server, all_turns):
    """That a call of ours takes no longer than a bare one; told for each number in flight."""
    made = []
    for turns in all_turns:
        ours = figures.figure(turns.values(TRANSPORT, "cpu_us"), "us").text()
        bare = figures.figure(turns.values(CURL, "cpu_us"), "us").text()
        made.append(figures.Goal(
            f"transport_over_curl_{server}_{turns.in_flight}",
            f"a guarded patch by the transport over one by libcurl alone, {turns.in_flight} in "
            f"flight, {turns.server}", turns.over_curl(TRANSPORT, "median_us"), LIMIT,
            stopped_by=f"a call costs {ours} of processor time against {bare}; the difference is "
            "making and reading JSON, and waking the thread that waits"))
    return made


def _make_nodes(client, make):
    """Each has annotations already, as every node of a cluster does."""
    for index in range(max(IN_FLIGHT)):
        name = f"node-{index}"
        make(name)
        client.need("PATCH", f"/api/v1/nodes/{name}",
                    {"metadata": {"annotations": {"bench.example/node": name}}}, api.MERGE_PATCH)


@contextlib.contextmanager
def _kubesim(setting):
    with tempfile.TemporaryDirectory(prefix="hami-bench-") as name:
        folder = pathlib.Path(name)
        group = processes.Group(folder)
        try:
            child = group.start("kubesim", [setting.build / "tests/kubesim/kubesim", "--directory",
                                            folder, "--exit-with-parent"])
            group.wait_until("kubesim", child, (folder / "ready").exists, 30)
            text = (folder / "kubeconfig").read_text(encoding="utf-8")
            authority = folder / "authority.pem"
            authority.write_text(simulated.authority(text), encoding="ascii")
            port = json.loads((folder / "ready").read_text(encoding="utf-8"))["port"]
            client = api.Client(port, authority, re.search(r"token: (\S+)", text)[1])
            _make_nodes(client, lambda name: client.need("POST", "/api/v1/nodes",
                                                         manifests.node(name)))
            yield Server("kubesim", folder / "kubeconfig", 2000)
        finally:
            group.close()


@contextlib.contextmanager
def _real(setting):
    with control_plane.ControlPlane(setting.kubernetes,
                                    audit_policy=manifests.NAMES_AUDIT_POLICY) as plane:
        client = plane.client()
        _make_nodes(client, lambda name: manifests.make_node(client, name, RESOURCE, 8))
        yield Server("kube-apiserver", plane.kubeconfig(), 400)


def run(setting):
    setting.build_targets("./tests/kubesim/kubesim:executable", "bench-patches-curl",
                          "bench-patches-hami")
    programs = commands(setting.build, setting.build_go("client-go", "transport: client-go"))
    findings = figures.Findings(notes=[f"{way}: {SAYS[way]}." for way in programs])
    processes.exit_on_signals()
    try:
        for key, make in (("kubesim", _kubesim), ("server", _real)):
            with make(setting) as server:
                found = measure(setting, server, programs)
            findings.tables.append(table(f"Guarded patches on {server.name}", found))
            findings.goals += goals(key, found)
            findings.charts.append(report.Chart(
                f"transport-{server.name}", f"Guarded patches on {server.name}, 8 in flight",
                "a second", [(way, figures.figure(found[1].values(way, "calls_per_second")).median)
                             for way in programs]))
    except processes.Failed as error:
        raise RuntimeError(str(error)) from error
    return findings
