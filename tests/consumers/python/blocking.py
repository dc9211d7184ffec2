# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The behaviours through the blocking form."""

import contextlib
import gc
import os
import threading
import warnings

from haminodelock import (Action, Busy, Cancel, Cancelled, Closed, Config, ForkedChild, Held,
                          InvalidArgument, LimitReached, Lost, NodeLock, Pod, SlotState, TimedOut,
                          Transport)

from world import PATIENCE, Gate, Waiter


@contextlib.contextmanager
def raises(kind):
    """Like pytest's; gives the error in a list."""
    found = []
    try:
        yield found
    except kind as error:
        found.append(error)
    else:
        raise AssertionError(f"{kind.__name__} was not raised")


def deadline_queued(world):
    node, holder = world.node(), world.pod()
    with world.lock() as lock:
        with lock.acquire(node, holder, timeout=PATIENCE):
            with raises(TimedOut) as errors:
                lock.acquire(node, world.pod(), timeout=0.03)
            assert isinstance(errors[0], TimeoutError) and holder.name in errors[0].text
            assert lock.stats().waiters == 0
        assert world.value(node) is None
        lock.acquire(node, world.pod(), timeout=PATIENCE).release()


def deadline_past(world):
    node = world.node()
    with world.lock() as lock:
        for timeout in (0, -5.0):
            with raises(TimedOut):
                lock.acquire(node, world.pod(), timeout=timeout)
    assert world.value(node) is None


def cancel_queued(world):
    node, cancel = world.node(), Cancel()
    with world.lock() as lock:
        with lock.acquire(node, world.pod(), timeout=PATIENCE):
            cancelled = Waiter(lock, node, world.pod(), cancel=cancel)
            behind = Waiter(lock, node, world.pod(), 2)
            cancel.fire()
            assert cancelled.end() is None and isinstance(cancelled.error, Cancelled)
            assert lock.stats().waiters == 1 and cancel.is_fired
        behind.end().release()


def cancel_in_flight(world):
    node, gate, cancel = world.node(), Gate(world.transport), Cancel()
    with NodeLock(gate) as lock:
        gate.is_shut = True
        waiter = Waiter(lock, node, world.pod(), cancel=cancel)
        assert gate.came.wait(PATIENCE)
        cancel.fire()
        assert waiter.end() is None and isinstance(waiter.error, Cancelled)
        gate.open()
    assert world.value(node) is None


def cancel_after_grant(world):
    node, cancel = world.node(), Cancel()
    with world.lock() as lock:
        lease = lock.acquire(node, world.pod(), timeout=PATIENCE, cancel=cancel)
        cancel.fire()
        lease.check(PATIENCE)
        lease.release()
    assert world.value(node) is None


def grant_cancel_race(world):
    node, first, second = world.node(), world.pod(), world.pod()
    with world.lock() as lock:
        for _ in range(10):
            cancel, start = Cancel(), threading.Barrier(2)
            lease = lock.acquire(node, first, timeout=PATIENCE)
            waiter = Waiter(lock, node, second, cancel=cancel)
            thread = threading.Thread(target=lambda s=start, c=cancel: (s.wait(), c.fire()))
            thread.start()
            start.wait()
            lease.release()
            thread.join()
            granted = waiter.end()
            assert (granted is None) == isinstance(waiter.error, Cancelled)
            if granted:
                granted.release()
        lock.acquire(node, world.pod(), timeout=PATIENCE).release()
    assert world.value(node) is None


def drop(world):
    """Leaving the with block releases, by an exception too; garbage is released with a warning."""
    node = world.node()
    with world.lock() as lock:
        with lock.acquire(node, world.pod(), timeout=PATIENCE):
            waiter = Waiter(lock, node, world.pod())
        with raises(KeyError), waiter.end():
            raise KeyError("half-way")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lock.acquire(node, world.pod(), timeout=PATIENCE)  # forgotten at once
            gc.collect()
        assert [one.category for one in caught] == [ResourceWarning], caught
        lock.acquire(node, world.pod(), timeout=PATIENCE).release()
    assert world.value(node) is None


def release(world):
    node = world.node()
    with world.lock() as lock:
        first = lock.acquire(node, world.pod(), timeout=PATIENCE)
        assert first.fence > 0 and world.value(node) == first.value
        first.release()
        assert first.is_consumed and world.value(node) is None
        second = lock.acquire(node, world.pod(), timeout=PATIENCE)
        assert second.fence > first.fence
        second.release()
        with raises(InvalidArgument):
            second.release()


def hand_off(world):
    node = world.node()
    with world.lock() as lock:
        lease = lock.acquire(node, world.pod(), timeout=PATIENCE)
        waiter = Waiter(lock, node, world.pod())
        with lease:
            world.bind(lease)
        assert lease.is_consumed
        assert lock.snapshot(node)[0].slots[0].state is SlotState.HANDED_OFF
        assert lease.pod.name in world.value(node) and waiter.is_alive()
        world.remove(node)
        after = waiter.end()
        assert after.fence > lease.fence
        after.release()
        if world.is_kubesim:
            refused(world, lock)


def refused(world, lock):
    """A pod that another one bound elsewhere: the lease is still held, and is released."""
    node, pod = world.node(), world.pod()
    with lock.acquire(node, pod, timeout=PATIENCE) as lease:
        world.bind_elsewhere(pod, world.node())
        with raises(Lost):
            world.bind(lease)
        assert not lease.is_consumed
    assert world.value(node) is None


def order(world):
    node, served = world.node(), []
    with world.lock() as lock:
        lease = lock.acquire(node, world.pod(), timeout=PATIENCE)
        waiters = [Waiter(lock, node, world.pod(), number + 1) for number in range(4)]
        lease.release()
        for number, waiter in enumerate(waiters):
            granted = waiter.end()
            assert all(later.is_alive() for later in waiters[number + 1:])
            served.append(granted.fence)
            granted.release()
    assert served == sorted(served)


def lanes(world):
    node = world.node()
    asked = [{}, {"group": "gang"}, {}, {"group": "gang"}, {"priority": 5}]
    with world.lock() as lock:
        lease = lock.acquire(node, world.pod(), timeout=PATIENCE)
        waiters = [Waiter(lock, node, world.pod(), number + 1, **how)
                   for number, how in enumerate(asked)]
        lease.release()
        order_of_service = [4, 0, 1, 3, 2]
        for number, index in enumerate(order_of_service):
            granted = waiters[index].end()
            assert all(waiters[later].is_alive() for later in order_of_service[number + 1:])
            granted.release()


def limit(world):
    node = world.node()
    with world.lock(config=Config(waiters_per_node=1)) as lock:
        lease = lock.acquire(node, world.pod(), timeout=PATIENCE)
        waiter = Waiter(lock, node, world.pod())
        with raises(LimitReached) as errors:
            lock.acquire(node, world.pod(), timeout=PATIENCE)
        assert (errors[0].position, errors[0].waiting, errors[0].expected) == (1, 1, None)
        assert "1 of 1 waiters are of namespace default" in errors[0].text
        lease.release()
        waiter.end().release()


def try_held(world):
    node, holder, other = world.node(), world.pod(), world.pod()
    with world.lock() as lock, world.lock() as elsewhere:
        with lock.acquire(node, holder, timeout=PATIENCE):
            with raises(Held) as errors:
                elsewhere.try_acquire(node, other)
            assert holder.name in errors[0].text
            with raises(Busy):
                lock.try_acquire(node, other)
            assert lock.stats().waiters == 0
        lock.try_acquire(node, other).release()


def many_nodes(world):
    nodes = [world.node() for _ in range(3)]
    with world.lock() as lock:
        leases = [lock.acquire(node, world.pod(), timeout=PATIENCE) for node in nodes]
        waiters = [Waiter(lock, node, world.pod(), number + 1)
                   for number, node in enumerate(nodes)]
        lock.acquire(world.node(), world.pod(), timeout=PATIENCE).release()
        for number in (2, 1, 0):
            assert waiters[number].is_alive()
            leases[number].release()
            waiters[number].end().release()


def callback_thread(world):
    """Without an event loop: never on a thread of the caller's."""
    node, threads, told = world.node(), set(), threading.Event()
    with world.lock(on_lost=lambda lease, text: (threads.add(threading.get_ident()),
                                                 told.set())) as lock:
        lease = lock.acquire(node, world.pod(), timeout=PATIENCE)
        world.remove(node)
        assert told.wait(PATIENCE) and threading.get_ident() not in threads
        with raises(Lost):
            lease.release()


def close(world):
    node = world.node()
    lock = world.lock()
    lease = lock.acquire(node, world.pod(), timeout=PATIENCE)
    waiters = [Waiter(lock, node, world.pod(), number + 1) for number in range(2)]
    lock.shutdown(PATIENCE)
    for waiter in waiters:
        assert waiter.end() is None and isinstance(waiter.error, Closed)
    for take in (lock.acquire, lock.try_acquire):
        with raises(Closed):
            take(node, world.pod(), timeout=1)
    assert world.value(node) == lease.value
    lock.close()
    with raises(Closed):
        lock.acquire(node, world.pod(), timeout=1)
    with raises(Closed):
        lease.release()
    assert world.value(node) == lease.value and lease.is_consumed


def fork(world):
    node = world.node()
    with world.lock() as lock:
        lease = lock.acquire(node, world.pod(), timeout=PATIENCE)
        child = os.fork()
        if child == 0:
            os._exit(_in_child(lock, lease, node))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        lease.check(PATIENCE)
        lease.release()


def _in_child(lock, lease, node):
    """How many calls did not raise ForkedChild."""
    wrong = 0
    pod = Pod("default", "child", "child")
    for call in (lambda: lock.acquire(node, pod, timeout=1), lambda: lock.try_acquire(node, pod),
                 lock.stats, lambda: lease.check(1), lease.release):
        try:
            call()
            wrong += 1
        except ForkedChild:
            pass
        except BaseException:
            wrong += 1
    return wrong


def lost(world):
    node, told, event = world.node(), [], threading.Event()
    with world.lock(on_lost=lambda *what: (told.append(what), event.set())) as lock:
        lease = lock.acquire(node, world.pod(), timeout=PATIENCE)
        world.remove(node)
        assert event.wait(PATIENCE)
        assert told[0][0] is lease and told[0][1]
        with raises(Lost):
            lease.release()
        lock.acquire(node, world.pod(), timeout=PATIENCE).release()
    assert len(told) == 1


def re_entry(world):
    node, pod = world.node(), world.pod()
    with world.lock() as lock:
        first = lock.acquire(node, pod, timeout=PATIENCE)
        waiter = Waiter(lock, node, world.pod())
        second = lock.acquire(node, pod, timeout=PATIENCE)
        assert first.fence == second.fence
        first.release()
        second.check(PATIENCE)
        assert waiter.is_alive()
        second.release()
        waiter.end().release()


def arguments(world):
    node, pod = world.node(), world.pod()
    with world.lock() as lock:
        for bad_node, bad_pod, keys in (
                ("Not A Node", pod, ()), ("", pod, ()), ("with\0nul", pod, ()),
                (node, Pod("default", pod.name, ""), ()),
                (node, Pod("default", pod.name, "has a blank"), ()),
                (node, Pod("Upper", pod.name, pod.uid), ()),
                (node, pod, ["hami.io/mutex.lock"] * 2)):
            with raises(InvalidArgument) as errors:
                lock.acquire(bad_node, bad_pod, timeout=1, keys=keys)
            assert errors[0].text and isinstance(errors[0], ValueError)
        with raises(TypeError):
            lock.acquire(7, pod, timeout=1)
        assert lock.stats().calls == 0
    assert world.value(node) is None


class Dictionary(Transport):
    """A store in Python, with a mutex because managers call from any thread."""

    def __init__(self):
        super().__init__("dictionary")
        self.mutex = threading.Lock()
        self.nodes = {}

    def submit(self, call):
        with self.mutex:
            values = self.nodes.setdefault(call.node, {})
            good = all(edit.action is Action.READ or values.get(edit.key) == edit.expect
                       for edit in call.edits)
            for edit in call.edits:
                if good and edit.action is Action.PUT:
                    values[edit.key] = edit.value
            now = [values.get(edit.key) for edit in call.edits]
        if good:
            call.done(now)
        else:
            call.refuse(now)


def transport(world):
    store, pod = Dictionary(), world.pod()
    with NodeLock(store) as lock:
        with lock.acquire("some-node", pod, timeout=PATIENCE):
            assert pod.name in store.nodes["some-node"]["hami.io/mutex.lock"]
            waiter = Waiter(lock, "some-node", world.pod())
        waiter.end().release()
        assert store.nodes["some-node"]["hami.io/mutex.lock"] is None


def look(world):
    node, pods = world.node(), [world.pod() for _ in range(3)]
    with world.lock() as lock:
        lease = lock.acquire(node, pods[0], timeout=PATIENCE)
        waiters = [Waiter(lock, node, pods[number], number) for number in (1, 2)]
        stats = lock.stats()
        assert (stats.grants, stats.leases, stats.waiters) == (1, 1, 2)
        [view] = lock.snapshot(node)
        assert view.slots[0].state is SlotState.HELD and view.slots[0].pod == pods[0]
        assert [(one.pod, one.position) for one in view.waiters] == [(pods[1], 0), (pods[2], 1)]
        lease.release()
        for waiter in waiters:
            waiter.end().release()
        assert lock.stats().releases == 3
        assert lock.snapshot(node)[0].slots[0].state is SlotState.FREE
