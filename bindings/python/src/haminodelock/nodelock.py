# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The blocking form: for threads, and for programs that do one thing at a time."""

from __future__ import annotations

import concurrent.futures
import ctypes
from collections.abc import Callable, Sequence
from types import TracebackType

from . import _native
from .errors import ForkedChild, HamiError, TimedOut
from .manager import BaseLease, Cancel, Manager, deadline, start_check
from .transport import AnyTransport
from .types import Config, Pod

__all__ = ["Lease", "NodeLock"]


class Lease(BaseLease):
    """A held lock. As a context manager it is released at the end, unless it was handed off::

        with lock.acquire("node-1", pod, timeout=30) as lease:
            bind(pod, lease.fence)     # an exception here releases
            lease.hand_off()           # the device plugin's side releases
    """

    _manager: NodeLock

    def release(self, timeout: float | None = 5.0) -> None:
        """Gives the lock back, and waits for the store.

        Where the pod turned out bound here meanwhile, the lock is handed off instead: a release
        never
        takes a lock from under a pod that needs it. The lease is consumed whatever happens.

        Raises Lost if the lock was no longer ours, InDoubt if the store did not answer in time
        (it goes
        on behind), Closed if the manager is shut down (then the lock is left to the node side).
        """
        handle = self._consume()
        error = _native.sized(_native.Error)
        _native.check(_native.core.hami_lease_release(handle, deadline(timeout),
                                                      ctypes.byref(error)), error)

    def check(self, timeout: float | None = 5.0) -> None:
        """Reads the store. Raises Lost if the lock is no longer ours; the lease stays to be
        consumed."""
        done: concurrent.futures.Future[HamiError | None] = concurrent.futures.Future()
        start_check(self, timeout, done.set_result)
        failed = done.result()
        if failed:
            raise failed

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.is_consumed:
            return
        try:
            self.release()
        except HamiError:
            if error is None:
                raise


class NodeLock(Manager):
    """Locks nodes for pods, in the order of arrival. Every method may be called from any thread.

    It runs one thread of the library's; ``on_lost`` and ``config.log`` are called there and must
    not
    block. Close it before its transport::

        with MemoryStore() as store, NodeLock(store.transport) as lock:
            with lock.acquire("node-1", Pod("default", "my-pod", "uid"), timeout=5):
                ...  # node-1 is ours

    :param on_lost: called with a lease and a text when the lease's lock has vanished from the
    store
    """

    _lease_class = Lease

    def __init__(self, transport: AnyTransport, config: Config | None = None, *,
                 on_lost: Callable[[Lease, str], None] | None = None) -> None:
        super().__init__(transport, config, on_lost, None)

    def acquire(self, node: str, pod: Pod, *, timeout: float | None = None,
                keys: Sequence[str] = (), priority: int = 0, group: str | None = None,
                cancel: Cancel | None = None) -> Lease:
        """Takes the node's lock: waits its turn, then for the store.

        The same pod asking again shares its grant.

        :param timeout: seconds; None waits for ever
        :param keys: annotations that are locked together; the configured one by default
        :param priority: higher goes first, but each waiter is overtaken a few times at most
        :param group: its members, of one namespace and priority, are served one after the other
        :param cancel: ends the wait from elsewhere
        """
        return self._take(node, pod, timeout, keys, priority, group, cancel, False)

    def try_acquire(self, node: str, pod: Pod, *, timeout: float | None = 5.0,
                    keys: Sequence[str] = ()) -> Lease:
        """Takes the lock if that needs no waiting but for the store's answers.

        Raises Busy at once if this manager has a holder or waiters there, Held if another one
        has.
        """
        return self._take(node, pod, timeout, keys, 0, None, None, True)

    def _take(self, node: str, pod: Pod, timeout: float | None, keys: Sequence[str],
              priority: int, group: str | None, cancel: Cancel | None, is_try: bool) -> Lease:
        request = self._request(node, pod, timeout, keys, priority, group, cancel)
        done: concurrent.futures.Future[BaseLease | HamiError] = concurrent.futures.Future()
        pending = self._start(request, is_try, done.set_result)
        try:
            end = done.result()
        except BaseException:  # KeyboardInterrupt: nobody will use the lease
            done.add_done_callback(_give_back)
            pending.abort()
            raise
        if isinstance(end, HamiError):
            raise end
        assert isinstance(end, Lease)
        return end

    def shutdown(self, timeout: float | None = 5.0) -> None:
        """Ends the service: waiters get Closed, what is in flight is finished or undone.

        Held leases stay with their holders. Raises TimedOut if something is still in doubt.
        """
        _native.check(_native.core.hami_nodelock_shutdown(self._manager, deadline(timeout)))

    def close(self, timeout: float | None = 5.0) -> None:
        """Shuts down and frees; again is fine. No other call may run.

        Leases that are still held count as handed off: nothing is released behind anyone's back.
        """
        if self._handle is None:
            return
        try:
            self.shutdown(timeout)
        except (TimedOut, ForkedChild):
            pass  # what is in doubt is resolved by the next manager
        self._free()

    def __enter__(self) -> NodeLock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def _give_back(done: concurrent.futures.Future[BaseLease | HamiError]) -> None:
    end = done.result()
    if isinstance(end, BaseLease):
        end._drop()
