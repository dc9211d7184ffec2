# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Stores: those of the library, and those written in Python.

A transport is a compare-and-set on named values of a node. To write one, derive from
:class:`Transport` and carry out :meth:`Transport.submit`::

    class Dictionary(Transport):
        def __init__(self):
            super().__init__("dictionary")
            self.nodes = {}

        def submit(self, call):
            values = self.nodes.setdefault(call.node, {})
            for edit in call.edits:
                if edit.action is not Action.READ and values.get(edit.key) != edit.expect:
                    call.refuse([values.get(edit.key) for edit in call.edits])
                    return
            for edit in call.edits:
                if edit.action is Action.PUT:
                    values[edit.key] = edit.value
            call.done([values.get(edit.key) for edit in call.edits])

The rules are those of hami/transport.h: submit never blocks; each call is completed exactly
once, from
any thread; all edits are applied in one atomic write or none; "surely not applied"
(:class:`~haminodelock.Unreachable`) and "sent, and no answer" (:class:`~haminodelock.InDoubt`)
are told
apart.
"""

from __future__ import annotations

import abc
import ctypes
import dataclasses
import enum
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from . import _native
from .errors import HamiError, Held, InDoubt, InvalidArgument, make_error
from .types import OwnerFacts, Pod, read_pod

__all__ = ["Action", "AnyTransport", "Call", "Edit", "NativeTransport", "News", "Relay", "Result",
           "Transport"]


class Action(enum.IntEnum):
    """READ tells the value. TEST refuses the whole call unless it is ``expect``. PUT tests, then
    sets."""

    READ = 0
    TEST = 1
    PUT = 2


@dataclasses.dataclass(frozen=True)
class Edit:
    """One named value of a node. None is an absent value, "" is a value."""

    action: Action
    key: str
    expect: str | None = None
    value: str | None = None

    def _native(self) -> _native.Edit:
        return _native.Edit(self.action, *map(_native.encode, (self.key, self.expect,
        self.value)))


@dataclasses.dataclass(frozen=True)
class Result:
    """What a call found: a value for each edit, as they are now. None if they are not known."""

    values: tuple[str | None, ...] | None
    version: str | None


class AnyTransport:
    """What a manager can work on. It outlives the manager."""

    #: of the C struct
    address: int

    def call(self, node: str, edits: Sequence[Edit], *, version: str | None = None,
             timeout: float = 5.0) -> Result:
        """Carries out one call without a manager, and waits: for tools and tests.

        Raises :class:`~haminodelock.Held` if an expectation failed, and what else the store says.
        """
        found: list[Result] = []
        texts: list[str] = []

        def receive(result: _native.Result) -> None:
            values = (tuple(map(_native.decode, result.values[:result.value_count]))
                      if result.values else None)
            found.append(Result(values, _native.decode(result.version)))
            texts.append(_native.decode_all(result.text))

        number = _native.callbacks.add(receive)
        native = (_native.Edit * len(edits))(*(edit._native() for edit in edits))
        try:
            code = _native.core.hami_transport_call(
                self.address, _native.encode(node), native, len(edits), _native.encode(version),
                max(1, int(timeout * 1000)), _native.on_receive, number)
        finally:
            _native.callbacks.remove(number)
        if code != 0:
            raise make_error(code, texts[0] if texts else "")
        return found[0]


class NativeTransport(AnyTransport):
    """A transport of the library's own, such as ``MemoryStore().transport``."""

    def __init__(self, address: int, keeps: object) -> None:
        self.address = address
        self._keeps = keeps  # what it is a part of


class Call:
    """One piece of work for a transport. Complete it once: done, refuse, fail, pass_to, or
    done_owner."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    def _open(self) -> int:
        if self._handle is None:
            raise RuntimeError("the call is completed already")
        return self._handle

    def _complete(self) -> int:
        handle = self._open()
        self._handle = None
        return handle

    @property
    def number(self) -> int:
        """Tells calls apart while they are open."""
        return self._open()

    @property
    def node(self) -> str:
        """The node; of inspect and revoke the one that the owner is asked about."""
        return _native.decode_all(_native.core.hami_call_node(self._open()))

    @property
    def edits(self) -> tuple[Edit, ...]:
        count = ctypes.c_size_t()
        native = _native.core.hami_call_edits(self._open(), ctypes.byref(count))
        return tuple(Edit(Action(one.action), _native.decode_all(one.key),
                          _native.decode(one.expect), _native.decode(one.value))
                     for one in native[:count.value])

    @property
    def version(self) -> str | None:
        """Writes only: the node's version that must still stand; None is any."""
        return _native.decode(_native.core.hami_call_version(self._open()))

    @property
    def is_write(self) -> bool:
        return bool(_native.core.hami_call_is_write(self._open()))

    @property
    def remaining(self) -> float:
        """Seconds until the call has to be completed."""
        return float(_native.core.hami_call_remaining(self._open())) / 1e9

    @property
    def owner(self) -> Pod:
        """inspect and revoke: the pod."""
        return read_pod(_native.core.hami_call_owner(self._open())[0])

    @property
    def wants_read(self) -> bool:
        """inspect: only a consistent read that begins now will do."""
        return bool(_native.core.hami_call_wants_read(self._open()))

    @property
    def revocation(self) -> str | None:
        """revoke: the text to write onto the pod."""
        return _native.decode(_native.core.hami_call_revocation(self._open()))

    def _result(self, code: int, values: Sequence[str | None] | None, version: str | None,
                server_time: float | None, text: str | None) -> None:
        result = _native.sized(_native.Result, code=code, version=_native.encode(version),
                               server_time_us=int((server_time or 0) * 1e6),
                               text=_native.encode(text))
        if values is not None:
            result.values = (ctypes.c_char_p * len(values))(*map(_native.encode, values))
            result.value_count = len(values)
        _native.core.hami_call_done(self._complete(), ctypes.byref(result))

    def done(self, values: Sequence[str | None], *, version: str | None = None,
             server_time: float | None = None) -> None:
        """It was carried out; the values of all edits, in their order, as they are now.

        :param version: the node's version now; opaque
        :param server_time: the store's wall clock, seconds since 1970
        """
        self._result(0, values, version, server_time, None)

    def refuse(self, values: Sequence[str | None] | None = None, *, version: str | None = None,
               server_time: float | None = None) -> None:
        """An expectation failed and nothing was changed; the values if they are known."""
        self._result(Held.code, values, version, server_time, None)

    def fail(self, error: HamiError) -> None:
        """It was not carried out, or nobody knows (:class:`~haminodelock.InDoubt`)."""
        if self._is_about_owner():
            _native.core.hami_call_done_owner(self._complete(), error.code, None,
                                              _native.encode(error.text))
        else:
            self._result(error.code, None, None, None, error.text)

    def _is_about_owner(self) -> bool:
        count = ctypes.c_size_t()
        _native.core.hami_call_edits(self._open(), ctypes.byref(count))
        return count.value == 0

    def done_owner(self, facts: OwnerFacts, *, refused: bool = False) -> None:
        """inspect and revoke: what is so of the owner; refused: the revocation's guard failed."""
        native = facts._native()
        _native.core.hami_call_done_owner(self._complete(), Held.code if refused else 0,
                                          ctypes.byref(native), None)

    def pass_to(self, transport: AnyTransport) -> None:
        """Has another transport carry it out, see :class:`Relay`."""
        native = _native.Transport.from_address(transport.address)
        handle = self._complete()
        code = native.submit(transport.address, handle)
        if code != 0:
            self._handle = handle
            self.fail(make_error(code))


class News:
    """Where a transport tells what it sees: of a node, of a pod. Stale or repeated news is
    harmless."""

    def __init__(self, manager: int) -> None:
        self._manager = manager

    def observe(self, node: str, annotations: Mapping[str, str],
                version: str | None = None) -> None:
        """A node as a watch saw it, with all its annotations."""
        rows = [_native.Annotation(_native.encode(key), _native.encode(value))
                for key, value in annotations.items()]
        record = _native.sized(_native.NodeRecord, version=_native.encode(version),
                               annotations=(_native.Annotation * len(rows))(*rows),
                               annotation_count=len(rows))
        _native.check(_native.core.hami_nodelock_observe(self._manager, _native.encode(node),
                                                         ctypes.byref(record)))

    def observe_owner(self, pod: Pod, facts: OwnerFacts) -> None:
        """What a watch saw of a pod; ``facts.uid`` counts, not the pod's."""
        owner, native = pod._native(), facts._native()
        _native.check(_native.core.hami_nodelock_observe_owner(
            self._manager, ctypes.byref(owner), ctypes.byref(native)))

    def forget(self, node: str) -> None:
        """A node is gone."""
        _native.check(_native.core.hami_nodelock_forget(self._manager, _native.encode(node)))


class Transport(AnyTransport, abc.ABC):
    """A store written in Python. submit is required; the others are left out by not overriding
    them.

    Exceptions: a :class:`~haminodelock.HamiError` raised by submit, inspect or revoke is the
    call's
    outcome. Any other one is shown by sys.unraisablehook, and the call ends in doubt.
    """

    def __init__(self, name: str, *, one_permit: bool = False) -> None:
        """:param one_permit: other readers of the store know one lock a node only"""
        self._name = _native.encode(name)
        self._struct = _native.sized(_native.Transport, name=self._name, flags=int(one_permit))
        for function, thunk in _THUNKS.items():
            if function == "submit" or self._has(function):
                setattr(self._struct, function, thunk)
        self.address = ctypes.addressof(self._struct)
        _transports[self.address] = self

    def _has(self, function: str) -> bool:
        return getattr(type(self), function) is not getattr(Transport, function)

    @abc.abstractmethod
    def submit(self, call: Call) -> None:
        """Begins one call on a node and returns; completes it now or later."""

    def abort(self, number: int) -> None:
        """Asks for an early end of the call with that :attr:`Call.number`; it is completed
        soon."""

    def inspect(self, call: Call) -> None:
        """Learns facts about ``call.owner``. Without it locks are judged by their age alone."""

    def revoke(self, call: Call) -> None:
        """Makes each Binding of ``call.owner`` that is on its way fail."""

    def watch(self, news: News) -> None:
        """Starts to tell what changes. Without it the manager reads while somebody waits."""

    def unwatch(self) -> None:
        """No news comes after this has returned. Required with watch."""

    def close(self) -> None:
        """The manager is gone and no call is out."""


class Relay(Transport):
    """Stands before another transport and passes everything on; override submit to count, delay,
    log.

    The other one outlives it.
    """

    def __init__(self, inner: AnyTransport, name: str = "relay") -> None:
        super().__init__(name)
        self.inner = inner
        native = _native.Transport.from_address(inner.address)
        self._struct.flags = native.flags
        for function in ("abort", "inspect", "revoke", "watch", "unwatch", "close"):
            mine = _THUNKS[function] if self._has(function) else None
            theirs = getattr(native, function)
            setattr(self._struct, function, mine or _forward(type(theirs), inner, theirs))

    def submit(self, call: Call) -> None:
        call.pass_to(self.inner)


def _forward(kind: Any, inner: AnyTransport, function: Any) -> Any:
    """The inner transport's function, called with the inner transport; NULL stays NULL."""
    return kind(lambda _, other: function(inner.address, other)) if function else kind(0)


_transports: weakref.WeakValueDictionary[int, Transport] = weakref.WeakValueDictionary()


def _run(call: Call, function: Callable[[Call], None]) -> int:
    """Answers the C side: the call is completed, or will be."""
    try:
        function(call)
        return 0
    except HamiError as error:
        if call._handle is not None:
            call.fail(error)
        return 0
    except BaseException as error:  # it must not pass through C
        sys.unraisablehook(cast("sys.UnraisableHookArgs", _Unraisable(error)))
        if call._handle is not None:
            call.fail(InDoubt(f"the transport raised {type(error).__name__}"))
        return 0


class _Unraisable:
    """What sys.unraisablehook wants."""

    def __init__(self, error: BaseException) -> None:
        self.exc_type = type(error)
        self.exc_value = error
        self.exc_traceback = error.__traceback__
        self.err_msg = "Exception ignored in a transport"
        self.object = None


def _find(address: int) -> Transport:
    transport = _transports.get(address)
    if transport is None:
        raise InvalidArgument("the transport is gone; it must outlive its managers")
    return transport


def _begin(function: str) -> Any:
    def thunk(address: int, handle: int) -> int:
        return _run(Call(handle), getattr(_find(address), function))
    return _native.CALL(thunk)


def _watch(address: int, manager: int) -> int:
    try:
        _find(address).watch(News(manager))
        return 0
    except HamiError as error:
        return error.code


_THUNKS: dict[str, Any] = {
    "submit": _begin("submit"),
    "abort": _native.CALL_VOID(lambda address, call: _find(address).abort(call)),
    "inspect": _begin("inspect"),
    "revoke": _begin("revoke"),
    "watch": _native.CALL(_watch),
    "unwatch": _native.CALL_VOID(lambda address, _: _find(address).unwatch()),
    "close": _native.CALL_VOID(lambda address, _: _find(address).close()),
}
