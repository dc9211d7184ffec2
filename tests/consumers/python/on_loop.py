# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The behaviours of the asyncio form: those that a loop, and its way to cancel, could break."""

import asyncio
import threading

from haminodelock import AsyncNodeLock, Busy, Closed, Held, Lost, TimedOut

from blocking import raises
from world import PATIENCE, Gate


def queue(lock, node, pod):
    """A task that waits for the lock; it is in the queue after one turn of the loop."""
    async def take():
        return await lock.acquire(node, pod, timeout=PATIENCE)
    return asyncio.ensure_future(take())


async def deadline_queued(world):
    node, holder = world.node(), world.pod()
    async with AsyncNodeLock(world.transport) as lock:
        async with lock.acquire(node, holder, timeout=PATIENCE):
            with raises(TimedOut) as errors:
                await lock.acquire(node, world.pod(), timeout=0.03)
            assert holder.name in errors[0].text and lock.stats().waiters == 0


async def cancel_queued(world):
    node = world.node()
    async with AsyncNodeLock(world.transport) as lock:
        async with lock.acquire(node, world.pod(), timeout=PATIENCE):
            cancelled, behind = (queue(lock, node, world.pod()) for _ in range(2))
            await asyncio.sleep(0)
            assert lock.stats().waiters == 2
            cancelled.cancel()
            with raises(asyncio.CancelledError):
                await cancelled
            assert lock.stats().waiters == 1
        await (await behind).release()


async def cancel_in_flight(world):
    node, gate = world.node(), Gate(world.transport)
    async with AsyncNodeLock(gate) as lock:
        gate.is_shut = True
        waiter = queue(lock, node, world.pod())
        await asyncio.get_running_loop().run_in_executor(None, gate.came.wait, PATIENCE)
        waiter.cancel()
        with raises(asyncio.CancelledError):
            await waiter
        gate.open()
    assert world.value(node) is None


async def cancel_after_grant(world):
    """A task that is cancelled while it holds leaves its block: the lock is released."""
    node, has = world.node(), asyncio.Event()

    async def hold():
        async with lock.acquire(node, world.pod(), timeout=PATIENCE) as lease:
            await lease.check(PATIENCE)
            has.set()
            await asyncio.Event().wait()

    async with AsyncNodeLock(world.transport) as lock:
        task = asyncio.ensure_future(hold())
        await has.wait()
        task.cancel()
        with raises(asyncio.CancelledError):
            await task
        assert world.value(node) is None


async def grant_cancel_race(world):
    """The grant is there, and its task is cancelled before it ran: the lock is given back."""
    node, first, second = world.node(), world.pod(), world.pod()
    async with AsyncNodeLock(world.transport) as lock:
        for turns in range(10):
            lease = await lock.acquire(node, first, timeout=PATIENCE)
            waiter = queue(lock, node, second)
            await asyncio.sleep(0)
            release = asyncio.ensure_future(lease.release())
            for _ in range(turns):
                await asyncio.sleep(0)
            waiter.cancel()
            await asyncio.wait([release, waiter])
            if not waiter.cancelled():
                await waiter.result().release()
        await (await lock.acquire(node, world.pod(), timeout=PATIENCE)).release()
    assert world.value(node) is None


async def drop(world):
    node = world.node()
    async with AsyncNodeLock(world.transport) as lock:
        with raises(KeyError):
            async with lock.acquire(node, world.pod(), timeout=PATIENCE):
                raise KeyError("half-way")
        assert world.value(node) is None


async def hand_off(world):
    node = world.node()
    async with AsyncNodeLock(world.transport) as lock:
        async with lock.acquire(node, world.pod(), timeout=PATIENCE) as lease:
            waiter = queue(lock, node, world.pod())
            await world.bind_async(lease)
            assert lease.is_consumed
        assert lease.pod.name in world.value(node) and not waiter.done()
        world.remove(node)
        await (await waiter).release()
        if world.is_kubesim:
            await cancelled_bind(world, lock)


async def cancelled_bind(world, lock):
    """Its task is gone, and the Binding may be on its way: the lease is handed off, not released."""
    node, pod = world.node(), world.pod()

    async def bind():
        async with lock.acquire(node, pod, timeout=PATIENCE) as lease:
            bound.append(lease)
            await world.bind_async(lease)

    bound = []
    task = asyncio.ensure_future(bind())
    while not bound:
        await asyncio.sleep(0)
    task.cancel()
    with raises(asyncio.CancelledError):
        await task
    assert bound[0].is_consumed and pod.name in world.value(node)
    world.remove(node)


async def order(world):
    node, served = world.node(), []

    async def serve(number):
        async with lock.acquire(node, world.pod(), timeout=PATIENCE):
            served.append(number)

    async with AsyncNodeLock(world.transport) as lock:
        async with lock.acquire(node, world.pod(), timeout=PATIENCE):
            tasks = [asyncio.ensure_future(serve(number)) for number in range(5)]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
    assert served == list(range(5))


async def try_held(world):
    node, holder, other = world.node(), world.pod(), world.pod()
    async with AsyncNodeLock(world.transport) as lock, \
            AsyncNodeLock(world.transport) as elsewhere:
        async with lock.acquire(node, holder, timeout=PATIENCE):
            with raises(Held) as errors:
                await elsewhere.try_acquire(node, other)
            assert holder.name in errors[0].text
            with raises(Busy):
                await lock.try_acquire(node, other)
        async with lock.try_acquire(node, other):
            pass


async def callback_thread(world):
    """All on the loop's thread, though others remove and write."""
    node, threads, told = world.node(), set(), asyncio.Event()

    def on_lost(lease, text):
        threads.add(threading.get_ident())
        told.set()

    async with AsyncNodeLock(world.transport, on_lost=on_lost) as lock:
        lease = await lock.acquire(node, world.pod(), timeout=PATIENCE)
        await asyncio.get_running_loop().run_in_executor(None, world.remove, node)
        await asyncio.wait_for(told.wait(), PATIENCE)
        assert threads == {threading.get_ident()}
        with raises(Lost):
            await lease.release()


async def close(world):
    node = world.node()
    lock = AsyncNodeLock(world.transport)
    lease = await lock.acquire(node, world.pod(), timeout=PATIENCE)
    waiters = [queue(lock, node, world.pod()) for _ in range(2)]
    await asyncio.sleep(0)
    await lock.shutdown(PATIENCE)
    for waiter in waiters:
        with raises(Closed):
            await waiter
    with raises(Closed):
        await lock.acquire(node, world.pod(), timeout=1)
    await lock.close()
    with raises(Closed):
        await lease.release()
    assert lease.is_consumed and world.value(node) == lease.value
