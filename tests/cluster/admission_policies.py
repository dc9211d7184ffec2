# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The policies of deploy/admission: who gets through and who does not, on the real API server.

First a burst, in which hamid has the accounts of the manifests and its node's token is bound to that
node. Then attempts of all sorts: everybody may do everything by RBAC, so that what is refused is
refused by a policy. At last an operator with hamictl, who may do what the roles say and no more.
"""

from cluster import (admission_attempts, api, burst, control_plane, deployment, manifests, operators,
                     processes, rbac, rbac_scene)

FIRST_MINOR = 30
RBAC = "/apis/rbac.authorization.k8s.io/v1"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
NAMES = ("hami-nodelock-bindings", "hami-nodelock-leases", "hami-nodelock-nodes",
         "hami-nodelock-pods")
FILES = ("admission/writers.yaml", "admission/nodes.yaml", "admission/pods.yaml",
         "admission/bindings.yaml", "admission/leases.yaml")
NODES = ("gpu-1", "gpu-2")
# name -> (namespace, bound to a pod on)
ACCOUNTS = {
    "hamid-scheduler": (deployment.NAMESPACE, None), "hamid-node": (deployment.NAMESPACE, burst.NODE),
    "hami-scheduler": ("kube-system", None), "hami-device-plugin": ("kube-system", "gpu-1"),
    "generic-garbage-collector": ("kube-system", None), "author": ("default", None)}


def run(results, plane):
    if plane.minor < FIRST_MINOR:
        results.skip("admission-policies", f"Kubernetes {plane.version} has no such policies")
        return {}
    client = plane.client()
    prepare(plane, client)
    if plane.version == control_plane.DEFAULT_VERSION:
        check_types(results, plane, client)
    deployment.wait_until(lambda: refuses(client, plane), 30, "the policies' effect")
    values = burst.run_leases(results, plane, "admission-policies")
    for name, child in list(plane.group.children):
        if name not in ("etcd", "kube-apiserver"):
            plane.group.stop(child)
    become(plane, client, "hamid-node", deployment.NAMESPACE, NODES[0])
    if plane.minor >= 31:
        node = client.need("GET", f"/api/v1/nodes/{NODES[0]}").body
        deployment.is_user(plane, "hamid-node-outside", deployment.token(
            client, "hamid-node", deployment.NAMESPACE, node))
    attempts = admission_attempts.Attempts(plane, NODES)
    for attempt in attempts.all():
        attempts.check(results, attempt)
    check_stranger(results, plane)
    if plane.version == control_plane.DEFAULT_VERSION:
        check_templates(results, plane, client)
    client.need("DELETE", RBAC + "/clusterrolebindings/test-everything")
    deployment.wait_until(lambda: plane.client("operator").request(
        "GET", "/api/v1/nodes").code == 403, 30, "the end of the role for everybody")
    operators.check(results, plane, client)
    return {"attempts": attempts.count, "burst": values}


def prepare(plane, client):
    """Nodes, accounts with tokens, a role that allows all of them everything, then the policies."""
    for node in NODES:
        manifests.make_node(client, node, burst.RESOURCE, 0)  # no room for the burst
    for account, (namespace, node) in ACCOUNTS.items():
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        if client.request("GET", f"{path}/{account}").code == 404:
            client.need("POST", path, {"apiVersion": "v1", "kind": "ServiceAccount",
                                       "metadata": {"name": account}})
        become(plane, client, account, namespace, node)
    deployment.is_user(plane, "hamid-node-unbound", deployment.token(client, "hamid-node"))
    allow_everything(client)
    deployment.apply(client, *FILES)


def check_stranger(results, plane):
    """hamid under an account that may do everything, but is not listed as a writer."""
    with rbac.Filter() as url:
        scene = rbac_scene.Scheduler(plane, "stranger", plane.kubeconfig("author"), "annotation", url)
        scene.prepare()
        scene.play()
        plane.group.stop(scene.child)
    part = "admission-policies: hamid under an account that is not listed"
    results.check(scene.outcome != "complete", f"{part} binds nothing", scene.outcome)
    results.check('Refused by an admission policy or plugin: patch nodes"' in scene.log
                  and "hami-nodelock-nodes" in scene.log, f"{part} says which policy refuses it",
                  scene.log[-600:])
    label = 'hamid_api_denied_total{verb="patch",resource="nodes",cause="admission"}'
    results.check(label in scene.metrics, f"{part} counts it", scene.outcome)


def become(plane, client, account, namespace, node):
    """plane.client(account) is that account from now on, on that node where one is named."""
    pod = make_agent(client, account, namespace, node) if node else None
    deployment.is_user(plane, account, deployment.token(client, account, namespace, pod), namespace)


def make_agent(client, account, namespace, node):
    """A pod of that account that runs on that node, to which its token can be bound."""
    pod = manifests.pod(f"{account}-{node}")
    pod["metadata"]["namespace"] = namespace
    pod["spec"].update(nodeName=node, serviceAccountName=account)
    made = client.need("POST", f"/api/v1/namespaces/{namespace}/pods", pod).body
    client.need("PATCH", f"/api/v1/namespaces/{namespace}/pods/{account}-{node}/status",
                {"status": {"phase": "Running"}}, api.MERGE_PATCH)
    return made


def allow_everything(client):
    groups = ["system:serviceaccounts", "system:authenticated"]
    client.need("POST", RBAC + "/clusterroles", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "test-everything"},
        "rules": [{"apiGroups": ["", "coordination.k8s.io"], "verbs": ["*"], "resources": [
            "nodes", "nodes/status", "pods", "pods/status", "pods/binding", "bindings",
            "pods/ephemeralcontainers", "leases"]}]})
    client.need("POST", RBAC + "/clusterrolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "test-everything"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": "test-everything"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}
                     for group in groups]})


def start_controllers(plane, names):
    """kube-controller-manager, each controller under the account that it has in a cluster."""
    program = control_plane.find_program(plane.version, "kube-controller-manager")
    return plane.group.start("kube-controller-manager", [
        program, f"--kubeconfig={plane.kubeconfig()}", "--leader-elect=false",
        f"--controllers={names}", "--use-service-account-credentials=true", "--secure-port=0",
        "--bind-address=127.0.0.1"])


def check_types(results, plane, client):
    """kube-controller-manager looks at the expressions' types and writes what it does not like."""
    child = start_controllers(plane, "validatingadmissionpolicy-status-controller")

    def all_looked_at():
        if child.poll() is not None:
            raise processes.Failed("kube-controller-manager ended:\n"
                                   + plane.group.last_words("kube-controller-manager"))
        return len([one for one in policies(client) if "typeChecking" in one.get("status", {})]) \
            == len(NAMES)

    deployment.wait_until(all_looked_at, 60, "the status of the policies")
    plane.group.stop(child)
    found = {one["metadata"]["name"]: one["status"]["typeChecking"] for one in policies(client)}
    results.check(found == dict.fromkeys(NAMES, {}),
                  "admission-policies: no expression has a doubtful type", found)


def check_templates(results, plane, client):
    """Whoever can't make such a pod can't have a controller make it either."""
    for name, key in (("chosen", "nvidia.com/use-gpuuuid"), ("forged", "hami.io/vgpu-node")):
        labels = {"app": name}
        pod = manifests.pod(name, annotations={key: "x"})
        client.need("POST", "/apis/apps/v1/namespaces/default/replicasets", {
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels, "annotations": {key: "x"}},
                "spec": {"containers": pod["spec"]["containers"]}}}})
    child = start_controllers(plane, "replicaset-controller")

    def made(name):
        return client.need("GET", "/api/v1/namespaces/default/pods"
                           f"?labelSelector=app%3D{name}").body["items"]

    def events():
        return [event["message"] for event in client.need(
            "GET", "/api/v1/namespaces/default/events"
            "?fieldSelector=involvedObject.name%3Dforged").body["items"]]

    deployment.wait_until(lambda: made("chosen") and events(), 60, "what a ReplicaSet does")
    plane.group.stop(child)
    results.check(not made("forged") and any("hami-nodelock-pods" in text for text in events()),
                  "admission-policies: a template with HAMi's annotations makes no pod, and says why",
                  events())


def policies(client):
    return client.need("GET", POLICIES).body["items"]


def refuses(client, plane):
    """The policies reach the server's admission a moment after they were made, one by one."""
    author = plane.client("author")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "probe"}}
    pod = manifests.pod("probe", annotations={"hami.io/vgpu-node": "x"})
    binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "x"},
               "metadata": {"name": "none", "annotations": {"hami.io/vgpu-node": "x"}}}
    return all(answer.code == 403 for answer in (
        author.request("POST", "/apis/coordination.k8s.io/v1/namespaces/hami-nodelock/leases"
                       "?dryRun=All", lease),
        author.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod),
        author.request("POST", "/api/v1/namespaces/default/pods/none/binding?dryRun=All", binding),
        author.request("PATCH", f"/api/v1/nodes/{NODES[0]}?dryRun=All", {"metadata": {
            "annotations": {"hami.io/probe": "x"}}}, api.MERGE_PATCH)))
