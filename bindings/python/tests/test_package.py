# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What is Python's own: garbage, exceptions in transports, the end of the interpreter."""

import asyncio
import gc
import subprocess
import sys
import threading
import unittest
import warnings

import haminodelock
from haminodelock import (Action, AsyncNodeLock, Config, Edit, HamiError, Held, InDoubt,
                          MemoryStore, NodeLock, NoSuchNode, Pod, Relay, TimedOut, Transport,
                          Unreachable)

POD = Pod("default", "pod-1", "uid-1")


class Raising(Transport):
    """Raises what it is given, at each submit."""

    def __init__(self, error):
        super().__init__("raising")
        self.error = error

    def submit(self, call):
        raise self.error


class Transports(unittest.TestCase):
    edits = [Edit(Action.PUT, "key", None, "value")]

    def test_an_error_of_the_library_s_is_the_call_s_outcome(self):
        for error in (Unreachable("no route"), InDoubt("no answer"), NoSuchNode("gone")):
            transport = Raising(error)
            with self.assertRaises(type(error)) as caught:
                transport.call("node-1", self.edits)
            self.assertIn(error.text, str(caught.exception))

    def test_another_exception_is_shown_and_leaves_the_call_in_doubt(self):
        shown = []
        before, sys.unraisablehook = sys.unraisablehook, shown.append
        try:
            transport = Raising(RuntimeError("oops"))
            with self.assertRaises(InDoubt):
                transport.call("node-1", self.edits)
        finally:
            sys.unraisablehook = before
        self.assertIsInstance(shown[0].exc_value, RuntimeError)

    def test_a_call_can_not_be_completed_twice(self):
        caught = []

        class Twice(Transport):
            def submit(self, call):
                call.done([None])
                try:
                    call.done([None])
                except RuntimeError as error:
                    caught.append(error)

        transport = Twice("twice")
        transport.call("node-1", [Edit(Action.READ, "key")])
        self.assertEqual(len(caught), 1)

    def test_a_relay_sees_each_call_of_a_manager_and_passes_on_the_rest(self):
        class Counting(Relay):
            calls = []

            def submit(self, call):
                self.calls.append((call.node, call.is_write, call.remaining > 0))
                super().submit(call)

        with MemoryStore(owners=True) as store:
            store.put_owner(POD)
            relay = Counting(store.transport)
            with NodeLock(relay) as lock:
                with lock.acquire("node-1", POD, timeout=5):
                    self.assertTrue(store.get("node-1").endswith(",default,pod-1"))
                self.assertIsNone(store.get("node-1"))
        self.assertIn(("node-1", True, True), relay.calls)

    def test_a_watch_in_python_tells_a_manager_what_others_did(self):
        class Watching(Relay):
            news = None

            def watch(self, news):
                Watching.news = news

            def unwatch(self):
                Watching.news = None

        lost = threading.Event()
        with MemoryStore() as store:
            relay = Watching(store.transport)
            with NodeLock(relay, on_lost=lambda lease, text: lost.set()) as lock:
                lease = lock.acquire("node-1", POD, timeout=5)
                store.put("node-1", haminodelock.KEY, None)
                Watching.news.observe("node-1", {}, "99")
                self.assertTrue(lost.wait(10))
                with self.assertRaises(haminodelock.Lost):
                    lease.release()
            self.assertIsNone(Watching.news)

    def test_a_refused_edit_says_so_and_changes_nothing(self):
        with MemoryStore() as store:
            store.put("node-1", "key", "other")
            with self.assertRaises(Held):
                store.transport.call("node-1", self.edits)
            self.assertEqual(
                store.transport.call("node-1", [Edit(Action.READ, "key")]).values, ("other",))


class Garbage(unittest.TestCase):
    def test_a_manager_that_is_forgotten_warns_and_is_freed(self):
        with MemoryStore() as store:
            before = set(threading.enumerate())
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                NodeLock(store.transport)
                gc.collect()
            self.assertEqual([one.category for one in caught], [ResourceWarning])
            for thread in set(threading.enumerate()) - before:
                thread.join(10)
                self.assertFalse(thread.is_alive())

    def test_an_interpreter_ends_cleanly_with_a_manager_open(self):
        for form, take in (("NodeLock", ""), ("AsyncNodeLock", "await")):
            done = subprocess.run([sys.executable, "-c", f"""
import asyncio, haminodelock as h
store = h.MemoryStore()
async def main():
    global lock, lease
    lock = h.{form}(store.transport)
    lease = {take} lock.acquire("n", h.Pod("d", "p", "u"), timeout=5)
asyncio.run(main())
print("end")
"""], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, "end\n"), done.stderr)


class Settings(unittest.TestCase):
    def test_a_config_reaches_the_library(self):
        config = Config(holder="me", hold_limit=1.5, key="example.com/my.lock")
        with MemoryStore() as store, NodeLock(store.transport, config) as lock:
            self.assertTrue(lock.holder.startswith("me_"))
            with lock.acquire("node-1", POD, timeout=5) as lease:
                self.assertEqual(lease.key, "example.com/my.lock")
                self.assertIn('"hold_ms":1500', store.get("node-1", "example.com/my.lease"))

    def test_the_log_is_told_in_lines(self):
        lines = []
        config = Config(log=lambda level, line: lines.append((level, line)))
        with MemoryStore() as store, NodeLock(store.transport, config) as lock:
            lease = lock.acquire("node-1", POD, timeout=5)
            store.put("node-1", haminodelock.KEY, None)
            with self.assertRaises(haminodelock.Lost):
                lease.release()
        self.assertTrue(lines)
        self.assertTrue(all(0 <= level <= 3 and "node-1" in line for level, line in lines), lines)

    def test_a_bad_config_is_refused_with_its_reason_and_leaves_no_callback(self):
        with MemoryStore() as store:
            before = len(haminodelock._native.callbacks._functions)
            with self.assertRaises(haminodelock.InvalidArgument) as caught:
                NodeLock(store.transport, Config(permits=1000, log=print))
            self.assertTrue(caught.exception.text)
            self.assertEqual(len(haminodelock._native.callbacks._functions), before)

    def test_keys_of_one_request_are_taken_together(self):
        keys = ["hami.io/mutex.lock", "cambricon.com/dsmlu.lock"]
        with MemoryStore() as store, NodeLock(store.transport) as lock:
            with lock.acquire("node-1", POD, timeout=5, keys=keys):
                self.assertEqual([bool(store.get("node-1", key)) for key in keys], [True, True])
            self.assertEqual([store.get("node-1", key) for key in keys], [None, None])


class Loops(unittest.IsolatedAsyncioTestCase):
    async def test_no_callback_is_left_behind(self):
        with MemoryStore() as store:
            before = len(haminodelock._native.callbacks._functions)
            async with AsyncNodeLock(store.transport) as lock:
                async with lock.acquire("node-1", POD, timeout=5):
                    with self.assertRaises(TimedOut):
                        await lock.acquire("node-1", Pod("d", "p", "u"), timeout=0.02)
                    with self.assertRaises(HamiError):
                        await lock.acquire("Bad Node", POD)
            self.assertEqual(len(haminodelock._native.callbacks._functions), before)

    async def test_a_hundred_tasks_share_a_node_in_order(self):
        served = []

        async def bind(number):
            async with lock.acquire("node-1", Pod("default", f"p-{number}", f"u-{number}"),
                                    timeout=30) as lease:
                served.append((number, lease.fence))

        with MemoryStore() as store:
            async with AsyncNodeLock(store.transport) as lock:
                await asyncio.gather(*(bind(number) for number in range(100)))
        self.assertEqual([number for number, _ in served], list(range(100)))
        fences = [fence for _, fence in served]
        self.assertEqual(fences, sorted(set(fences)))

    async def test_a_check_whose_task_is_cancelled_ends_before_the_lease_is_consumed(self):
        class Slow(Relay):
            reads, is_slow = [], False

            def submit(self, call):
                if self.is_slow and not call.is_write:
                    self.reads.append(call)
                else:
                    super().submit(call)

        with MemoryStore() as store:
            relay = Slow(store.transport)
            async with AsyncNodeLock(relay) as lock:
                lease = await lock.acquire("node-1", POD, timeout=5)
                relay.is_slow = True
                check = asyncio.ensure_future(lease.check())
                await asyncio.sleep(0)
                check.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await check
                with self.assertRaises(haminodelock.InvalidArgument):
                    lease.hand_off()
                release = asyncio.ensure_future(lease.release())
                await asyncio.sleep(0)
                self.assertFalse(release.done())
                relay.is_slow = False
                relay.reads.pop().pass_to(store.transport)
                await release
                self.assertIsNone(store.get("node-1"))

    async def test_a_release_waits_no_longer_than_it_is_told_for_a_check_that_goes_on(self):
        class Deaf(Relay):
            reads, is_deaf = [], False

            def submit(self, call):
                if self.is_deaf and not call.is_write:
                    self.reads.append(call)
                else:
                    super().submit(call)

        with MemoryStore() as store:
            relay = Deaf(store.transport)
            async with AsyncNodeLock(relay) as lock:
                lease = await lock.acquire("node-1", POD, timeout=5)
                relay.is_deaf = True
                check = asyncio.ensure_future(lease.check(timeout=None))
                await asyncio.sleep(0)
                check.cancel()
                with self.assertRaises(InDoubt):
                    await asyncio.wait_for(lease.release(timeout=0.05), 5)
                self.assertTrue(lease.is_consumed)
                relay.is_deaf = False
                relay.reads.pop().pass_to(store.transport)
                await asyncio.wait_for(self.freed(store), 10)

    async def freed(self, store):
        while store.get("node-1") is not None:
            await asyncio.sleep(0)
