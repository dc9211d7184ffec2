# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The asyncio form: no thread of the library's; everything happens on the event loop.

The library says through a pipe that it wants a turn; the loop reads it, dispatches, and sets a
timer for the moment at which the library wants the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import time
from collections.abc import Callable, Generator, Sequence
from types import TracebackType
from typing import Any

from . import _native
from .errors import Closed, ForkedChild, HamiError, InDoubt, TimedOut
from .manager import BaseLease, Cancel, Manager, deadline, start_check, start_done
from .transport import AnyTransport
from .types import Config, Pod

__all__ = ["AsyncLease", "AsyncNodeLock"]

#: While closing, how long to wait for a turn that nobody announced.
_CLOSING_TURN = 0.02


def _wake(writing: int) -> None:
    """From any thread of the library's. A pipe that is full will be read anyway."""
    with contextlib.suppress(BlockingIOError):
        os.write(writing, b"!")


class AsyncLease(BaseLease):
    """A held lock. As an asynchronous context manager it is released at the end, unless handed
    off."""

    _manager: AsyncNodeLock

    def __init__(self, manager: Manager, handle: int) -> None:
        super().__init__(manager, handle)
        self._using: set[asyncio.Future[Any]] = set()
        self._is_left = False  # to be released when what uses it has ended

    @property
    def is_consumed(self) -> bool:
        """True after release or hand_off."""
        return self._is_left or self._handle is None

    async def release(self, timeout: float | None = 5.0) -> None:
        """Gives the lock back; see :meth:`haminodelock.Lease.release`. A cancelled task's release
        goes on behind.

        A bind or check whose task was cancelled is waited for; they end by their own deadline. If
        the pod was bound by then, the lease is handed off already and nothing is left to do. Where
        they outlast the timeout InDoubt is raised, and the release follows them behind.
        """
        until = deadline(timeout)
        while self._using:
            left = None if timeout is None else max(0.0, (until - time.monotonic_ns()) / 1e9)
            ended_ones, _ = await asyncio.wait(self._using, timeout=left)
            if self._handle is None:
                return
            if not ended_ones:
                self._is_left = True
                raise InDoubt("a bind or check with the lease goes on; the release follows it")
        ended, future = self._manager._future()
        handle = self._consume()
        try:
            start_done(_native.core.hami_lease_release_start, handle, until, ended)
        except Closed:
            raise  # consumed: left to the node side
        except HamiError:
            self._handle = handle
            raise
        await future

    async def check(self, timeout: float | None = 5.0) -> None:
        """Reads the store. Raises Lost if the lock is no longer ours; the lease stays to be
        consumed."""
        ended, future = self._manager._future()
        start_check(self, timeout, ended)
        await self._use(future)

    async def _use(self, future: asyncio.Future[Any]) -> Any:
        """Waits for what reads the lease; a cancelled task leaves it to release."""
        self._using.add(future)
        future.add_done_callback(self._used)
        return await asyncio.shield(future)

    def _used(self, future: asyncio.Future[Any]) -> None:
        self._using.discard(future)
        future.exception()  # a task that was cancelled will not look at it
        if self._is_left and not self._using:
            self._drop()

    async def __aenter__(self) -> AsyncLease:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        if self.is_consumed:
            return
        try:
            await self.release()
        except HamiError:
            if error is None:
                raise


class _Acquiring:
    """What acquire gives: ``lease = await it``, or ``async with it as lease``."""

    def __init__(self, begin: Callable[[], Any]) -> None:
        self._begin = begin
        self._lease: AsyncLease | None = None

    def __await__(self) -> Generator[Any, None, AsyncLease]:
        lease: AsyncLease = yield from self._begin().__await__()
        return lease

    async def __aenter__(self) -> AsyncLease:
        self._lease = await self
        return self._lease

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        assert self._lease is not None
        await self._lease.__aexit__(kind, error, trace)


class AsyncNodeLock(Manager):
    """Locks nodes for pods, in the order of arrival, on the event loop that is running when it
    is made.

    Its methods, ``on_lost`` too, run on that loop's thread::

        async with AsyncNodeLock(store.transport) as lock:
            async with lock.acquire("node-1", pod, timeout=30) as lease:
                await bind(pod, lease.fence)   # an exception, a cancellation here releases
                lease.hand_off()               # the device plugin's side releases

    Cancelling a task that waits takes it out of the queue; a grant that comes too late for it is
    given
    back. Close it before its transport.
    """

    _lease_class = AsyncLease

    def __init__(self, transport: AnyTransport, config: Config | None = None, *,
                 on_lost: Callable[[AsyncLease, str], None] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._reading, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._timer: asyncio.TimerHandle | None = None
        self._turned: asyncio.Event = asyncio.Event()
        try:
            super().__init__(transport, config, on_lost, functools.partial(_wake, self._writing))
        except BaseException:
            self._close_pipe()
            raise
        self._loop.add_reader(self._reading, self._turn)

    def _close_pipe(self) -> None:
        os.close(self._reading)
        os.close(self._writing)

    def _turn(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._reading, 4096)
        if self._handle is not None:
            _native.core.hami_nodelock_dispatch(self._handle)
            self._arm()
        self._turned.set()

    def _arm(self) -> None:
        """Sets the timer to the library's next deadline."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._handle is None:
            return
        due: int = _native.core.hami_nodelock_next_deadline(self._handle)
        if due != _native.NEVER:
            delay = max(0.0, (due - time.monotonic_ns()) / 1e9)
            self._timer = self._loop.call_later(delay, self._turn)

    def _future(self) -> tuple[Callable[[HamiError | None], None], asyncio.Future[None]]:
        """For what tells its end with a code alone."""
        future: asyncio.Future[None] = self._loop.create_future()

        def ended(error: HamiError | None) -> None:
            if future.done():
                return
            if error:
                future.set_exception(error)
            else:
                future.set_result(None)

        return ended, future

    def acquire(self, node: str, pod: Pod, *, timeout: float | None = None,
                keys: Sequence[str] = (), priority: int = 0, group: str | None = None,
                cancel: Cancel | None = None) -> _Acquiring:
        """Takes the node's lock; to be awaited, or entered with ``async with``.

        Arguments and exceptions are those of :meth:`haminodelock.NodeLock.acquire`.
        """
        return _Acquiring(
            lambda: self._take(node, pod, timeout, keys, priority, group, cancel, False))

    def try_acquire(self, node: str, pod: Pod, *, timeout: float | None = 5.0,
                    keys: Sequence[str] = ()) -> _Acquiring:
        """Takes the lock if that needs no waiting but for the store's answers."""
        return _Acquiring(lambda: self._take(node, pod, timeout, keys, 0, None, None, True))

    async def _take(self, node: str, pod: Pod, timeout: float | None, keys: Sequence[str],
                    priority: int, group: str | None, cancel: Cancel | None,
                    is_try: bool) -> AsyncLease:
        request = self._request(node, pod, timeout, keys, priority, group, cancel)
        future: asyncio.Future[BaseLease | HamiError] = self._loop.create_future()

        def ended(end: BaseLease | HamiError) -> None:
            if not future.done():
                future.set_result(end)
            elif isinstance(end, BaseLease):  # the task was cancelled
                end._drop()

        pending = self._start(request, is_try, ended)
        self._arm()
        try:
            end = await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                ended(future.result())
            pending.abort()
            raise
        if isinstance(end, HamiError):
            raise end
        assert isinstance(end, AsyncLease)
        return end

    async def shutdown(self, timeout: float | None = 5.0) -> None:
        """Ends the service: waiters get Closed, what is in flight is finished or undone.

        Held leases stay with their holders. Raises TimedOut if something is still in doubt.
        """
        until = deadline(timeout)
        while True:
            self._turned.clear()
            code = _native.core.hami_nodelock_shutdown(self._manager, 0)  # does not wait
            self._arm()
            if code != TimedOut.code or time.monotonic_ns() >= until:
                _native.check(code)
                return
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._turned.wait(), _CLOSING_TURN)

    async def close(self, timeout: float | None = 5.0) -> None:
        """Shuts down and frees; again is fine.

        Leases that are still held count as handed off: nothing is released behind anyone's back.
        """
        if self._handle is None:
            return
        try:
            await self.shutdown(timeout)
        except (TimedOut, ForkedChild):
            pass  # what is in doubt is resolved by the next manager
        self._free()

    def _free(self) -> None:
        if self._timer:
            self._timer.cancel()
        if not self._loop.is_closed():
            self._loop.remove_reader(self._reading)
        super()._free()
        self._close_pipe()

    async def __aenter__(self) -> AsyncNodeLock:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close()
