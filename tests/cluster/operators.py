# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""hamictl in the hands of an operator: under the roles of deploy/rbac, with the policies on."""

import subprocess
import time

from cluster import api, deployment, manifests, permissions, suites

ROLES = ("rbac/operator.yaml", "rbac/doctor.yaml")
NODE = "gpu-operated"
USER = "operator"
LOCK = "hami.io/mutex.lock"


def check(results, plane, client):
    """Every command of hamictl that asks the server; and what its audit log says of them."""
    lines_before = len(plane.audit_log.read_text(encoding="utf-8").splitlines())
    deployment.apply(client, *ROLES)
    deployment.wait_until(lambda: plane.client(USER).request("GET", "/api/v1/nodes").code == 200, 30,
                          "the operator's role")
    manifests.make_node(client, NODE, "nvidia.com/gpu", 0)
    pod = manifests.pod("operated")
    pod["spec"]["schedulerName"] = "nobody"
    client.need("POST", "/api/v1/namespaces/default/pods", pod)
    client.need("PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {"annotations": {
        LOCK: "2026-01-02T03:04:05Z,default,operated"}}}, api.MERGE_PATCH)
    token = check_looks(results, plane)
    released = hamictl(plane, "release", NODE, "--yes", "--expect", token)
    node = client.need("GET", f"/api/v1/nodes/{NODE}").metadata.get("annotations") or {}
    owner = client.need("GET", "/api/v1/namespaces/default/pods/operated").metadata
    results.check(released.returncode == 0 and LOCK not in node,
                  "operators: hamictl release frees the node", released.stdout)
    results.check("hami.io/mutex.revoked" in owner["annotations"],
                  "operators: and revokes the owner before", owner)
    doctor = hamictl(plane, "doctor", "--as",
                     f"system:serviceaccount:{deployment.NAMESPACE}:hamid-scheduler")
    results.check(" checks: " in doctor.stdout and "is forbidden" not in doctor.stdout,
                  "operators: hamictl doctor is let look at everything", doctor.stdout)
    check_roles(results, plane, client, lines_before)


def check_looks(results, plane):
    locks = hamictl(plane, "locks", "-o", "json")
    results.check(locks.returncode == 0 and NODE in locks.stdout, "operators: hamictl locks",
                  locks.stdout)
    for words in (("queue", NODE), ("explain", "default/operated")):
        done = hamictl(plane, *words)
        results.check("is forbidden" not in done.stdout, f"operators: hamictl {words[0]}", done.stdout)
    watched = watch(plane)
    results.check(NODE in watched, "operators: hamictl watch", watched)
    found = [word for word in hamictl(plane, "locks", "--node", NODE).stdout.split()
             if len(word) == 16 and not set(word) - set("0123456789abcdef")]
    return found[0] if found else "0" * 16


def words_of(plane, *words):
    return [str(suites.BUILD / "daemon/hamictl/hamictl"), *words,
            f"--kubeconfig={plane.kubeconfig(USER)}"]


def hamictl(plane, *words):
    return subprocess.run(words_of(plane, *words), stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False,
                          timeout=60)


def watch(plane):
    """What watch prints until the node is in it."""
    file = plane.folder / "watch.out"
    with open(file, "w", encoding="utf-8") as out:
        child = subprocess.Popen(words_of(plane, "watch"), stdout=out, stderr=out,
                                 stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while NODE not in file.read_text(encoding="utf-8") and time.monotonic() < deadline:
        time.sleep(0.05)
    child.terminate()
    child.wait(20)
    return file.read_text(encoding="utf-8")


def check_roles(results, plane, client, lines_before):
    roles = [client.need("GET", document.path).body for name in ROLES
             for document in deployment.documents(name) if document.kind == "ClusterRole"]
    lines = plane.audit_log.read_text(encoding="utf-8").splitlines()[lines_before:]
    asked, forbidden = permissions.used(
        (line for line in lines if '"userAgent":"hamictl' in line), USER)
    allowed = permissions.of_roles(roles)
    results.check(not forbidden, "operators: nothing was refused", sorted(forbidden))
    results.check(not permissions.unused(allowed, asked), "operators: each permission was used",
                  permissions.unused(allowed, asked))
