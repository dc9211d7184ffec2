# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Attempts to write what the policies guard, and what has to become of each."""

import collections
import itertools

from cluster import api, manifests

# who: a client of the plane; fragment: what the refusal has to say. send() answers an api.Answer.
Attempt = collections.namedtuple("Attempt", "who what send code fragment")

LEASES = "/apis/coordination.k8s.io/v1/namespaces/hami-nodelock/leases"
PODS = "/api/v1/namespaces/default/pods"
WRITERS = ("admin", "hamid-scheduler", "hami-scheduler")
ON_ONE_NODE = ("hamid-node", "hami-device-plugin")
STRANGERS = ("author", "kubelet", "node", "operator")
LOCKS = ("hami.io/mutex.lock", "hami.io/mutex.lease", "hami.io/mutex.lock.1", "hami.io/mutex.agent",
         "cambricon.com/dsmlu.lock", "cambricon.com/dsmlu.lease", "cambricon.com/dsmlu.lease.12",
         "4pd.io/mutex.lock", "hamivgpu", "hamivgpu.lease", "gpu", "gpu.3",
         "hami.io/node-nvidia-register", "hami.io/node-handshake")
NOT_LOCKS = ("gpu-count", "hamivgpus", "example.com/hami.io", "cambricon.com/dsmlu", "nvidia.com/gpu")
DEVICES = ("hami.io/bind-phase", "hami.io/bind-time", "hami.io/vgpu-node", "hami.io/vgpu-time",
           "hami.io/vgpu-devices-to-allocate", "hami.io/vgpu-devices-allocated",
           "hami.io/Ascend910B-devices-allocated", "hami.io/kunlun-allocated",
           "hami.io/vgpu-mig-allocations", "hami.io/mutex.fence", "hami.io/mutex.done",
           "hami.io/mutex.revoked", "hami.io/use-uuid", "hami.io/use--uuidx")
USERS_OWN = ("nvidia.com/use-gpuuuid", "nvidia.com/nouse-gputype", "hami.io/gpu-scheduler-policy",
             "hami.io/node-scheduler-policy", "hami.io/vulkan", "hami.io/use-Ascend910B-uuid",
             "hami.io/no-use-MR-V100-uuid", "huawei.com/vnpu-mode", "example.com/any")
TO_BE_WRITER = "bind it to ClusterRole hami-nodelock-schedule"
BY_HAND = "use hamictl release as a member of group hami-nodelock-operators"


class Attempts:
    def __init__(self, plane, nodes):
        self.plane = plane
        self.nodes = nodes
        self.admin = plane.client()
        self.clients = {}
        self.numbers = itertools.count()
        self.count = 0
        for node in nodes:
            pod = manifests.pod(f"work-{node}")
            pod["spec"]["nodeName"] = node
            self.admin.need("POST", PODS, pod)

    def check(self, results, attempt):
        answer = attempt.send(self.client(attempt.who))
        message = str(answer.body.get("message", ""))
        is_right = answer.code in attempt.code and (
            answer.code != 403 or ("denied request" in message and attempt.fragment in message))
        results.check(is_right, f"admission-policies: {attempt.who}: {attempt.what}", answer)
        self.count += 1

    def client(self, who):
        if who not in self.clients:
            self.clients[who] = self.plane.client(who)
        return self.clients[who]

    def all(self):
        yield from self._writers()
        yield from self._on_one_node()
        yield from self._strangers()
        yield from self._people()
        yield from self._leases()

    # ---- what is tried ----------------------------------------------------------

    def _annotate(self, path, key, is_kept=True):
        """A new value each time, or none."""
        def send(client):
            value = f"value-{next(self.numbers)}" if is_kept else None
            return client.request("PATCH", path, {"metadata": {"annotations": {key: value}}},
                                  api.MERGE_PATCH)
        return send

    def _node(self, index, part="", key="hami.io/mutex.lock"):
        return self._annotate(f"/api/v1/nodes/{self.nodes[index]}{part}", key)

    def _pod(self, index, part="", key="hami.io/bind-phase"):
        return self._annotate(f"{PODS}/work-{self.nodes[index]}{part}", key)

    def _create(self, key):
        def send(client):
            return client.request("POST", PODS, manifests.pod(
                f"new-{next(self.numbers)}", annotations={key: "x"}))
        return send

    def _bind(self, annotations, legacy=False):
        def send(client):
            name = f"bind-{next(self.numbers)}"
            self.admin.need("POST", PODS, manifests.pod(name))
            path = "/api/v1/namespaces/default/bindings" if legacy else f"{PODS}/{name}/binding"
            return client.request("POST", path, {
                "apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "gpu-1"},
                "metadata": {"name": name, "annotations": annotations}})
        return send

    def _lease(self, method):
        """One that an administrator made, with a lock in it."""
        def send(client):
            name = f"lease-{next(self.numbers)}"
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {
                "name": name, "annotations": {"hami.io/mutex.lock": "x",
                                              "hami.io/mutex.lease": "y"}}}
            if method == "POST":
                return client.request("POST", LEASES, lease)
            self.admin.need("POST", LEASES, lease)
            if method == "DELETE":
                return client.request("DELETE", f"{LEASES}/{name}")
            body = {"spec": {"holderIdentity": "me"}, "metadata": {"annotations": {
                "hami.io/mutex.lock": None if method == "release" else "z",
                "hami.io/mutex.lease": "w"}}}
            return client.request("PATCH", f"{LEASES}/{name}", body, api.MERGE_PATCH)
        return send

    # ---- who gets through -------------------------------------------------------

    def _writers(self):
        for who in WRITERS:
            for part in ("", "/status"):
                yield Attempt(who, f"locks a node{part}", self._node(0, part), (200,), "")
            for key in LOCKS:
                yield Attempt(who, f"writes {key} of a node", self._node(1, key=key), (200,), "")
            for key in DEVICES:
                yield Attempt(who, f"writes {key} of a pod", self._pod(1, key=key), (200,), "")
            yield Attempt(who, "binds with a phase", self._bind({"hami.io/bind-phase": "x"}),
                          (201,), "")
            for method, code in (("POST", 201), ("PATCH", 200), ("DELETE", 200)):
                yield Attempt(who, f"{method} a Lease", self._lease(method), (code,), "")

    def _on_one_node(self):
        for who in ON_ONE_NODE:
            yield Attempt(who, "writes its own node", self._node(0), (200,), "")
            yield Attempt(who, "writes a pod of its own node", self._pod(0), (200,), "")
            elsewhere = "serves one node alone"
            for part in ("", "/status"):
                yield Attempt(who, f"writes another node{part}", self._node(1, part), (403,),
                              f"{elsewhere}, the one that its token is bound to, and that is not "
                              + self.nodes[1])
            pods = "serves the pods of one node alone"
            yield Attempt(who, "writes a pod of another node", self._pod(1), (403,), pods)
            yield Attempt(who, "writes any other key of another node's pod",
                          self._pod(1, key="example.com/a"), (403,), pods)
            yield Attempt(who, "writes any other key of another node",
                          self._node(1, key="example.com/a"), (403,), elsewhere)
            yield Attempt(who, "makes a pod that is on no node", self._create("example.com/a"),
                          (403,), "this pod is on none yet")
            yield Attempt(who, "binds with a phase", self._bind({"hami.io/bind-phase": "x"}),
                          (403,), TO_BE_WRITER)
            yield Attempt(who, "writes a Lease", self._lease("PATCH"), (403,), TO_BE_WRITER)
        yield from self._outside()
        unbound = "hamid-node-unbound"
        yield Attempt(unbound, "writes a node with a token that is bound to none", self._node(0),
                      (403,), "use the token of the pod on that node")
        yield Attempt(unbound, "writes a pod with it", self._pod(0), (403,),
                      "use the token of the pod on that node")

    def _outside(self):
        """hamid node outside of a pod, by a token that is bound to the Node itself."""
        who = "hamid-node-outside"
        if who in self.plane.tokens:
            yield Attempt(who, "writes its own node", self._node(0), (200,), "")
            yield Attempt(who, "writes a pod of its own node", self._pod(0), (200,), "")
            yield Attempt(who, "writes another node", self._node(1), (403,), "serves one node alone")
            yield Attempt(who, "writes a pod of another node", self._pod(1), (403,),
                          "serves the pods of one node alone")

    # ---- who does not -----------------------------------------------------------

    def _strangers(self):
        for who in STRANGERS:
            for part in ("", "/status"):
                yield Attempt(who, f"locks a node{part}", self._node(0, part), (403,), BY_HAND)
                yield Attempt(who, f"writes a phase of a pod{part}", self._pod(0, part), (403,),
                              "remove it from the pod or its template")
            yield Attempt(who, "heartbeats of a node", self._node(0, "/status", "example.com/beat"),
                          (200,), "")
            yield Attempt(who, "binds with a phase", self._bind({"hami.io/bind-phase": "x"}),
                          (403,), "bind without it")
            yield Attempt(who, "binds with a phase, the old way",
                          self._bind({"hami.io/bind-phase": "x"}, legacy=True), (403,),
                          "bind without it")
            yield Attempt(who, "binds without", self._bind({"example.com/a": "x"}), (201,), "")
        for key in LOCKS:
            yield Attempt("author", f"writes {key} of a node", self._node(0, key=key), (403,),
                          f"annotation {key} of a node")
        for key in NOT_LOCKS:
            yield Attempt("author", f"writes {key} of a node", self._node(0, key=key), (200,), "")
        for key in DEVICES:
            yield Attempt("author", f"makes a pod with {key}", self._create(key), (403,),
                          f"annotation {key} of a pod")
        for key in USERS_OWN:
            yield Attempt("author", f"makes a pod with {key}", self._create(key), (201,), "")
        yield Attempt("author", "removes a phase", self._annotate(
            f"{PODS}/work-{self.nodes[1]}", "hami.io/bind-phase", False), (403,), TO_BE_WRITER)
        yield Attempt("author", "makes a pod with as many annotations as there is room for",
                      self._crowded, (201,), "")
        yield Attempt("author", "makes a Node that is locked", self._locked_node, (403,), BY_HAND)

    def _crowded(self, client):
        annotations = {f"example.com/annotation-{number:05d}": "x" * 12 for number in range(6000)}
        return client.request("POST", PODS, manifests.pod("crowded", annotations=annotations))

    def _locked_node(self, client):
        node = manifests.node("locked")
        node["metadata"]["annotations"] = {"hami.io/mutex.lock": "x"}
        return client.request("POST", "/api/v1/nodes", node)

    # ---- people -----------------------------------------------------------------

    def _people(self):
        node, pod = f"/api/v1/nodes/{self.nodes[1]}", f"{PODS}/work-{self.nodes[1]}"

        def release(client):
            return client.request("PATCH", node, [
                {"op": "remove", "path": api.pointer("hami.io/mutex.lock")},
                {"op": "replace", "path": api.pointer("hami.io/mutex.lease"),
                 "value": '{"version":1,"fence":"1"}'}], api.JSON_PATCH)

        who = "operator"
        yield Attempt(who, "releases a lock", release, (200,), "")
        yield Attempt(who, "revokes an owner", self._annotate(pod, "hami.io/mutex.revoked"),
                      (200,), "")
        yield Attempt(who, "takes a lock", self._annotate(node, "cambricon.com/dsmlu.lock"),
                      (403,), BY_HAND)
        yield Attempt(who, "removes the devices that a node has registered", self._annotate(
            node, "hami.io/node-nvidia-register", False), (403,), BY_HAND)
        yield from self._beside(node)
        yield Attempt(who, "writes that a pod was served", self._annotate(pod, "hami.io/mutex.done"),
                      (403,), "of a pod")

    def _beside(self, node):
        """Pods a and b are side by side under a's cover; one is released, and the cover is b's then."""
        def lay(values):
            self.admin.need("PATCH", node, {"metadata": {"annotations": {
                f"hami.io/mutex.{key}": value for key, value in values.items()}}}, api.MERGE_PATCH)

        def cover(name, is_released=True):
            def send(client):
                lay({"lock": "a", "lease": "a", "lock.1": "a", "lock.2": "b", "lock.3": None})
                first = {"hami.io/mutex.lock.1": None, "hami.io/mutex.lease.1": "memory"}
                return client.request("PATCH", node, {"metadata": {"annotations": {
                    "hami.io/mutex.lock": name, "hami.io/mutex.lease": name,
                    **(first if is_released else {})}}}, api.MERGE_PATCH)
            return send

        def invent(client):
            lay({"lock": "a", "lock.1": "a", "lock.2": None})
            return client.request("PATCH", node, {"metadata": {"annotations": {
                "hami.io/mutex.lock": "c", "hami.io/mutex.lock.2": "c"}}}, api.MERGE_PATCH)

        who = "operator"
        yield Attempt(who, "releases a pod that is side by side with another", cover("b"), (200,), "")
        yield Attempt(who, "covers them by a name of his own", cover("c"), (403,), BY_HAND)
        yield Attempt(who, "covers them by a pod that he makes one of them", invent, (403,), BY_HAND)
        yield Attempt("author", "gives their cover to another of them", cover("b", False), (403,),
                      BY_HAND)

    def _leases(self):
        for who in ("author", "kubelet", "node"):
            for method in ("POST", "PATCH", "release", "DELETE"):
                yield Attempt(who, f"{method} a Lease", self._lease(method), (403,), BY_HAND)
        yield Attempt("operator", "releases the lock of a Lease", self._lease("release"), (200,), "")
        for method in ("POST", "PATCH", "DELETE"):
            yield Attempt("operator", f"{method} a Lease", self._lease(method), (403,), BY_HAND)
        yield Attempt("generic-garbage-collector", "deletes a Lease whose Node is gone",
                      self._lease("DELETE"), (200,), "")
        yield Attempt("author", "makes a Lease elsewhere", lambda client: client.request(
            "POST", LEASES.replace("hami-nodelock", "default"), {
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": "elsewhere"}}), (201,), "")
