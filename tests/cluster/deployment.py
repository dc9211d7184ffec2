# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The manifests of deploy/ on an API server, as somebody who runs `kubectl apply -f` has them.

Each is sent as the text that it is, so that the server's own reader is the judge of it. Here only
the few lines are read that say where an object goes.
"""

import pathlib
import re
import time

from cluster import api, processes

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy"
NAMESPACE = "hami-system"
ROLES = ("rbac/scheduler.yaml", "rbac/scheduler-leases.yaml", "rbac/node.yaml")
_SPLIT = re.compile(r"^---\s*$", re.MULTILINE)
_OBJECT = re.compile(r"^apiVersion: (?!kubescheduler[.]config)", re.MULTILINE)
_NAMES = {"Namespace": "namespaces", "ServiceAccount": "serviceaccounts", "Service": "services",
          "ConfigMap": "configmaps", "DaemonSet": "daemonsets", "Deployment": "deployments",
          "PodDisruptionBudget": "poddisruptionbudgets",
          "NetworkPolicy": "networkpolicies", "ServiceMonitor": "servicemonitors",
          "PrometheusRule": "prometheusrules",
          "ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
          "Role": "roles", "RoleBinding": "rolebindings",
          "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
          "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings"}


class Document:
    """One object of a manifest: its text, and where it goes."""

    def __init__(self, text):
        self.text = text
        self.kind = self._find(r"^kind: (\S+)$")
        self.version = self._find(r"^apiVersion: (\S+)$")
        self.name = self._find(r"^metadata:\n(?:  .*\n)*?  name: (\S+)$")
        found = re.search(r"^metadata:\n(?:  .*\n)*?  namespace: (\S+)$", text, re.MULTILINE)
        self.namespace = found[1] if found else None

    def _find(self, pattern):
        found = re.search(pattern, self.text, re.MULTILINE)
        if found is None:
            raise processes.Failed(f"a manifest lacks {pattern}:\n{self.text}")
        return found[1]

    @property
    def folder(self):
        """The path to POST it to."""
        base = "/api/v1" if self.version == "v1" else f"/apis/{self.version}"
        inside = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{base}{inside}/{_NAMES[self.kind]}"

    @property
    def path(self):
        return f"{self.folder}/{self.name}"


def documents(name):
    """The objects of one manifest, by its path below deploy/."""
    return split((FOLDER / name).read_text(encoding="utf-8"))


def split(text):
    """The objects of a text, such as what helm renders."""
    return [Document(part) for part in _SPLIT.split(text)
            if any(line and not line.startswith("#") for line in part.splitlines())]


def manifests():
    """Each manifest for an API server below deploy/; other programs' files have no kind of its own.

    The chart's templates and what is kustomize's are tried by the part charts.
    """
    paths = [path.relative_to(FOLDER) for path in FOLDER.rglob("*.yaml")
             if _OBJECT.search(path.read_text(encoding="utf-8"))]
    return sorted(str(path) for path in paths if path.parts[0] not in ("chart", "kustomize"))


def apply(client, *names):
    """Creates every object of these manifests; what is there already is left."""
    for name in names:
        for document in documents(name):
            answer = client.request("POST", document.folder, document.text, api.YAML)
            if answer.code not in (200, 201, 409):
                raise api.Refused(f"{name}, {document.kind} {document.name}: {answer}")


def token(client, account, namespace=NAMESPACE, bound_to=None):
    """A token of that service account, bound to a pod (as the kubelet's are), a Node, or nothing."""
    spec = {"expirationSeconds": 3600}
    if bound_to is not None:
        metadata = bound_to["metadata"]
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": bound_to["kind"],
                                  "name": metadata["name"], "uid": metadata["uid"]}
    answer = client.need("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
                         {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                          "spec": spec})
    return answer.body["status"]["token"]


def is_user(plane, account, bearer, namespace=NAMESPACE):
    """Makes the plane's client() and kubeconfig() know that account under its own name."""
    plane.tokens[account] = bearer
    plane.write_kubeconfig(account, account, plane.port)
    return f"system:serviceaccount:{namespace}:{account}"


def wait_until(is_true, seconds, what):
    """A state of the server that comes by itself; Failed says what did not come."""
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise processes.Failed(f"{what} did not come within {seconds:.0f} s")
        time.sleep(0.05)
