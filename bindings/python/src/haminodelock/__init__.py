# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A queue for GPU pods that arrive at once: one owner a node between bind and Allocate.

Blocking, from any thread::

    from haminodelock import MemoryStore, NodeLock, Pod

    with MemoryStore() as store, NodeLock(store.transport) as lock:
        with lock.acquire("node-1", Pod("default", "my-pod", "uid-1"), timeout=5) as lease:
            print("node-1 is ours, fence", lease.fence)

On an event loop: :class:`AsyncNodeLock`. In Kubernetes: :mod:`haminodelock.kubernetes`. Over a
store
of your own: :class:`Transport`. Exceptions: :mod:`haminodelock.errors`.

A lease is given back exactly once: ``release()``, or ``hand_off()`` when the pod is bound and the
device plugin's side will release. Leaving its ``with`` block releases it unless that was done. A
lease
that is forgotten is released when it is collected, with a ResourceWarning.
"""

from . import _native
from .aio import AsyncLease, AsyncNodeLock
from .errors import (AbiMismatch, AccessRefused, Busy, Cancelled, Closed, ForkedChild, HamiError,
                     Held, InDoubt, InvalidArgument, LimitReached, Lost, NoSuchNode, NotSupported,
                     OutOfMemory, ProtocolError, TimedOut, Unreachable)
from .manager import Cancel
from .memory import MemoryStore
from .nodelock import Lease, NodeLock
from .transport import Action, AnyTransport, Call, Edit, News, Relay, Result, Transport
from .types import (BindPhase, Config, HandOver, HandOverView, NodeView, OwnerFacts, Pod, SlotState,
                    SlotView, Stats, WaiterView)

#: The lock's annotation, HAMi's.
KEY = _native.KEY


def version() -> str:
    """Of the library that is loaded."""
    return _native.decode_all(_native.core.hami_version())


__all__ = [
    "KEY", "AbiMismatch", "AccessRefused", "Action", "AnyTransport", "AsyncLease",
    "AsyncNodeLock", "BindPhase", "Busy", "Call", "Cancel", "Cancelled", "Closed", "Config",
    "Edit",
    "ForkedChild", "HamiError", "HandOver", "HandOverView", "Held", "InDoubt",
    "InvalidArgument", "Lease", "LimitReached", "Lost", "MemoryStore", "News", "NoSuchNode",
    "NodeLock", "NodeView", "NotSupported",
    "OutOfMemory", "OwnerFacts", "Pod", "ProtocolError", "Relay", "Result", "SlotState",
    "SlotView", "Stats", "TimedOut", "Transport", "Unreachable", "WaiterView", "version",
]
