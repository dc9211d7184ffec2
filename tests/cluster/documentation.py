# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of the documentation that want a cluster: each is run, and what it prints is compared.

Each page has a control plane of its own with a node gpu-0 and HAMi's chart. No kubelet runs here, and no
controller: the device plugin's side is played by the stand-in for both, and HAMi's Deployment by a
chart_pod.Pod, which is started once hamid is in it.
"""

import contextlib
import json
import pathlib
import subprocess
import sys

from cluster import (burst, chart_pod, chart_tools, control_plane, deployment, interplay_filter,
                     manifests, probes, suites)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/docs"))

import blocks  # noqa: E402
import session  # noqa: E402
import worlds  # noqa: E402

PAGES = ("docs/start-embedder.md", "docs/start-go.md", "docs/start-operator.md", "deploy/README.md",
         "deploy/chart/hamid/README.md")
NODE = "gpu-0"
LIMIT_SECONDS = 200
PODS = f"/api/v1/namespaces/{chart_tools.HAMI_NAMESPACE}/pods"
POD = "hami-scheduler-6d5f7c9b8-x7k2p"


class HamiFilter(chart_pod.SecureFilter):
    """HAMi's extender: chooses the node and writes the devices onto the pod."""

    def __init__(self, certificates, client):
        super().__init__(certificates)
        self.books = interplay_filter.Books(client)

    def __enter__(self):
        url = super().__enter__()
        self.server.RequestHandlerClass = interplay_filter.handler(self.books)
        return url


class World:
    """One control plane as a reader has it."""

    def __init__(self, plane):
        self.plane = plane
        self.client = plane.client()
        self.tools = chart_tools.Tools(plane)
        self.stack = contextlib.ExitStack()
        self.pod = None

    def __enter__(self):
        manifests.make_node(self.client, NODE, burst.RESOURCE)
        self._start_node_side()
        self._forget_roles()
        self.tools.need("install", "hami", chart_tools.HAMI_CHART, "-n", chart_tools.HAMI_NAMESPACE)
        self.settle()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def _forget_roles(self):
        """The control plane comes with the roles of deploy/rbac, which the pages make themselves."""
        for name in deployment.ROLES:
            for document in deployment.documents(name):
                self.client.need("DELETE", document.path)

    def _start_node_side(self):
        """As HAMi's device plugin, its own account and the stand-in kubelet are on a node."""
        agent_socket = self.plane.folder / "agent.sock"
        kubeconfig = self.plane.kubeconfig()
        agent = self.plane.group.start("hamid-node", [
            *suites.hamid(), "node", f"--node={NODE}", f"--socket={agent_socket}",
            f"--kubeconfig={kubeconfig}"])
        self.plane.group.wait_until("hamid-node", agent, lambda: probes.agent_is_ready(agent_socket), 60)
        self.plane.group.start("kubelet", [
            suites.BUILD / "tests/standins/standin-kubelet", f"--kubeconfig={kubeconfig}",
            f"--node={NODE}", f"--socket={agent_socket}", "--allocate-ms=20"])

    def _show_pod(self, template):
        """As a controller makes it and a kubelet runs it, for people and programs that look."""
        self.client.need("POST", PODS, {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": POD, "labels": template["metadata"]["labels"]},
            "spec": {**template["spec"], "nodeName": "control", "terminationGracePeriodSeconds": 0}})
        self.stack.callback(self.client.request, "DELETE", f"{PODS}/{POD}?gracePeriodSeconds=0")
        self.client.need("PATCH", f"{PODS}/{POD}/status", {"status": {"phase": "Running"}},
                         "application/merge-patch+json")

    def settle(self):
        """What controllers and the kubelet would have done by now."""
        path = f"/apis/apps/v1/namespaces/{chart_tools.HAMI_NAMESPACE}/deployments/hami-scheduler"
        answer = self.client.request("GET", path)
        if answer.code != 200:
            return
        found = answer.body
        spec = found["spec"]["template"]["spec"]
        has_hamid = any(one["name"] == "hamid" for one in spec["containers"])
        if has_hamid and self.pod is None:
            self.pod = chart_pod.Pod(self.plane, self.client, "hami-scheduler",
                                     chart_tools.HAMI_NAMESPACE, spec)
            self.pod.filter = HamiFilter(self.plane.certificates, self.plane.client())
            self.stack.enter_context(self.pod).start()
            self._show_pod(found["spec"]["template"])
        elif not has_hamid and self.pod is not None:
            self.stack.close()
            self.pod = None
        if found.get("status", {}).get("observedGeneration") != found["metadata"]["generation"]:
            self.client.need("PATCH", f"{path}/status", {"status": {
                "observedGeneration": found["metadata"]["generation"], "replicas": 1,
                "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 1,
                "conditions": [{"type": "Available", "status": "True"}]}}, "application/merge-patch+json")


def run_page(results, world, installed, name):
    folder = installed.scratch(name.replace("/", "-"))
    environment = {**installed.environment, **{key: world.tools.environment[key] for key in (
        "KUBECONFIG", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")}}
    environment["PATH"] = f"{world.plane.folder / 'programs'}:{installed.environment['PATH']}"
    shell = session.Session(folder, environment)
    count = 0
    try:
        for block in blocks.read(ROOT / name, name):
            if block.mark == "file":
                (folder / block.words).parent.mkdir(parents=True, exist_ok=True)
                (folder / block.words).write_text(block.text, encoding="utf-8")
            if block.mark != "run" or block.words not in ("cluster", "kubesim"):
                continue
            if block.since > world.plane.minor:
                results.skip(f"docs: {block.where()}", f"it is for Kubernetes 1.{block.since} or later")
                continue
            for command in blocks.commands(block):
                wrong = session.judge(shell, block, command, LIMIT_SECONDS)
                world.settle()
                results.check(not wrong, f"docs: {block.where()}: {command.text.splitlines()[0][:80]}", wrong)
                count += 1
    finally:
        shell.end()
    return count


def run(results, asked, folder):
    if int(asked.version.split(".")[1]) < 30:
        results.skip("docs", "the pages are tried with Kubernetes 1.30 or later")
        return {}
    installed = worlds.Installed("meson", suites.BUILD, *_places())
    counts = {}
    try:
        for name in PAGES:
            if not (ROOT / name).exists():
                continue
            place = folder / name.replace("/", "-") if folder else None
            with control_plane.ControlPlane(asked.version, place) as plane, World(plane) as world:
                counts[name] = run_page(results, world, installed, name)
    finally:
        installed.end()
    results.check(all(counts.values()), "docs: each page has commands for a cluster", counts)
    return {"docs_commands": sum(counts.values())}


def _places():
    """Prefix and libdir of the build folder."""
    options = json.loads(subprocess.run(
        ["meson", "introspect", "--buildoptions", suites.BUILD], check=True, capture_output=True,
        text=True).stdout)
    values = {one["name"]: one["value"] for one in options}
    return values["prefix"], values["libdir"]
