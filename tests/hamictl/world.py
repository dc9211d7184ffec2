# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A kubesim for hamictl, set up rightly; and hamictl run before it."""

import base64
import copy
import http.client
import json
import os
import pathlib
import re
import ssl
import subprocess
import tempfile
import urllib.parse

REVIEW = "/apis/authorization.k8s.io/v1/"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
ACCOUNT = "system:serviceaccount:kube-system:hami-scheduler"

# kube-scheduler's configuration as README.md has it.
CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: hami-scheduler
extenders:
- urlPrefix: http://127.0.0.1:8080
  filterVerb: filter
  bindVerb: bind
  nodeCacheCapable: true
  weight: 1
  ignorable: false
  httpTimeout: 600s
  managedResources:
  - name: nvidia.com/gpu
    ignoredByScheduler: true
  - name: nvidia.com/gpumem
    ignoredByScheduler: true
"""

SCHEDULER_POD = {
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {
        "name": "hami-scheduler-7d9f-abcde", "namespace": "kube-system",
        "labels": {"app.kubernetes.io/component": "hami-scheduler", "pod-template-hash": "7d9f"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": "rs-1",
                             "name": "hami-scheduler-7d9f", "controller": True}]},
    "spec": {
        "serviceAccountName": "hami-scheduler",
        "containers": [
            {"name": "kube-scheduler", "image": "registry.k8s.io/kube-scheduler:v1.37.2",
             "command": ["kube-scheduler", "--config=/config/config.yaml"]},
            {"name": "vgpu-scheduler-extender", "image": "projecthami/hami:v2.10.0",
             "command": ["scheduler", "--http_bind=127.0.0.1:443"]},
            {"name": "hamid", "image": "example.org/hamid:0.1",
             "command": ["hamid", "scheduler", "--filter-url", "https://127.0.0.1:443",
                         "--filter-insecure", "--patience=600s"]}]}}


def plugin_pod(name, tag):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "kube-system",
                         "labels": {"app.kubernetes.io/component": "hami-device-plugin"}},
            "spec": {"containers": [{"name": "device-plugin",
                                     "image": f"projecthami/hami:{tag}"}]}}


def policy(name):
    return {"metadata": {"name": name}, "spec": {"failurePolicy": "Fail"}}


def binding(name, actions=("Deny",)):
    return {"metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": list(actions)}}


NAMES = [f"hami-nodelock-{what}" for what in ("nodes", "pods", "bindings", "leases")]


class World:
    """A control plane on which doctor finds nothing."""

    def __init__(self, skew=0, minor="37"):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        self.child = subprocess.Popen(
            [os.environ["KUBESIM"], "--directory", folder, "--node", "gpu-0", "--node", "gpu-1",
             "--exit-with-parent"], stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()
        self.kubeconfig = folder / "kubeconfig"
        self.text = self.kubeconfig.read_text()
        self.url = urllib.parse.urlsplit(self._member("server"))
        self.token = self._member("token")
        authority = base64.b64decode(self._member("certificate-authority-data")).decode()
        self.context = ssl.create_default_context(cadata=authority)
        self._answer_rightly(minor)
        for namespace in ("gpu", "hami-system"):
            self.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                             "metadata": {"name": namespace}})
        self.post("/api/v1/namespaces/kube-system/pods", SCHEDULER_POD)
        if skew:
            self.post("/kubesim/date-skew", {"seconds": skew})

    def _member(self, name):
        return re.search(name + r':\s*"?([^\s"]+)', self.text).group(1)

    def _answer_rightly(self, minor):
        self.answer("GET", "/version", {"major": "1", "minor": minor, "gitVersion": f"v1.{minor}.0"})
        self.answer("GET", "/api/v1/configmaps", {"items": []})
        self.configure(CONFIGURATION)
        self.allow(True)
        for verb, resource in (("get", "secrets"), ("create", "pods"), ("delete", "pods"),
                               ("delete", "nodes"), ("bind", "clusterroles"), ("create", "exec")):
            self.review(verb, resource, False)
        self.guard([policy(name) for name in NAMES], [binding(name) for name in NAMES])

    def request(self, method, path, body, kind="application/json"):
        connection = http.client.HTTPSConnection(self.url.hostname, self.url.port,
                                                 context=self.context, timeout=20)
        connection.request(method, path, json.dumps(body),
                           {"Authorization": f"Bearer {self.token}", "Content-Type": kind})
        answer = connection.getresponse()
        got = json.load(answer)
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {got}")
        return got

    def post(self, path, body):
        return self.request("POST", path, body)

    def answer(self, method, path, answer, contains=None, status=200):
        canned = {"method": method, "path": path, "status": status, "answer": answer}
        if contains is not None:
            canned["contains"] = contains
        self.post("/kubesim/answers", canned)

    # ---- what may be wrong ----

    def configure(self, text, name="hami-scheduler-newversion"):
        """kube-scheduler's configuration as HAMi's chart keeps it."""
        configmap = {"metadata": {"name": name, "namespace": "kube-system", "uid": name},
                     "data": {"config.yaml": text}}
        self.answer("GET", "/api/v1/configmaps", {"items": [configmap]},
                    contains=f"metadata.name%3D{name}&")

    def allow(self, allowed):
        for kind in ("subjectaccessreviews", "selfsubjectaccessreviews"):
            self.answer("POST", REVIEW + kind, {"status": {"allowed": allowed}}, status=201)

    def review(self, verb, resource, allowed):
        if resource == "exec":
            contains = '"resource":"pods","subresource":"exec"'
        else:
            group = "rbac.authorization.k8s.io" if resource == "clusterroles" else ""
            contains = f'"verb":"{verb}","group":"{group}","version":"*","resource":"{resource}"}}'
        self.answer("POST", REVIEW + "subjectaccessreviews", {"status": {"allowed": allowed}},
                    contains=contains, status=201)

    def guard(self, policies, bindings):
        self.answer("GET", POLICIES + "ies", {"items": policies})
        for one in policies:
            self.answer("GET", f"{POLICIES}ies/{one['metadata']['name']}", one)
        self.answer("GET", POLICIES + "ybindings", {"items": bindings})

    def add_pod(self, pod, **changes):
        pod = copy.deepcopy(pod)
        pod["metadata"].update(changes)
        return self.post(f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods", pod)

    def annotate(self, node, annotations):
        return self.request("PATCH", f"/api/v1/nodes/{node}",
                            {"metadata": {"annotations": annotations}},
                            "application/merge-patch+json")

    # ---- hamictl ----

    def hamictl(self, *arguments, environment=None):
        return subprocess.run(
            [os.environ["HAMICTL"], *arguments], stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig), **(environment or {})})

    def doctor(self, *arguments):
        """Exit status, and the checks that found something: {check: [finding]}."""
        done = self.hamictl("doctor", "-o", "json", *arguments)
        report = json.loads(done.stdout)
        return done.returncode, {check["check"]: check["findings"]
                                 for check in report["checks"] if check["findings"]}, report

    def end(self):
        self.child.terminate()
        self.child.wait()
        self.folder.cleanup()
