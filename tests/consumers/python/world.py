# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The two backends, and what other writers do there."""

import os
import pathlib
import threading
import time

from haminodelock import (KEY, Action, Edit, MemoryStore, NodeLock, NoSuchNode, Pod, Relay)
from haminodelock.kubernetes import KubernetesClient

PATIENCE = 60.0  # for what has to happen; nothing waits that long unless it fails


class World:
    def __init__(self, backend):
        self.is_kubesim = backend == "kubesim"
        file = pathlib.Path(os.environ["HAMI_CONSUMER_PODS"])
        rows = [line.split("\t") for line in file.read_text().splitlines()]
        pods = [Pod("default", name, uid) for name, uid in rows]
        self.pods, self.nodes = iter(pods), (f"node-{number}" for number in range(100))
        if self.is_kubesim:
            self.client = KubernetesClient.from_environment()
            self.transport = self.client.node_transport()
        else:
            self.store = MemoryStore(owners=True)
            self.transport = self.store.transport
            for pod in pods:
                self.store.put_owner(pod)

    def close(self):
        if self.is_kubesim:
            self.transport.close()
            self.client.close()
        else:
            self.store.close()

    def node(self):
        return next(self.nodes)

    def pod(self):
        return next(self.pods)

    def value(self, node):
        try:
            return self.transport.call(node, [Edit(Action.READ, KEY)], timeout=PATIENCE).values[0]
        except NoSuchNode:
            return None

    def remove(self, node):
        """As the node side does."""
        self.transport.call(node, [Edit(Action.PUT, KEY, self.value(node), None)],
                            timeout=PATIENCE)

    def bind(self, lease):
        """Hands the lease off, too."""
        if self.is_kubesim:
            self.client.bind(lease, PATIENCE)
        else:
            self.store.bind_owner(lease.pod, lease.node, lease.owner_version)
            lease.hand_off()

    async def bind_async(self, lease):
        if self.is_kubesim:
            await self.client.bind_async(lease, PATIENCE)
        else:
            self.bind(lease)

    def bind_elsewhere(self, pod, node):
        """As another scheduler does, without a lock."""
        answer = self.client.request(
            "POST", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding",
            {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod.name},
             "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
        assert answer.status == 201, answer

    def lock(self, **arguments):
        return NodeLock(self.transport, **arguments)


class Gate(Relay):
    """Holds writes up between shut and open."""

    def __init__(self, inner):
        super().__init__(inner, "gate")
        self.is_shut = False
        self.held = None
        self.came = threading.Event()

    def submit(self, call):
        if self.is_shut and call.is_write:
            self.held = call
            self.came.set()
        else:
            call.pass_to(self.inner)

    def open(self):
        self.is_shut = False
        self.held.pass_to(self.inner)


class Waiter(threading.Thread):
    """A blocking acquire in a thread of its own; it is queued when this returns."""

    def __init__(self, lock, node, pod, behind=1, **arguments):
        super().__init__(daemon=True)
        self.take = lambda: lock.acquire(node, pod, timeout=PATIENCE, **arguments)
        self.lease = self.error = None
        self.start()
        until = time.monotonic() + PATIENCE
        while lock.stats().waiters < behind:
            assert time.monotonic() < until and self.is_alive(), "it does not wait"
            self.join(0.001)

    def run(self):
        try:
            self.lease = self.take()
        except Exception as error:
            self.error = error

    def end(self):
        self.join(PATIENCE)
        assert not self.is_alive(), "it still waits"
        return self.lease
