# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Reads audit.k8s.io/v1 lines and tells which of two requests took effect first."""

import datetime
import json
import urllib.parse

WRITES = {"create", "update", "patch", "delete", "deletecollection"}
READS = {"get", "list"}


class UnreadableLog(Exception):
    """A line of the log is no audit event."""


class Event:
    """One finished request, in the few words that the figures need.

    received and finished are seconds since the epoch. The request took effect somewhere
    between the two, and where in between is known only relative to another event that
    carries a sequence number or a resourceVersion.
    """

    __slots__ = ("identity", "verb", "resource", "subresource", "namespace", "name", "code",
                 "user", "agent", "request", "response", "received", "finished", "sequence",
                 "fault", "position")

    def __init__(self, line, position):
        reference = line.get("objectRef") or {}
        notes = line.get("annotations") or {}
        self.identity = line.get("auditID") or f"line {position}"
        self.verb = line.get("verb", "")
        self.resource = reference.get("resource", "")
        self.subresource = reference.get("subresource", "")
        self.namespace = reference.get("namespace", "")
        self.name = reference.get("name", "")
        self.code = int((line.get("responseStatus") or {}).get("code") or 0)
        self.user = (line.get("user") or {}).get("username", "")
        self.agent = line.get("userAgent", "")
        self.request = line.get("requestObject")
        self.response = line.get("responseObject")
        self.received = _seconds(line.get("requestReceivedTimestamp"))
        self.finished = _seconds(line.get("stageTimestamp"))
        self.sequence = _number(notes.get("kubesim/sequence"))
        self.fault = notes.get("kubesim/fault", "")
        self.position = position
        if not self.name:
            self.name = _name_from_body(self)

    @property
    def succeeded(self):
        return 200 <= self.code < 300

    @property
    def is_write(self):
        return self.verb in WRITES

    @property
    def is_read(self):
        return self.verb in READS

    @property
    def is_watch(self):
        return self.verb == "watch"

    @property
    def metadata(self):
        """metadata of the object that was answered, empty where that was no object."""
        if isinstance(self.response, dict) and self.response.get("kind") != "Status":
            return self.response.get("metadata") or {}
        return {}

    @property
    def version(self):
        """resourceVersion of the object answered as a number, None where there is none."""
        return _number(self.metadata.get("resourceVersion"))

    def is_by(self, prefix):
        return self.user.startswith(prefix) or self.agent.startswith(prefix)


def before(first, second):
    """Did first take effect before second, beyond doubt?"""
    if first.sequence is not None and second.sequence is not None:
        return first.sequence < second.sequence
    if first.is_write and second.is_write:
        if first.version is not None and second.version is not None:
            return first.version < second.version
    return first.finished <= second.received


def requested_annotations(event):
    """The annotations that a write sets, by key; a removed one has the value None."""
    body = event.request
    if isinstance(body, dict):
        metadata = body.get("metadata")
        found = metadata.get("annotations") if isinstance(metadata, dict) else None
        return dict(found) if isinstance(found, dict) else {}
    found = {}
    for operation in body if isinstance(body, list) else []:
        if isinstance(operation, dict):
            _collect_operation(operation, found)
    return found


def read(lines):
    """Events in the order in which they took effect, as far as the log tells.

    A long-running request has two lines; the later one counts. A last line that was cut
    off is left out: the server may have been ended in the middle of it.
    """
    by_identity = {}
    unreadable = None
    for position, text in enumerate(lines):
        if unreadable is not None:
            raise UnreadableLog(unreadable)
        if not text.strip():
            continue
        try:
            line = json.loads(text)
            if not isinstance(line, dict):
                raise ValueError("not an object")
            event = Event(line, position)
        except (ValueError, TypeError, AttributeError) as error:
            unreadable = f"line {position + 1}: {error}"
            continue
        if line.get("stage") in (None, "ResponseStarted", "ResponseComplete", "Panic"):
            by_identity[event.identity] = event
    return _in_order(list(by_identity.values()))


def _in_order(events):
    """By sequence number where there are some; the others stand where their time says."""
    events.sort(key=lambda event: (event.finished, event.position))
    keys = {}
    highest = 0
    for event in events:
        if event.sequence is not None:
            highest = max(highest, event.sequence)
            keys[event.position] = (event.sequence, 0)
        else:
            keys[event.position] = (highest, 1)
    return sorted(events, key=lambda event: keys[event.position])


def _collect_operation(operation, found):
    path = str(operation.get("path", ""))
    prefix = "/metadata/annotations"
    kind = operation.get("op")
    if kind not in ("add", "replace", "remove"):
        return
    if path == prefix and isinstance(operation.get("value"), dict):
        found.update(operation["value"])
    elif path.startswith(prefix + "/"):
        key = path[len(prefix) + 1:].replace("~1", "/").replace("~0", "~")
        found[key] = None if kind == "remove" else operation.get("value")


def _name_from_body(event):
    """A create has no name in its reference; the answer or the body has it."""
    for body in (event.response, event.request):
        if isinstance(body, dict) and isinstance(body.get("metadata"), dict):
            name = body["metadata"].get("name")
            if name and body.get("kind") != "Status":
                return urllib.parse.unquote(str(name))
    return ""


def _seconds(text):
    if not text:
        return 0.0
    return datetime.datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()


def _number(value):
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
