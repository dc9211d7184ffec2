# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Plain values that go into the library and come out of it."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable

from . import _native

__all__ = ["BindPhase", "Config", "HandOver", "HandOverView", "NodeView", "OwnerFacts", "Pod",
           "SlotState", "SlotView", "Stats", "WaiterView"]


@dataclasses.dataclass(frozen=True)
class Pod:
    """Whom a lock is for. Without Kubernetes any unique text will do for uid."""

    namespace: str
    name: str
    uid: str = ""

    def _native(self) -> _native.Owner:
        return _native.Owner(_native.encode(self.namespace), _native.encode(self.name),
                             _native.encode(self.uid))


@dataclasses.dataclass(frozen=True)
class Config:
    """How a manager works; times are in seconds, None is the library's default.

    :ivar key: annotation that is the lock
    :ivar holder: prefix of the holder id; None is the host's name
    :ivar permits: owners a node at a time
    :ivar hold_limit: how long an owner may stay unbound
    :ivar expire: age that decides about owners that can't be judged otherwise
    :ivar call_timeout: of one call of the transport
    :ivar stall_limit: waiters behind a holder that stands so long without progress are refused
    :ivar waiters_per_namespace: of one namespace on one node; 0 is no bound of its own
    :ivar overtaken: how often one waiter may be overtaken by others that came later; 0 is 4
    :ivar refuse_early: refuse at once what can't be served in time by the node's measured pace
    :ivar expire_bound_owners: take over by age also from owners that still wait for Allocate
    :ivar log: called with level (0 error to 3 debug) and line, from any thread
    """

    key: str | None = None
    holder: str | None = None
    permits: int = 1
    hold_limit: float | None = None
    expire: float | None = None
    call_timeout: float | None = None
    stall_limit: float | None = None
    waiters_per_node: int = 0
    nodes: int = 0
    waiters_per_namespace: int = 0
    overtaken: int = 0
    refuse_early: bool = False
    expire_bound_owners: bool = False
    log: Callable[[int, str], None] | None = None


class BindPhase(enum.IntEnum):
    NONE = 0
    ALLOCATING = 1
    SUCCESS = 2
    FAILED = 3


@dataclasses.dataclass(frozen=True)
class OwnerFacts:
    """What a store knows about a pod. Only ``known`` facts mean anything.

    :ivar read: from a consistent read begun after the question was asked, not from a watch
    """

    known: bool = True
    exists: bool = True
    read: bool = False
    deleting: bool = False
    finished: bool = False
    started: bool = False
    devices_left: bool = False
    bind_phase: BindPhase = BindPhase.NONE
    uid: str | None = None
    node: str | None = None
    assigned_node: str | None = None
    version: str | None = None
    revoked: str | None = None
    fence: int = 0
    done: int = 0

    def _native(self) -> _native.OwnerFacts:
        facts: _native.OwnerFacts = _native.sized(_native.OwnerFacts)
        facts.source = 1 if self.read else 0
        for name in ("known", "exists", "deleting", "finished", "started", "devices_left",
                     "bind_phase", "fence", "done"):
            setattr(facts, name, getattr(self, name))
        for name in ("uid", "node", "assigned_node", "version", "revoked"):
            setattr(facts, name, _native.encode(getattr(self, name)))
        return facts


class SlotState(enum.IntEnum):
    """Of one lock of a node, as this manager sees it."""

    UNKNOWN = 0
    FREE = 1
    ACQUIRING = 2
    HELD = 3
    HANDED_OFF = 4
    RELEASING = 5
    FOREIGN = 6


@dataclasses.dataclass(frozen=True)
class SlotView:
    """One lock of a node. ``reason`` says why it is not free, or what would free it."""

    key: str
    state: SlotState
    value: str | None
    pod: Pod | None
    holder: str | None
    fence: int
    alarm: bool
    reason: str


@dataclasses.dataclass(frozen=True)
class WaiterView:
    """One waiter; position 0 is served next. ``expected`` is in seconds from now; None if it is
    next, or nothing is measured."""

    pod: Pod
    position: int
    priority: int
    group: str | None
    overtaken: int
    expected: float | None


class HandOver(enum.IntEnum):
    """How a lock came to its owner."""

    TAKE = 0
    DIRECT = 1
    TAKEOVER = 2
    OWN = 3
    FOREIGN = 4


@dataclasses.dataclass(frozen=True)
class HandOverView:
    """One hand-over of a lock; times are seconds, of which ``held`` is how long ``previous`` was
    seen to hold it. ``reason`` is the proof of a takeover."""

    key: str
    how: HandOver
    reason: str
    previous: Pod | None
    pod: Pod | None
    held: float
    ago: float
    fence: int


@dataclasses.dataclass(frozen=True)
class NodeView:
    """A node, its locks, who waits for them, and the last hand-overs, the newest first. ``pace`` is
    how many seconds a lock is held here of late; None if that is not measured."""

    node: str
    slots: tuple[SlotView, ...]
    waiters: tuple[WaiterView, ...]
    hand_overs: tuple[HandOverView, ...]
    pace: float | None
    refusals: int


@dataclasses.dataclass(frozen=True)
class Stats:
    """Totals of a manager, and three gauges: waiters, leases, nodes."""

    grants: int
    timeouts: int
    cancels: int
    refusals: int
    handoffs: int
    releases: int
    hand_overs: int
    takeovers: int
    revocations: int
    lost: int
    in_doubt: int
    undone: int
    alarms: int
    calls: int
    waiters: int
    leases: int
    nodes: int
    refused_full: int
    refused_namespace: int
    refused_early: int
    refused_stalled: int
    beside: int


def read_pod(owner: _native.Owner) -> Pod:
    return Pod(_native.decode_all(owner.namespace_name), _native.decode_all(owner.name),
               _native.decode_all(owner.uid))


def _read_known(owner: _native.Owner) -> Pod | None:
    return read_pod(owner) if owner.name else None


def read_node(view: _native.NodeView) -> NodeView:
    slots = tuple(
        SlotView(_native.decode_all(slot.key), SlotState(slot.state), _native.decode(slot.value),
                 read_pod(slot.owner) if slot.owner.name else None, _native.decode(slot.holder),
                 slot.fence, slot.alarm, _native.decode_all(slot.reason))
        for slot in view.slots[:view.slot_count])
    waiters = tuple(
        WaiterView(read_pod(one.owner), one.position, one.priority, _native.decode(one.group),
                   one.overtaken, one.expected_ns / 1e9 or None)
        for one in view.waiters[:view.waiter_count])
    hand_overs = tuple(
        HandOverView(_native.decode_all(one.key), HandOver(one.how),
                     _native.decode_all(one.reason), _read_known(getattr(one, "from")),
                     _read_known(one.to), one.held_ns / 1e9,
                     max(view.now_ns - one.at_ns, 0) / 1e9, one.fence)
        for one in view.hand_overs[:view.hand_over_count])
    return NodeView(_native.decode_all(view.node), slots, waiters, hand_overs,
                    view.pace_ns / 1e9 or None, view.refusals)


def read_stats(stats: _native.Stats) -> Stats:
    return Stats(**{field.name: getattr(stats, field.name) for field in
    dataclasses.fields(Stats)})
