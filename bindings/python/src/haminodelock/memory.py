# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The store in memory: for tests, and for programs without Kubernetes."""

from __future__ import annotations

import ctypes
from types import TracebackType

from . import _native
from .errors import Lost, NoSuchNode
from .transport import NativeTransport
from .types import OwnerFacts, Pod

__all__ = ["MemoryStore"]


class MemoryStore:
    """A store. Several managers may share it; free them before it::

        with MemoryStore() as store, NodeLock(store.transport) as lock:
            ...
    """

    def __init__(self, *, owners: bool = False) -> None:
        """:param owners: the store also knows pods, which :meth:`put_owner` describes. Without it
        each owner is judged by the age of its lock."""
        handle = ctypes.c_void_p()
        _native.check(_native.core.hami_memory_new(_native.MEMORY_OWNERS if owners else 0,
                                                   ctypes.byref(handle)))
        self._handle = handle.value
        address = _native.core.hami_memory_transport(handle)
        #: for :class:`~haminodelock.NodeLock`
        self.transport = NativeTransport(address, self)

    def close(self) -> None:
        """Frees the store; again is fine."""
        handle, self._handle = self._handle, None
        _native.core.hami_memory_free(handle)

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def put(self, node: str, key: str, value: str | None) -> None:
        """Writes a value as another writer would, without looking; None removes it."""
        _native.check(_native.core.hami_memory_put(
            self._handle, *map(_native.encode, (node, key, value))))

    def get(self, node: str, key: str = _native.KEY) -> str | None:
        """A value; None if there is no such node or value."""
        buffer = ctypes.create_string_buffer(262144)
        code = _native.core.hami_memory_get(self._handle, _native.encode(node),
                                            _native.encode(key), buffer, len(buffer))
        if code in (NoSuchNode.code, Lost.code):
            return None
        _native.check(code)
        return buffer.value.decode(errors="replace")

    def delete(self, node: str) -> None:
        """Removes a node with all its values."""
        _native.check(_native.core.hami_memory_delete(self._handle, _native.encode(node)))

    def put_owner(self, pod: Pod, facts: OwnerFacts | None = None) -> None:
        """Says what is so of a pod. By default it exists and nothing has happened to it."""
        owner, native = pod._native(), (facts or OwnerFacts(uid=pod.uid))._native()
        _native.check(_native.core.hami_memory_put_owner(
            self._handle, ctypes.byref(owner), ctypes.byref(native)))

    def bind_owner(self, pod: Pod, node: str, version: str | None = None) -> None:
        """Binds a pod as an API server does. Raises :class:`~haminodelock.Lost` if that is
        refused."""
        owner = pod._native()
        _native.check(_native.core.hami_memory_bind_owner(
            self._handle, ctypes.byref(owner), _native.encode(node), _native.encode(version)))
