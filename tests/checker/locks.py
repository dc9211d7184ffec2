# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What each node's lock annotations went through, and which changes were wrong."""

import json

from checker import events as log

DEFAULT_KEYS = ("hami.io/mutex.lock", "cambricon.com/dsmlu.lock")


def lease_key(lock_key):
    """The annotation that accompanies a lock: .lock becomes .lease, else it is appended.

    The number of a permit stays at the end of both.
    """
    base, dot, number = lock_key.rpartition(".")
    if dot and number.isdigit():
        return f"{lease_key(base)}.{number}"
    if lock_key.endswith(".lock"):
        return lock_key[:-len(".lock")] + ".lease"
    return lock_key + ".lease"


class Step:
    """The pair (lock, lease) of one key of one node, as one write left it."""

    __slots__ = ("event", "lock", "lease")

    def __init__(self, event, lock, lease):
        self.event = event
        self.lock = lock
        self.lease = lease

    @property
    def owner(self):
        """(namespace, name) that the lock names, or None."""
        parts = self.lock.split(",")
        return (parts[1], parts[2]) if len(parts) == 3 else None

    @property
    def lease_facts(self):
        try:
            facts = json.loads(self.lease) if self.lease else {}
        except ValueError:
            return {}
        return facts if isinstance(facts, dict) else {}

    @property
    def uid(self):
        """UID of the owner, which a lease gives only to the very lock it was written with."""
        facts = self.lease_facts
        return facts.get("uid") if self.lock and facts.get("lock") == self.lock else None

    @property
    def is_beside(self):
        """Does the lease that belongs to this lock say its pod's calls?"""
        return self.uid is not None and isinstance(self.lease_facts.get("calls"), str)

    @property
    def grant(self):
        """What tells the grant of this lock from each other; None where no lease does."""
        facts = self.lease_facts
        return (self.uid, facts.get("holder"), facts.get("attempt")) if self.uid else None

    @property
    def fence(self):
        try:
            return int(self.lease_facts.get("fence"))
        except (TypeError, ValueError):
            return None


class History:
    """The steps of one key of one node, each one different from the one before it."""

    def __init__(self, node, key):
        self.node = node
        self.key = key
        self.steps = []
        self.is_cover = False

    def add(self, event, annotations):
        lock = annotations.get(self.key) or ""
        lease = annotations.get(lease_key(self.key)) or ""
        last = self.steps[-1] if self.steps else None
        if last is None and not lock and not lease:
            return
        if last is None or (last.lock, last.lease) != (lock, lease):
            self.steps.append(Step(event, lock, lease))

    def changes(self):
        return zip(self.steps, self.steps[1:])


def collect(events, keys=DEFAULT_KEYS):
    """Histories by (node, key), each in the order of the node's resourceVersion."""
    writes = {}
    for event in events:
        if (event.resource == "nodes" and event.is_write and event.succeeded
                and event.version is not None):
            writes.setdefault(event.name, []).append(event)
    histories = {}
    for node, found in writes.items():
        found.sort(key=lambda event: event.version)
        for event in found:
            annotations = event.metadata.get("annotations") or {}
            for key in _keys_in(annotations, keys, node, histories):
                history = histories.setdefault((node, key), History(node, key))
                history.add(event, annotations)
    return histories


def covered(history, pods):
    """Changes that took a lock away from an owner that is bound and waits for its Allocate.

    The owner's own release is none: a removal by whoever wrote the lock, or by whoever
    serves that pod.
    """
    wrong = []
    for old, new in history.changes():
        if history.is_cover and old.is_beside:
            continue  # a copy: the owner's lock is in a permit
        owner = waiting_owner(history, old, new, pods)
        if owner is None or new.owner == old.owner:
            continue
        if new.lock or not _is_own_release(history, old, new, owner):
            wrong.append((owner, new))
    return wrong


def taken_while_waiting(history, pods):
    """Changes by which another pod got the lock that its owner, bound here, still needs."""
    return [(owner, new) for owner, new in covered(history, pods) if new.owner is not None]


def waiting_owner(history, old, new, pods):
    """The pod that the old lock belongs to, if it is bound here and not served yet."""
    if old.owner is None or old.lock == new.lock:
        return None
    by_uid = pods.of_uid(old.uid) if old.uid else None
    for pod in [by_uid] if by_uid else pods.of_name(*old.owner):
        if pod.node == history.node and pod.is_waiting_at(new.event):
            return pod
    return None


def fence_violations(history):
    """Grants whose fence is not above every one before it on this node."""
    wrong = 0
    highest = None
    granted = None
    for step in history.steps:
        fence = step.fence
        if fence is None:
            continue
        is_grant = step.grant is not None and step.grant != granted
        if highest is not None and (fence < highest or (is_grant and fence == highest)):
            wrong += 1
        if is_grant:
            granted = step.grant
        highest = fence if highest is None else max(highest, fence)
    return wrong


def _keys_in(annotations, keys, node, histories):
    """Permit i of a key has the key with .i appended; a key once seen stays watched."""
    found = {key for key in annotations
             if key in keys or any(is_permit(key, base) for base in keys)}
    found.update(key for seen_node, key in histories if seen_node == node)
    found.update(key for key in keys if lease_key(key) in annotations)
    return sorted(found)


def is_permit(key, base):
    return key.startswith(base + ".") and key[len(base) + 1:].isdigit()


def _is_own_release(history, old, new, owner):
    writer = _writer_of(history, old)
    servers = {event.user for event in (owner.done, owner.succeeded, owner.failed) if event}
    return new.event.user in servers or (writer is not None and new.event.user == writer)


def _writer_of(history, step):
    """Who wrote this lock value first; a heartbeat may have been the first to show it."""
    for candidate in history.steps:
        if candidate.lock == step.lock:
            if history.key in log.requested_annotations(candidate.event):
                return candidate.event.user
            return None
    return None
