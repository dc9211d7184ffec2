# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""One patch of a pod makes every Binding in flight fail: what a takeover rests on."""

from cluster import api, manifests

NODE = "revocation-node"
REVOKED = "hami.io/mutex.revoked"


def run(results, plane):
    client = plane.client("hamid-scheduler")
    admin = plane.client()
    manifests.make_node(admin, NODE, "nvidia.com/gpu")
    _stale_binding(results, admin, client)
    _forms(results, admin, client)
    _bound_pod(results, admin, client)
    _other_uid(results, admin, client)


def _create(admin, name, annotations=None):
    """A pod that no scheduler looks at; answers its metadata."""
    body = manifests.pod(name, annotations=annotations)
    body["spec"]["schedulerName"] = "nobody"
    return admin.need("POST", "/api/v1/namespaces/default/pods", body).metadata


def _path(name, subresource=""):
    return f"/api/v1/namespaces/default/pods/{name}{subresource}"


def _guards(uid):
    return [{"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "test", "path": "/spec/nodeName", "value": None}]


def _revoke(client, metadata, value):
    patch = _guards(metadata["uid"]) + [
        {"op": "add", "path": api.pointer(REVOKED), "value": value}]
    return client.request("PATCH", _path(metadata["name"]), patch, api.JSON_PATCH)


def _bind(client, metadata, version=None, uid=None):
    return client.request("POST", _path(metadata["name"], "/binding"), {
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": metadata["name"], "uid": uid or metadata["uid"],
                     "resourceVersion": version or metadata["resourceVersion"],
                     "annotations": {"hami.io/bind-phase": "allocating"}},
        "target": {"apiVersion": "v1", "kind": "Node", "name": NODE}})


def _stale_binding(results, admin, client):
    pod = _create(admin, "revoked-in-flight", {"example.com/some": "map"})
    revoked = _revoke(client, pod, f"{NODE},1,test_1,1")
    results.check(revoked.code == 200, "revocation: an unbound pod takes the patch", revoked)
    late = _bind(client, pod)
    results.check(late.code == 409,
                  "revocation: a Binding with the version from before the patch gets 409", late)
    message = late.body.get("message", "")
    results.check("recondition failed: ResourceVersion" in message
                  or "the object has been modified" in message,
                  "revocation: and its message names the version", message)
    now = admin.need("GET", _path(pod["name"]))
    results.check("nodeName" not in now.body["spec"], "revocation: and the pod stays unbound",
                  now.body["spec"].get("nodeName"))
    same = _revoke(client, pod, f"{NODE},1,test_1,1")
    results.check(same.metadata.get("resourceVersion") == now.metadata["resourceVersion"],
                  "revocation: the same value again leaves the version, so values must differ",
                  same)
    fresh = _bind(client, now.metadata)
    results.check(fresh.code == 201, "revocation: a Binding with the version after it passes",
                  fresh)
    bound = admin.need("GET", _path(pod["name"]))
    results.check(bound.body["spec"].get("nodeName") == NODE
                  and bound.metadata["annotations"].get("hami.io/bind-phase") == "allocating",
                  "revocation: and brings node and annotations in one write", bound)


def _forms(results, admin, client):
    pod = _create(admin, "revoked-without-a-map")
    refused = _revoke(client, pod, f"{NODE},2,test_1,2")
    results.check(refused.code == 422, "revocation: without an annotations map it gets 422",
                  refused)
    whole = _guards(pod["uid"]) + [
        {"op": "test", "path": "/metadata/annotations", "value": None},
        {"op": "add", "path": "/metadata/annotations", "value": {REVOKED: "x,2,test_1,3"}}]
    taken = client.request("PATCH", _path(pod["name"]), whole, api.JSON_PATCH)
    results.check(taken.code == 200, "revocation: the form that adds the map passes then",
                  taken)
    results.check(_bind(client, pod).code == 409,
                  "revocation: and it stops a Binding in flight as well")


def _bound_pod(results, admin, client):
    pod = _create(admin, "bound-before", {"example.com/some": "map"})
    bound = _bind(client, pod)
    late = _revoke(client, pod, f"{NODE},3,test_1,4")
    results.check(bound.code == 201 and late.code == 422,
                  "revocation: a pod that is bound already refuses it with 422", late)
    again = _bind(client, admin.need("GET", _path(pod["name"])).metadata)
    results.check(again.code == 409 and again.body.get("details", {}).get("kind")
                  == "pods/binding", "revocation: a second Binding gets 409 and says why",
                  again)


def _other_uid(results, admin, client):
    pod = _create(admin, "another-uid", {"example.com/some": "map"})
    other = "11111111-2222-3333-4444-555555555555"
    wrong = _revoke(client, {**pod, "uid": other}, f"{NODE},4,test_1,5")
    results.check(wrong.code == 422, "revocation: another pod of that name refuses it", wrong)
    bound = _bind(client, pod, uid=other)
    results.check(bound.code == 409, "revocation: a Binding with another UID gets 409", bound)
