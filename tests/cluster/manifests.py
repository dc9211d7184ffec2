# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Objects and policies that a test control plane is set up with."""

# kubeconfig -> (user name, groups)
USERS = {
    "admin": ("admin", "system:masters"),
    "writer": ("writer", "system:masters"),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "hamid-scheduler": ("hamid-scheduler", ""),
    "hamid-node": ("hamid-node", ""),
    "kubelet": ("kubelet-stand-in", ""),
    "node": ("system:node:gpu-0", "system:nodes"),
    "filter": ("hami-filter-stand-in", ""),
    "operator": ("operator", "hami-nodelock-operators"),
}

# What the checker needs, whole; the rest by its name only, so that no call goes uncounted.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "users": ["system:apiserver"]},
        {"level": "None", "nonResourceURLs": ["/healthz*", "/readyz*", "/livez*"]},
        {"level": "Metadata", "verbs": ["list", "watch"]},
        {"level": "RequestResponse", "resources": [
            {"group": "", "resources": ["nodes", "nodes/status", "pods", "pods/binding",
                                        "pods/status", "events"]},
            {"group": "events.k8s.io", "resources": ["events"]}]},
        {"level": "Metadata"},
    ],
}

# Who called what, and no bodies: for counting calls where the server is short of processors.
NAMES_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "None", "users": ["system:apiserver"]},
              {"level": "None", "nonResourceURLs": ["/healthz*", "/readyz*", "/livez*"]},
              {"level": "Metadata"}],
}

# What our stand-ins may do; hamid's own roles are those of deploy/rbac.
RULES = {
    "filter": [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "patch"]},
    ],
    "kubelet": [
        {"apiGroups": [""], "resources": ["nodes", "pods"],
         "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["nodes/status", "pods/status"],
         "verbs": ["get", "patch", "update"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ],
}

# Where --lock-store=lease+mirror keeps its Leases.
LEASE_NAMESPACE = "hami-nodelock"

# kubeconfig -> (kind, namespace, name) of the roles that it gets from deploy/rbac
DEPLOYED = {
    "hamid-scheduler": [("ClusterRole", None, "hamid-scheduler"),
                        ("Role", LEASE_NAMESPACE, "hamid-scheduler-leases")],
    "hamid-node": [("ClusterRole", None, "hamid-node"), ("Role", "default", "hamid-node-events")],
}


def _binding(user, kind, namespace, role):
    """(path, object) that gives a role to one of our users."""
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/rbac.authorization.k8s.io/v1{inside}/{kind.lower()}bindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": f"{kind}Binding",
        "metadata": {"name": f"test-{role}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User",
                      "name": USERS[user][0]}]}


def roles():
    """(path, object) of each role of a stand-in and of all bindings, in the order to create them."""
    base = "/apis/rbac.authorization.k8s.io/v1"
    for user, rules in RULES.items():
        name = USERS[user][0]
        yield base + "/clusterroles", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name}, "rules": rules}
        yield _binding(user, "ClusterRole", None, name)
    for user, deployed in DEPLOYED.items():
        for kind, namespace, name in deployed:
            yield _binding(user, kind, namespace, name)


def node(name):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def _all(resources):
    """Of one resource's name, or of several."""
    return (resources,) if isinstance(resources, str) else tuple(resources)


def node_status(resources, count):
    """Strategic merge patch of a Node's status: ready, with room for many small pods."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "1000",
            **{resource: str(count) for resource in _all(resources)}}
    return {"status": {"capacity": room, "allocatable": room, "conditions": [
        {"type": "Ready", "status": "True", "reason": "Test", "message": "made by hand",
         "lastHeartbeatTime": "2026-01-01T00:00:00Z",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}


def pod(name, resource=None, annotations=None):
    container = {"name": "main", "image": "none.invalid/none:1"}
    if resource:
        container["resources"] = {"limits": {resource: "1"}}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default",
                         "annotations": annotations or {}},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]}}


def make_node(client, name, resources, count=100):
    """A Node made by hand: room for devices, and without the taint of one that never ran."""
    client.need("POST", "/api/v1/nodes", node(name))
    client.need("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}},
                "application/merge-patch+json")
    client.need("PATCH", f"/api/v1/nodes/{name}/status", node_status(resources, count),
                "application/strategic-merge-patch+json")


def extender(url, resources, has_filter=False, timeout="30s"):
    """kube-scheduler's entry for a binder of pods that ask for one of these resources."""
    entry = {"urlPrefix": url, "bindVerb": "bind", "weight": 1, "nodeCacheCapable": True,
             "ignorable": False, "httpTimeout": timeout,
             "managedResources": [{"name": resource, "ignoredByScheduler": False}
                                  for resource in _all(resources)]}
    if has_filter:
        entry["filterVerb"] = "filter"
    return entry


def filter_extender(url, timeout="30s"):
    """kube-scheduler's entry for HAMi's filter where it stands beside hamid's. Two entries may
    not name the same managed resource, so that this one is asked about each pod."""
    return {"urlPrefix": url, "filterVerb": "filter", "weight": 1, "nodeCacheCapable": True,
            "ignorable": False, "httpTimeout": timeout}
