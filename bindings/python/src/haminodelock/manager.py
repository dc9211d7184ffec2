# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What the two forms of the manager, blocking and asyncio, have in common."""

from __future__ import annotations

import atexit
import ctypes
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from . import _native
from .errors import Closed, HamiError, InvalidArgument, make_error
from .transport import AnyTransport, News
from .types import Config, NodeView, Pod, Stats, read_node, read_pod, read_stats

__all__ = ["BaseLease", "Cancel", "Ended", "Manager"]

#: What a started acquire ends with: a lease, or why there is none.
Ended = Callable[["BaseLease | HamiError"], None]


class Cancel:
    """A sticky flag that ends waits early: of many threads at once, and of those that come
    later."""

    def __init__(self) -> None:
        handle = ctypes.c_void_p()
        _native.check(_native.core.hami_cancel_new(ctypes.byref(handle)))
        self._handle = handle.value

    def fire(self) -> None:
        """Every wait that carries the flag ends with :class:`~haminodelock.Cancelled`."""
        _native.check(_native.core.hami_cancel_fire(self._handle))

    @property
    def is_fired(self) -> bool:
        return bool(_native.core.hami_cancel_is_fired(self._handle))

    def __del__(self) -> None:
        _native.core.hami_cancel_unref(getattr(self, "_handle", None))


class BaseLease:
    """A held lock: what both forms of a lease tell. Consumed by release or hand_off, once.

    :ivar node: the node's name
    :ivar pod: whom it is for
    :ivar key: annotation that is the lock
    :ivar value: what was written there
    :ivar fence: larger with each grant on the node
    :ivar holder: the manager's id
    :ivar owner_version: the pod's version that the take was judged by
    """

    def __init__(self, manager: Manager, handle: int) -> None:
        self._manager = manager
        self._handle: int | None = handle
        self._uses = 0  # calls under way that read the C lease; it is not consumed before they end
        view = _native.sized(_native.LeaseView)
        code = _native.core.hami_lease_facts(handle, ctypes.byref(view))
        if code not in (0, Closed.code):
            _native.check(code)
        self.node = _native.decode_all(view.node)
        self.pod: Pod = read_pod(view.owner)
        self.key = _native.decode_all(view.key)
        self.value = _native.decode_all(view.value)
        self.holder = _native.decode_all(view.holder)
        self.fence: int = view.fence
        self.attempt: int = view.attempt
        self.owner_version = _native.decode(view.owner_version)
        manager._leases[handle] = self

    @property
    def is_consumed(self) -> bool:
        """True after release or hand_off."""
        return self._handle is None

    @property
    def address(self) -> int:
        """Of the C lease, which must not be consumed yet."""
        if self._handle is None:
            raise InvalidArgument("the lease was released or handed off already")
        return self._handle

    def hand_off(self) -> None:
        """The pod is bound, or may be: the node side gives the lock back. Does no I/O.

        The node stays locked until that is seen, or the pod is proven past its Allocate.
        """
        _native.check(_native.core.hami_lease_handoff(self._consume()))

    def _consume(self) -> int:
        """The C lease, for a function that consumes it."""
        handle = self.address
        if self._uses:
            raise InvalidArgument("a check or a bind with the lease is under way")
        self._handle = None
        return handle

    def _drop(self) -> None:
        """Release without waiting; where the pod turned out bound, the library hands it off."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _native.core.hami_lease_release_start(handle, _native.NEVER, _native.DONE(0), None)

    def __repr__(self) -> str:
        state = "consumed" if self.is_consumed else "held"
        pod = f"{self.pod.namespace}/{self.pod.name}"
        return f"<{type(self).__name__} {self.node} for {pod}, {state}>"

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            warnings.warn(f"{self!r} was neither released nor handed off; it is released now",
                          ResourceWarning, source=self)
            self._drop()


class Pending:
    """A started acquire. The lock keeps abort and the callback apart: the wait ends with the
    latter."""

    def __init__(self, ended: Callable[[int, int | None, _native.Error], None]) -> None:
        self._mutex = threading.Lock()
        self._wait: int | None = None
        self._is_over = False
        self._ended = ended

    def _callback(self, code: int, lease: int | None, error: _native.Error) -> None:
        with self._mutex:
            self._is_over = True
        self._ended(code, lease, error)

    def begin(self, start: Callable[..., int], manager: int, request: _native.Request) -> None:
        """Raises if it could not be started; then no callback comes."""
        wait = ctypes.c_void_p()
        number = _native.callbacks.add(self._callback)
        detail = _native.sized(_native.Error)
        request.reterr = ctypes.pointer(detail)
        code = start(manager, ctypes.byref(request), _native.on_acquired, number,
                     ctypes.byref(wait))
        request.reterr = None
        if code != 0:
            _native.callbacks.remove(number)
            raise _acquire_error(code, detail)
        self._wait = wait.value

    def abort(self) -> None:
        """Leaves the queue; the callback follows, with the grant if that was decided before."""
        with self._mutex:
            if not self._is_over:
                _native.core.hami_wait_abort(self._wait)


def _acquire_error(code: int, detail: _native.Error) -> HamiError:
    error = make_error(code, _native.decode_all(detail.text), detail.status)
    error.position, error.waiting = detail.position, detail.waiting
    error.expected = detail.expected_ns / 1e9 or None
    return error


class Manager(News):
    """Life of a manager, requests, and the looks into it. It keeps its transport alive."""

    _lease_class: type[BaseLease] = BaseLease

    def __init__(self, transport: AnyTransport, config: Config | None,
                 on_lost: Callable[[Any, str], None] | None,
                 wakeup: Callable[[], None] | None) -> None:
        self._handle: int | None = None
        self._numbers: list[int] = []
        self._leases: weakref.WeakValueDictionary[int, BaseLease] = weakref.WeakValueDictionary()
        self._transport = transport
        self._on_lost = on_lost
        native = self._native_config(config or Config(), wakeup)
        handle, error = ctypes.c_void_p(), _native.sized(_native.Error)
        code = _native.core.hami_nodelock_new(ctypes.byref(native), ctypes.byref(handle),
                                              ctypes.byref(error))
        if code != 0:
            self._forget_callbacks()
            _native.check(code, error)
        self._handle = handle.value
        _open_managers.add(self)

    def _number(self, function: Callable[..., Any]) -> int:
        number = _native.callbacks.add(function)
        self._numbers.append(number)
        return number

    def _native_config(self, config: Config, wakeup: Callable[[], None] | None) -> Any:
        native = _native.sized(
            _native.Config, transport=self._transport.address, key=_native.encode(config.key),
            holder=_native.encode(config.holder), permits=config.permits,
            flags=int(config.expire_bound_owners) | 2 * int(config.refuse_early),
            hold_limit_ms=_ms(config.hold_limit),
            expire_ms=_ms(config.expire), call_timeout_ms=_ms(config.call_timeout),
            stall_limit_ms=_ms(config.stall_limit), waiters_per_node_max=config.waiters_per_node,
            nodes_max=config.nodes, waiters_per_namespace_max=config.waiters_per_namespace,
            overtaken_max=config.overtaken)
        if self._on_lost:
            itself = weakref.ref(self)
            native.owner_lost = _native.on_owner_lost
            native.owner_lost_data = self._number(
                lambda lease, text: _tell_lost(itself, lease, text))
        if config.log:
            native.log, native.log_data = _native.on_log, self._number(config.log)
        if wakeup:
            native.wakeup, native.wakeup_data = _native.on_wakeup, self._number(wakeup)
        return native

    def _forget_callbacks(self) -> None:
        while self._numbers:
            _native.callbacks.remove(self._numbers.pop())

    @property
    def _manager(self) -> int:  # type: ignore[override]
        if self._handle is None:
            raise Closed("the manager was closed")
        return self._handle

    @property
    def holder(self) -> str:
        """The id that this manager writes into its leases."""
        return _native.decode_all(_native.core.hami_nodelock_holder(self._manager))

    def _request(self, node: str, pod: Pod, timeout: float | None, keys: Sequence[str],
                 priority: int, group: str | None, cancel: Cancel | None) -> _native.Request:
        request: _native.Request = _native.sized(
            _native.Request, node=_native.encode(node), owner=pod._native(),
            deadline_ns=deadline(timeout), priority=priority, group=_native.encode(group),
            cancel=cancel._handle if cancel else None)
        if keys:
            request.keys = _native.texts(tuple(keys))
            request.key_count = len(keys)
        return request

    def _start(self, request: _native.Request, is_try: bool, ended: Ended) -> Pending:
        """@ended is called where the manager dispatches; the manager lives until then."""
        def callback(code: int, lease: int | None, error: _native.Error) -> None:
            if code == 0 and lease is not None:
                ended(self._lease_class(self, lease))
            else:
                ended(_acquire_error(code, error))

        core = _native.core
        pending = Pending(callback)
        pending.begin(core.hami_nodelock_try_acquire_start if is_try
                      else core.hami_nodelock_acquire_start, self._manager, request)
        return pending

    def stats(self) -> Stats:
        """Totals since the manager was made, and how much there is of what now."""
        native = _native.sized(_native.Stats)
        _native.check(_native.core.hami_nodelock_stats(self._manager, ctypes.byref(native)))
        return read_stats(native)

    def snapshot(self, node: str | None = None) -> list[NodeView]:
        """Each known node, or the one that is named: who holds it, who waits, and why."""
        views: list[NodeView] = []
        number = _native.callbacks.add(lambda view: views.append(read_node(view)))
        try:
            _native.check(_native.core.hami_nodelock_snapshot(
                self._manager, _native.encode(node), _native.on_visit, number))
        finally:
            _native.callbacks.remove(number)
        return views

    def _free(self) -> None:
        handle, self._handle = self._handle, None
        _open_managers.discard(self)
        _free_manager(handle, self._numbers)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is None:
            return
        warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self)
        # Garbage may be collected inside one of the manager's own callbacks, where it can't be
        # freed. Its transport lives until it is.
        handle, numbers, transport = self._handle, self._numbers, self._transport
        self._handle = None
        threading.Thread(target=_free_manager, args=(handle, numbers, transport),
                         daemon=True).start()


def _free_manager(handle: int | None, numbers: list[int], keep: object = None) -> None:
    _native.core.hami_nodelock_free(handle)
    while numbers:
        _native.callbacks.remove(numbers.pop())
    del keep


def start_check(lease: BaseLease, timeout: float | None,
                ended: Callable[[HamiError | None], None]) -> None:
    """@ended gets None if the lock is still the lease's."""
    def over(error: HamiError | None) -> None:
        lease._uses -= 1
        ended(error)

    lease._uses += 1
    try:
        start_done(_native.core.hami_lease_check_start, lease.address, deadline(timeout), over)
    except BaseException:
        lease._uses -= 1
        raise


def start_done(start: Callable[..., int], handle: int, deadline_ns: int,
               ended: Callable[[HamiError | None], None]) -> None:
    """Starts what tells its end with a code alone. Raises if no end will come."""
    def callback(code: int, error: _native.Error) -> None:
        ended(None if code == 0 else
              make_error(code, _native.decode_all(error.text), error.status))

    number = _native.callbacks.add(callback)
    code = start(handle, deadline_ns, _native.on_done, number)
    if code != 0:
        _native.callbacks.remove(number)
        raise make_error(code)


def deadline(timeout: float | None) -> int:
    """An absolute moment of the library's clock, which is Python's monotonic one."""
    if timeout is None:
        return _native.NEVER
    return max(0, min(time.monotonic_ns() + int(timeout * 1e9), _native.NEVER - 1))


def _ms(seconds: float | None) -> int:
    return 0 if seconds is None else max(1, int(seconds * 1000))


def _tell_lost(reference: weakref.ref[Manager], lease: int, text: str) -> None:
    manager = reference()
    found = manager._leases.get(lease) if manager else None
    if manager and manager._on_lost and found is not None:
        manager._on_lost(found, text)


_open_managers: weakref.WeakSet[Manager] = weakref.WeakSet()


@atexit.register
def _free_what_is_open() -> None:
    """No thread of the library calls into an interpreter that is going down."""
    for manager in list(_open_managers):
        manager._free()
