# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes: the client of an API server, the transports that keep locks there, and the Binding.

Needs libhaminodelock-kubernetes::

    with KubernetesClient.from_environment() as client, client.node_transport() as transport, \\
            NodeLock(transport) as lock:
        with lock.acquire("node-1", pod, timeout=30) as lease:
            client.bind(lease, timeout=30)
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import dataclasses
import functools
import json
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from . import _native
from .aio import AsyncLease
from .errors import Closed, HamiError, InDoubt
from .manager import BaseLease, deadline, start_done
from .transport import AnyTransport

__all__ = ["Answer", "KubernetesClient", "KubernetesTransport", "Login"]

_METHODS = {"GET": 0, "POST": 1, "PUT": 2, "PATCH": 3, "DELETE": 4}
_INSECURE, _NO_WATCH, _MIRROR = 1, 1, 2


@dataclasses.dataclass(frozen=True)
class Login:
    """How to reach an API server: ``server``, else the kubeconfig files, else in-cluster."""

    server: str | None = None
    ca_file: str | None = None
    token: str | None = None
    token_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    kubeconfig: str | None = None
    context: str | None = None
    home_directory: str | None = None
    service_host: str | None = None
    service_port: str | None = None
    service_account_directory: str | None = None
    user_agent: str | None = None
    insecure: bool = False

    @classmethod
    def from_environment(cls) -> Login:
        """As kubectl does: KUBECONFIG, HOME, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT."""
        return cls(kubeconfig=os.environ.get("KUBECONFIG"),
                   home_directory=os.environ.get("HOME"),
                   service_host=os.environ.get("KUBERNETES_SERVICE_HOST"),
                   service_port=os.environ.get("KUBERNETES_SERVICE_PORT"))


@dataclasses.dataclass(frozen=True)
class Answer:
    """Of an API server; any status is an answer."""

    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class KubernetesTransport(AnyTransport):
    """Keeps locks in an API server. Close it after its managers and before its client."""

    def __init__(self, client: KubernetesClient, address: int) -> None:
        self._client = client
        self._open: int | None = address
        self.address = address

    @property
    def is_synced(self) -> bool:
        """True while the watch is in step with the server."""
        return bool(_native.kubernetes().hami_kubernetes_transport_is_synced(self._open))

    def close(self) -> None:
        """Ends the watches and frees it; again is fine."""
        address, self._open = self._open, None
        _native.kubernetes().hami_kubernetes_transport_free(address)

    def __enter__(self) -> KubernetesTransport:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class KubernetesClient:
    """A client with one connection and one thread of its own. It outlives what is made from
    it."""

    def __init__(self, login: Login) -> None:
        native = _native.sized(_native.KubernetesConfig, flags=_INSECURE if login.insecure else 0)
        for field in dataclasses.fields(Login):
            if field.name != "insecure":
                setattr(native, field.name, _native.encode(getattr(login, field.name)))
        handle, error = ctypes.c_void_p(), _native.sized(_native.Error)
        _native.check(_native.kubernetes().hami_kubernetes_new(
            ctypes.byref(native), ctypes.byref(handle), ctypes.byref(error)), error)
        self._handle = handle.value

    @classmethod
    def from_environment(cls) -> KubernetesClient:
        """Logs in as kubectl does."""
        return cls(Login.from_environment())

    @property
    def server(self) -> str:
        return _native.decode_all(_native.kubernetes().hami_kubernetes_server(self._handle))

    def node_transport(self, *, scheduler_names: Sequence[str] = (),
                       watch: bool = True) -> KubernetesTransport:
        """Locks in annotations of Node objects, as HAMi has them.

        :param scheduler_names: watch their unbound pods, so that owners are known without a read
        :param watch: False for tools that look once
        """
        native = _native.sized(
            _native.KubernetesTransportConfig, flags=0 if watch else _NO_WATCH,
            scheduler_names=_native.texts(tuple(scheduler_names)),
            scheduler_name_count=len(scheduler_names))
        return self._transport(_native.kubernetes().hami_kubernetes_transport_new, native)

    def lease_transport(self, namespace: str, *, scheduler_names: Sequence[str] = (),
                        mirror: bool = False, mirror_keys: Sequence[str] = (),
                        watch: bool = True) -> KubernetesTransport:
        """Locks in Lease objects of a namespace that is used for nothing else.

        :param mirror: the lock stands on the Node as well, for device plugins that read it there
        """
        native = _native.sized(
            _native.KubernetesLeaseTransportConfig,
            flags=(0 if watch else _NO_WATCH) | (_MIRROR if mirror else 0),
            namespace_name=_native.encode(namespace),
            scheduler_names=_native.texts(tuple(scheduler_names)),
            scheduler_name_count=len(scheduler_names),
            mirror_keys=_native.texts(tuple(mirror_keys)), mirror_key_count=len(mirror_keys))
        return self._transport(_native.kubernetes().hami_kubernetes_lease_transport_new, native)

    def _transport(self, function: Any, native: Any) -> KubernetesTransport:
        address, error = ctypes.c_void_p(), _native.sized(_native.Error)
        _native.check(function(self._handle, ctypes.byref(native), ctypes.byref(address),
                               ctypes.byref(error)), error)
        assert address.value is not None
        return KubernetesTransport(self, address.value)

    def bind(self, lease: BaseLease, timeout: float | None = 5.0) -> None:
        """Binds the lease's pod to its node, and hands the lease off where it is bound or may be.

        What is raised says what to do: after InDoubt the lease is handed off already (the pod
        may be
        bound); after any other exception it is still held: release it. A ``with`` block does.
        """
        error = _native.sized(_native.Error)
        code = _native.kubernetes().hami_kubernetes_bind(
            self._handle, lease.address, deadline(timeout), ctypes.byref(error))
        if code in (0, InDoubt.code):
            lease.hand_off()
        _native.check(code, error)

    async def bind_async(self, lease: AsyncLease, timeout: float | None = 5.0) -> None:
        """The same without blocking the event loop.

        A task that is cancelled meanwhile learns nothing. The Binding goes on behind, and the lease
        is handed off if that ends well; its ``async with`` block waits for the end before it
        releases.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[HamiError | None] = loop.create_future()

        def ended(error: HamiError | None) -> None:  # on the client's thread
            loop.call_soon_threadsafe(_settle, lease, future, error)

        start = functools.partial(_native.kubernetes().hami_kubernetes_bind_start, self._handle)
        start_done(start, lease.address, deadline(timeout), ended)
        lease._uses += 1  # until _settle, which runs on this thread
        error = await lease._use(future)
        if error:
            raise error

    def request(self, method: str, path: str, body: object = None, *,
                content_type: str = "application/json", timeout: float | None = 5.0) -> Answer:
        """Sends any request and waits. Raises only if no answer came; a body that is not bytes
        becomes JSON."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        native = _native.sized(
            _native.KubernetesRequest, method=_METHODS[method], path=_native.encode(path),
            content_type=_native.encode(content_type), body=data,
            body_length=len(data or b""), deadline_ns=deadline(timeout))
        answer = ctypes.POINTER(_native.KubernetesAnswer)()
        error = _native.sized(_native.Error)
        _native.check(_native.kubernetes().hami_kubernetes_request(
            self._handle, ctypes.byref(native), ctypes.byref(answer), ctypes.byref(error)), error)
        try:
            return Answer(answer[0].status,
                          ctypes.string_at(answer[0].body, answer[0].body_length))
        finally:
            _native.kubernetes().hami_kubernetes_answer_free(answer)

    def close(self) -> None:
        """Ends the thread and frees it; again is fine. Transports first."""
        handle, self._handle = self._handle, None
        _native.kubernetes().hami_kubernetes_free(handle)

    def __enter__(self) -> KubernetesClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def _settle(lease: AsyncLease, future: asyncio.Future[HamiError | None],
            error: HamiError | None) -> None:
    lease._uses -= 1
    if error is None or isinstance(error, InDoubt):
        with contextlib.suppress(Closed):  # a manager that was freed leaves it to the node side
            lease.hand_off()
    future.set_result(error)
