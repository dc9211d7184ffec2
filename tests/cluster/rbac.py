# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The roles of deploy/rbac, held against what hamid asks for.

Under the role as it is hamid does all that it can do, and the audit log shows each permission in use
and nothing refused. Then once for each permission, all at a time, under the role without that one:
hamid has to say by name what it lacks, in its log, its metrics and, unless it is about events, in its
readiness.
"""

import concurrent.futures
import http.server
import json
import threading

from cluster import api, deployment, permissions, rbac_scene

LOOK_AT = {"scheduler": ("rbac/scheduler.yaml",),
           "leases": ("rbac/scheduler.yaml", "rbac/scheduler-leases.yaml"),
           "node": ("rbac/node.yaml",)}
STORES = {"scheduler": "annotation", "leases": "lease+mirror"}
RBAC = "/apis/rbac.authorization.k8s.io/v1"


class Filter:
    """An extender whose filter takes every node: what hamid passes filter on to."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):  # noqa: N802
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = json.dumps({"NodeNames": asked["NodeNames"]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True)
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Case:
    """One account: the role of a variant, whole or without one permission."""

    def __init__(self, variant, permission, number):
        self.variant = variant
        self.permission = permission
        self.name = f"{variant}-{number}"
        self.user = f"system:serviceaccount:{deployment.NAMESPACE}:{self.name}"
        self.scene = None

    @property
    def what(self):
        verb, resource, _ = self.permission
        return f"{verb} {resource.partition('.')[0]}"


def roles(client, variant):
    """The roles of a variant as the server read them from the manifests."""
    return [client.need("GET", document.path).body for name in LOOK_AT[variant]
            for document in deployment.documents(name) if document.kind in ("Role", "ClusterRole")]


def make_account(plane, client, case):
    """A service account with the variant's roles, but for one permission; its kubeconfig."""
    client.need("POST", f"/api/v1/namespaces/{deployment.NAMESPACE}/serviceaccounts",
                {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": case.name}})
    for number, role in enumerate(roles(client, case.variant)):
        namespace, kind = role["metadata"].get("namespace"), role["kind"]
        base = RBAC + (f"/namespaces/{namespace}" if namespace else "")
        name = f"{case.name}-{number}"
        client.need("POST", f"{base}/{kind.lower()}s", {
            "apiVersion": role["apiVersion"], "kind": kind, "metadata": {"name": name},
            "rules": permissions.without(role, case.permission)})
        client.need("POST", f"{base}/{kind.lower()}bindings", {
            "apiVersion": role["apiVersion"], "kind": f"{kind}Binding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": case.name,
                          "namespace": deployment.NAMESPACE}]})
    deployment.is_user(plane, case.name, deployment.token(client, case.name))
    return plane.kubeconfig(case.name)


def cases(client):
    """The whole role of each variant first; then each permission that the variant adds."""
    found, seen = [], set()
    for variant in LOOK_AT:
        allowed = permissions.of_roles(roles(client, variant))
        missing = sorted(allowed - seen, key=str)
        found += [Case(variant, one, number) for number, one in enumerate([None, *missing])]
        seen |= allowed if variant == "scheduler" else set()
    return found


def run(results, plane):
    client = plane.client()
    everyone = cases(client)
    with Filter() as url:
        for case in everyone:
            kubeconfig = make_account(plane, client, case)
            case.scene = (rbac_scene.Node(plane, case.name, kubeconfig) if case.variant == "node"
                          else rbac_scene.Scheduler(plane, case.name, kubeconfig,
                                                    STORES[case.variant], url))
            case.scene.prepare()
        results.say(f"{len(everyone)} times hamid, each with an account of its own")
        with concurrent.futures.ThreadPoolExecutor(len(everyone)) as pool:
            list(pool.map(lambda case: case.scene.play(), everyone))
    check_return(results, client, everyone)
    for case in everyone:
        plane.group.stop(case.scene.child)
    lines = plane.audit_log.read_text(encoding="utf-8").splitlines()
    for case in everyone:
        judge_whole(results, client, case, lines) if case.permission is None \
            else judge_lack(results, case)
    check_secrets(results, plane, everyone)
    return {"permissions": sum(case.permission is not None for case in everyone)}


def check_return(results, client, everyone):
    """Whoever gets the permission that it lacked is ready as soon as it has used it."""
    case = next(case for case in everyone if case.permission == ("patch", "nodes", None)
                and case.variant == "scheduler")
    whole = next(role for role in roles(client, case.variant) if role["kind"] == "ClusterRole")
    client.need("PATCH", f"{RBAC}/clusterroles/{case.name}-0", {"rules": whole["rules"]},
                api.MERGE_PATCH)
    pod = case.scene.make_pod("again")
    errors = []

    def is_bound():
        errors.append(case.scene.bind(pod).get("Error"))
        return not errors[-1]

    deployment.wait_until(is_bound, 30, "the binding of a pod with the permission back")
    readiness = case.scene.ask("/readyz")
    results.check(readiness.startswith("ok"),
                  "rbac: with the permission back hamid is ready at once", readiness)
    results.check("Permission is there now: patch nodes" in case.scene.log,
                  "rbac: and says that it is", case.scene.log[-600:])


def check_secrets(results, plane, everyone):
    """At the highest verbosity, with requests that succeed and others that are refused."""
    said = {case.name: case.scene.log + case.scene.metrics + case.scene.readiness
            for case in everyone}
    leaks = [case.name for case in everyone for part in plane.tokens[case.name].split(".")
             if part in said[case.name]]
    results.check(not leaks, "rbac: no part of a token is in a log, a metric or a probe", leaks)
    silent = [name for name, text in said.items() if "Will use the API server" not in text]
    results.check(not silent, "rbac: each of them has written a log", silent)


def judge_whole(results, client, case, lines):
    part = f"rbac: {case.variant}"
    allowed, forbidden = permissions.used(lines, case.user)
    role = permissions.of_roles(roles(client, case.variant))
    results.check(case.scene.outcome == "complete", f"{part}: the role is enough for every step",
                  case.scene.outcome)
    results.check(not forbidden, f"{part}: nothing was refused", sorted(forbidden))
    results.check(not permissions.uncovered(role, allowed),
                  f"{part}: nothing was allowed from elsewhere",
                  permissions.uncovered(role, allowed))
    results.check(not permissions.unused(role, allowed), f"{part}: each permission was used",
                  permissions.unused(role, allowed))


def judge_lack(results, case):
    part = f"rbac: {case.variant} without {case.what}"
    verb, resource, _ = case.permission
    label = (f'hamid_api_denied_total{{verb="{verb}",resource="{resource.partition(".")[0]}",'
             'cause="permission"}')
    results.check(case.scene.outcome != "complete", f"{part}: the scene fails",
                  case.scene.outcome)
    results.check(f'Missing permission: {case.what}"' in case.scene.log,
                  f"{part}: the log names it", case.scene.log[-600:])
    results.check(label in case.scene.metrics, f"{part}: the metrics name it",
                  case.scene.outcome)
    if resource != "events":
        results.check(f"missing permission: {case.what}" in case.scene.readiness,
                      f"{part}: the readiness names it", case.scene.readiness)
