# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What the store remembers, beside what the API server wrote down.

An API server that is killed may have stored a write and not logged it; one whose store is
killed may log a failure for a write that was stored. etcd keeps each revision of each object
(nothing is compacted in these tests), so that no write can hide from the checker: those that
the audit log lacks are added to its events. The server has to store JSON for this.
"""

import base64
import bisect
import http.client
import json
import urllib.parse

from checker import events, locks, pods

SERVER_FLAGS = ("--storage-media-type=application/json", "--etcd-compaction-interval=0")
PREFIXES = {"pods": "/registry/pods/", "nodes": "/registry/minions/"}
LOCK = "hami.io/mutex.lock"
SECONDS = 30


class Revision:
    """One state of one object, as it was stored."""

    def __init__(self, resource, version, body, before):
        self.resource = resource
        self.version = version
        self.body = body
        self.before = before
        self.metadata = body.get("metadata") or {}
        self.name = self.metadata.get("name", "")
        self.namespace = self.metadata.get("namespace", "")

    def __str__(self):
        what = "a Binding" if self.is_binding else f"{sorted(self.changed_annotations)}"
        return (f"{self.resource} {self.namespace}/{self.name} at {self.version}: {what} "
                f"by {self.writer or 'nobody known'}")

    @property
    def annotations(self):
        return self.metadata.get("annotations") or {}

    @property
    def changed_annotations(self):
        old = annotations_of(self.before)
        changed = {key: value for key, value in self.annotations.items()
                   if old.get(key) != value}
        return {**changed, **{key: None for key in old if key not in self.annotations}}

    @property
    def changed_status(self):
        return self.before is not None and self.before.get("status") != self.body.get("status")

    @property
    def is_binding(self):
        """Does the pod have its node since this very write?"""
        return self.resource == "pods" and bool(_node_of(self.body)) and not _node_of(
            self.before)

    @property
    def writer(self):
        """Who changed a field here, as far as the field managers tell."""
        old = _managers(self.before)
        return next((entry.get("manager", "") for entry in _managers(self.body)
                     if entry not in old), "")


def annotations_of(body):
    return ((body or {}).get("metadata") or {}).get("annotations") or {}


def _node_of(body):
    return ((body or {}).get("spec") or {}).get("nodeName")


def _managers(body):
    return ((body or {}).get("metadata") or {}).get("managedFields") or []


def read(url):
    """All revisions of pods and nodes, in their order."""
    found = [revision for resource, prefix in PREFIXES.items()
             for revision in _follow(resource, _changes(url, prefix))]
    return sorted(found, key=lambda revision: revision.version)


def _follow(resource, changes):
    """(key, version, text or None for a deletion) in their order, to revisions."""
    last = {}
    for key, version, text in changes:
        if text is None:
            last.pop(key, None)
            continue
        body = json.loads(text)
        yield Revision(resource, version, body, last.get(key))
        last[key] = body


def _ask(connection, path, body):
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return connection.getresponse()


def _text(value):
    return base64.b64decode(value).decode()


def _changes(url, prefix):
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    keys = {"key": base64.b64encode(prefix.encode()).decode(),
            "range_end": base64.b64encode(end.encode()).decode()}
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc,
                                            timeout=SECONDS)
    try:
        newest = json.loads(_ask(connection, "/v3/kv/range", {
            **keys, "keys_only": True, "limit": 1, "sort_target": "MOD",
            "sort_order": "DESCEND"}).read()).get("kvs")
        if not newest:
            return
        last = int(newest[0]["mod_revision"])
        stream = _ask(connection, "/v3/watch",
                      {"create_request": {**keys, "start_revision": "1"}})
        while True:
            for change in json.loads(stream.readline())["result"].get("events", []):
                stored = change["kv"]
                version = int(stored["mod_revision"])
                if version > last:
                    return
                yield (_text(stored["key"]), version,
                       None if change.get("type") == "DELETE" else _text(stored["value"]))
                if version == last:
                    return
    finally:
        connection.close()


def missing(known, history):
    """Revisions that no successful request of the log accounts for."""
    versions = {(event.resource, event.version) for event in known
                if event.is_write and event.succeeded}
    return [revision for revision in history
            if (revision.resource, revision.version) not in versions]


def lost(known, history):
    """Writes that were answered with success and that the store does not have."""
    stored = {(revision.resource, revision.version) for revision in history}
    return [event for event in known
            if event.resource in PREFIXES and event.is_write and event.succeeded
            and event.verb != "delete" and event.version is not None
            and (event.resource, event.version) not in stored]


def complete(known, history):
    """The log's events and one for each write that it lacks; and how many those are."""
    _place_bindings(known, history)
    gaps = missing(known, history)
    moments = sorted(((event.version, event.received, event.finished) for event in known
                      if event.is_write and event.version is not None))
    added = [_event(revision, moments, len(known) + index)
             for index, revision in enumerate(gaps)]
    return sorted(known + added, key=lambda event: (event.finished, event.position)), len(gaps)


def _place_bindings(known, history):
    """A Binding is answered without the version that it made; the store knows it."""
    bound = {pod.uid: pod.bound for pod in pods.collect(known).all
             if pod.bound is not None and pod.bound.subresource == "binding"}
    for revision in history:
        event = bound.get(revision.metadata.get("uid")) if revision.is_binding else None
        if event is not None:
            event.response = _answer(revision)


def _answer(revision):
    return {**revision.body, "metadata": {**revision.metadata,
                                          "resourceVersion": str(revision.version)}}


def _event(revision, moments, position):
    """It took effect after the last write before it was received, and so on."""
    event = events.Event({
        "auditID": f"store-{revision.version}",
        "verb": "create" if revision.before is None else "update",
        "objectRef": {"resource": revision.resource, "namespace": revision.namespace,
                      "name": revision.name,
                      "subresource": "status" if revision.changed_status
                      and not revision.is_binding else ""},
        "responseStatus": {"code": 200},
        "user": {"username": revision.writer},
        "requestObject": {"metadata": {"annotations": revision.changed_annotations},
                          "status": revision.body.get("status")},
        "responseObject": _answer(revision),
    }, position)
    place = bisect.bisect(moments, (revision.version,))
    if moments:
        event.received = moments[max(place - 1, 0)][1]
        event.finished = moments[min(place, len(moments) - 1)][2]
    return event


def outside_lock(history):
    """Bindings and done marks that took effect while the node's lock was not that pod's.

    The order is the store's own: nothing here depends on clocks.
    """
    wrong = []
    nodes = {}
    for revision in history:
        if revision.resource == "nodes":
            nodes[revision.name] = revision.annotations
            continue
        is_done = pods.DONE in revision.changed_annotations and revision.before is not None
        if not revision.is_binding and not is_done:
            continue
        seen = nodes.get(_node_of(revision.body), {})
        step = locks.Step(None, seen.get(LOCK) or "", seen.get(locks.lease_key(LOCK)) or "")
        if (step.owner != (revision.namespace, revision.name)
                or step.uid not in (None, revision.metadata.get("uid"))):
            wrong.append((revision, step.lock))
    return wrong


def trim(path):
    """Takes the rest of a line off a log whose writer was killed; answers its length.

    The next writer would put its first line behind it.
    """
    with open(path, "rb+") as file:
        text = file.read()
        whole = text.rfind(b"\n") + 1
        file.truncate(whole)
    return len(text) - whole
