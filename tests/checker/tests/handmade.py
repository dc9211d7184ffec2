# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Audit logs made by hand: a node, some pods, and what was done to them when."""

import datetime
import json

from checker import events, figures

LOCK = "hami.io/mutex.lock"
LEASE = "hami.io/mutex.lease"
PHASE = "hami.io/bind-phase"
DONE = "hami.io/mutex.done"
AGENT = "hami.io/mutex.agent"
REVOKED = "hami.io/mutex.revoked"
DEVICES = "hami.io/vgpu-devices-allocated"
GPU = "nvidia.com/gpu"


class HandmadeLog:
    """Each method appends one request that takes a millisecond, at the moment given in ms."""

    def __init__(self, sequence=False):
        self.lines = []
        self.version = 100
        self.annotations = {}
        self.has_sequence = sequence

    def request(self, at, verb, resource, name, code=200, user="hamid-scheduler",
                subresource="", request=None, response=None, namespace="", took=1.0):
        line = {
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse",
            "auditID": f"id-{len(self.lines)}", "stage": "ResponseComplete", "verb": verb,
            "user": {"username": user}, "userAgent": "test/1",
            "objectRef": {"resource": resource, "name": name, "namespace": namespace,
                          "subresource": subresource},
            "responseStatus": {"code": code},
            "requestReceivedTimestamp": stamp(at), "stageTimestamp": stamp(at + took),
            "requestObject": request, "responseObject": response,
        }
        if self.has_sequence:
            line["annotations"] = {"kubesim/sequence": str(len(self.lines) + 1)}
        self.lines.append(line)

    def next_version(self):
        self.version += 1
        return str(self.version)

    def create(self, at, pod, uid=None, node=None, asks=None, annotations=None):
        """asks: of each container what it asks for, as {resource: count}."""
        body = {"kind": "Pod", "metadata": {"name": pod, "uid": uid or f"uid-{pod}",
                                            "resourceVersion": self.next_version()}}
        if annotations:
            body["metadata"]["annotations"] = annotations
        if node or asks:
            body["spec"] = {"nodeName": node} if node else {}
        if asks:
            body["spec"]["containers"] = [{"resources": {"limits": one}} for one in asks]
        self.request(at, "create", "pods", "", 201, "admin", request=body, response=body,
                     namespace="default")

    def bind(self, at, pod, node="gpu-0", code=201, uid=None, took=1.0):
        self.next_version()
        body = {"metadata": {"name": pod, "uid": uid or f"uid-{pod}"},
                "target": {"kind": "Node", "name": node}}
        self.request(at, "create", "pods", pod, code, subresource="binding", request=body,
                     response={"kind": "Status", "metadata": {}}, namespace="default",
                     took=took)

    def pod_patch(self, at, pod, annotations, user="hamid-node", uid=None, took=1.0):
        answer = {"kind": "PartialObjectMetadata",
                  "metadata": {"name": pod, "uid": uid or f"uid-{pod}",
                               "resourceVersion": self.next_version(),
                               "annotations": annotations}}
        patch = [{"op": "test", "path": "/metadata/uid", "value": uid or f"uid-{pod}"}]
        patch += [{"op": "add", "path": pointer(key), "value": value}
                  for key, value in annotations.items()]
        self.request(at, "patch", "pods", pod, 200, user, request=patch, response=answer,
                     namespace="default", took=took)

    def success(self, at, pod, fence=7, **more):
        self.pod_patch(at, pod, {PHASE: "success", DONE: str(fence)}, **more)

    def status(self, at, pod, status, user="kube-scheduler", node=None):
        self.request(at, "patch", "pods", pod, 200, user, "status",
                     request={"status": status},
                     response={"kind": "Pod", "spec": {"nodeName": node} if node else {},
                               "metadata": {"name": pod, "uid": f"uid-{pod}",
                                            "resourceVersion": self.next_version()}},
                     namespace="default")

    def failed_bind(self, at, pod, reason="SchedulerError"):
        self.status(at, pod, {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": reason}]})

    def announce(self, at, pod, node="gpu-0"):
        """As kube-scheduler does when a bind was answered with success."""
        body = {"kind": "Event", "metadata": {"name": f"{pod}.{at}"}, "reason": "Scheduled",
                "regarding": {"kind": "Pod", "name": pod, "uid": f"uid-{pod}"},
                "note": f"Successfully assigned default/{pod} to {node}"}
        self.request(at, "create", "events", "", 201, "kube-scheduler", request=body,
                     response=body, namespace="default")

    def delete(self, at, pod, grace=0):
        self.request(at, "delete", "pods", pod, 200, "admin", namespace="default", response={
            "kind": "Pod", "metadata": {"name": pod, "uid": f"uid-{pod}",
                                        "deletionGracePeriodSeconds": grace,
                                        "resourceVersion": self.next_version()}})

    def node(self, at, changes, node="gpu-0", code=200, user="hamid-scheduler", took=1.0):
        """A patch of a node's annotations; None removes one."""
        patch = [{"op": "remove" if value is None else "add", "path": pointer(key),
                  "value": value} for key, value in changes.items()]
        if code != 200:
            self.request(at, "patch", "nodes", node, code, user, request=patch,
                         response={"kind": "Status", "metadata": {}}, took=took)
            return
        current = self.annotations.setdefault(node, {})
        for key, value in changes.items():
            if value is None:
                current.pop(key, None)
            else:
                current[key] = value
        answer = {"kind": "PartialObjectMetadata",
                  "metadata": {"name": node, "resourceVersion": self.next_version(),
                               "annotations": dict(current)}}
        self.request(at, "patch", "nodes", node, 200, user, request=patch, response=answer,
                     took=took)

    def take(self, at, pod, fence, node="gpu-0", uid=None, user="hamid-scheduler"):
        value = lock_value(pod)
        self.node(at, {LOCK: value, LEASE: lease(value, uid or f"uid-{pod}", fence)}, node,
                  user=user)

    def release(self, at, fence, node="gpu-0", user="hamid-node"):
        self.node(at, {LOCK: None, LEASE: lease("", "", fence)}, node, user=user)

    def serve(self, at, pod, fence, node="gpu-0"):
        """What one pod goes through when everything is right: 20 ms."""
        self.take(at, pod, fence, node)
        self.bind(at + 3, pod, node)
        self.success(at + 15, pod, fence)
        self.release(at + 18, fence, node)

    # Side by side.
    def mark(self, at, mark="1,free=scheduler,side-by-side", node="gpu-0"):
        self.node(at, {AGENT: mark}, node, user="hamid-node")

    def take_beside(self, at, pod, fence, permit, calls="nvidia.com/gpu=1", cover=True,
                    user="hamid-scheduler"):
        """The pod's pair into a permit, and into the cover as well."""
        value = lock_value(pod)
        pair = (value, lease(value, f"uid-{pod}", fence, calls))
        changes = dict(zip(permit_keys(permit), pair))
        changes.update(zip((LOCK, LEASE), pair) if cover else ())
        self.node(at, changes, user=user)

    def release_beside(self, at, fence, permit, cover=None, user="hamid-scheduler"):
        """cover: "gone", or the number of the permit whose pair is copied there."""
        memory = (None, lease("", "", fence))
        changes = dict(zip(permit_keys(permit), memory))
        if cover == "gone":
            changes.update(zip((LOCK, LEASE), memory))
        elif cover is not None:
            current = self.annotations["gpu-0"]
            changes.update(zip((LOCK, LEASE), (current[key] for key in permit_keys(cover))))
        self.node(at, changes, user=user)

    def report(self, **options):
        text = [json.dumps(line) for line in self.lines]
        return figures.Report(events.read(text), figures.Options(**options))

    def figures(self, **options):
        return figures.figures(self.report(**options))


def good_burst(count, sequence=False):
    log = HandmadeLog(sequence)
    for index in range(count):
        log.create(index, f"pod-{index}")
    for index in range(count):
        log.serve(100 + 20 * index, f"pod-{index}", 1000 + index)
    return log


def lock_value(pod):
    return f"2026-01-01T00:00:00Z,default,{pod}"


def permit_keys(permit):
    return f"{LOCK}.{permit}", f"{LEASE}.{permit}"


def lease(lock, uid, fence, calls=None):
    if not lock:
        return json.dumps({"version": 1, "fence": str(fence)}, separators=(",", ":"))
    members = {"version": 1, "lock": lock, "uid": uid, "fence": str(fence),
               "holder": "host_1", "attempt": str(fence), "hold_ms": 15000, "free": "node"}
    if calls:
        members.update(free="scheduler", calls=calls)
    return json.dumps(members, separators=(",", ":"))


def pointer(key):
    return "/metadata/annotations/" + key.replace("~", "~0").replace("/", "~1")


def stamp(milliseconds):
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    moment += datetime.timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
