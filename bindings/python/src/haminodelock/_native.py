# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The C interface as ctypes sees it: structs, functions, and the calls back into Python.

Nothing else of the package knows C. The structs are compared with the headers by a test.
Callbacks are
made once and live as long as the process; what they are to call is found by a number that
travels as
the C side's ``data``.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_int, c_int32,
                    c_int64, c_size_t, c_uint32, c_uint64, c_void_p)
from typing import Any

from .errors import InvalidArgument, make_error

NEVER = 2**64 - 1
KEY = "hami.io/mutex.lock"
MEMORY_OWNERS = 1


class Error(Structure):
    _fields_ = [("size", c_size_t), ("code", c_int), ("status", c_int), ("system", c_int),
                ("text", c_char * 512), ("position", c_uint32), ("waiting", c_uint32),
                ("expected_ns", c_uint64)]


class Owner(Structure):
    _fields_ = [("namespace_name", c_char_p), ("name", c_char_p), ("uid", c_char_p)]


class Request(Structure):
    _fields_ = [("size", c_size_t), ("node", c_char_p), ("owner", Owner), ("deadline_ns",
    c_uint64),
                ("keys", POINTER(c_char_p)), ("key_count", c_size_t), ("cancel", c_void_p),
                ("priority", c_int32), ("group", c_char_p), ("reterr", POINTER(Error)),
                ("calls", c_char_p)]


class OwnerFacts(Structure):
    _fields_ = [("size", c_size_t), ("source", c_int), ("known", c_bool), ("exists", c_bool),
                ("deleting", c_bool), ("finished", c_bool), ("started", c_bool),
                ("devices_left", c_bool), ("bind_phase", c_int), ("uid", c_char_p),
                ("node", c_char_p), ("assigned_node", c_char_p), ("version", c_char_p),
                ("revoked", c_char_p), ("fence", c_uint64), ("done", c_uint64)]


class Annotation(Structure):
    _fields_ = [("key", c_char_p), ("value", c_char_p)]


class NodeRecord(Structure):
    _fields_ = [("size", c_size_t), ("version", c_char_p), ("annotations", POINTER(Annotation)),
                ("annotation_count", c_size_t)]


class LeaseView(Structure):
    _fields_ = [("size", c_size_t), ("node", c_char_p), ("owner", Owner), ("key", c_char_p),
                ("value", c_char_p), ("holder", c_char_p), ("fence", c_uint64),
                ("attempt", c_uint64), ("owner_version", c_char_p), ("owner_revoked", c_char_p)]


class SlotView(Structure):
    _fields_ = [("key", c_char_p), ("state", c_int), ("value", c_char_p), ("lease", c_char_p),
                ("owner", Owner), ("holder", c_char_p), ("fence", c_uint64),
                ("since_ns", c_uint64), ("alarm", c_bool), ("reason", c_char_p),
                ("state_since_ns", c_uint64)]


class WaiterView(Structure):
    _fields_ = [("owner", Owner), ("position", c_uint32), ("priority", c_int32),
                ("since_ns", c_uint64), ("deadline_ns", c_uint64), ("group", c_char_p),
                ("overtaken", c_uint32), ("returned", c_bool), ("expected_ns", c_uint64)]


class HandOverView(Structure):
    _fields_ = [("key", c_char_p), ("at_ns", c_uint64), ("how", c_int), ("reason", c_char_p),
                ("from", Owner), ("to", Owner), ("held_ns", c_uint64), ("fence", c_uint64)]


class NodeView(Structure):
    _fields_ = [("size", c_size_t), ("node", c_char_p), ("slots", POINTER(SlotView)),
                ("slot_count", c_size_t), ("waiters", POINTER(WaiterView)),
                ("waiter_count", c_size_t), ("hand_overs", POINTER(HandOverView)),
                ("hand_over_count", c_size_t), ("now_ns", c_uint64), ("pace_ns", c_uint64),
                ("refusals", c_uint64)]


class Stats(Structure):
    _fields_ = [("size", c_size_t),
                *((name, c_uint64) for name in
                  ("grants", "timeouts", "cancels", "refusals", "handoffs", "releases",
                   "hand_overs", "takeovers", "revocations", "lost", "in_doubt", "undone",
                   "alarms", "calls")),
                *((name, c_uint32) for name in ("waiters", "leases", "nodes")),
                *((name, c_uint64) for name in
                  ("refused_full", "refused_namespace", "refused_early", "refused_stalled",
                   "beside"))]


class Edit(Structure):
    _fields_ = [("action", c_int), ("key", c_char_p), ("expect", c_char_p), ("value", c_char_p)]


class Result(Structure):
    _fields_ = [("size", c_size_t), ("code", c_int), ("values", POINTER(c_char_p)),
                ("value_count", c_size_t), ("version", c_char_p), ("server_time_us", c_uint64),
                ("status", c_int), ("text", c_char_p)]


ACQUIRED = CFUNCTYPE(None, c_void_p, c_int, c_void_p, POINTER(Error))
DONE = CFUNCTYPE(None, c_void_p, c_int, POINTER(Error))
WAKEUP = CFUNCTYPE(None, c_void_p)
OWNER_LOST = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(Error))
LOG = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
VISIT = CFUNCTYPE(c_int, c_void_p, POINTER(NodeView))
RECEIVE = CFUNCTYPE(None, c_void_p, POINTER(Result))
CALL = CFUNCTYPE(c_int, c_void_p, c_void_p)
CALL_VOID = CFUNCTYPE(None, c_void_p, c_void_p)


class Transport(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("flags", c_uint32), ("submit", CALL),
                ("abort", CALL_VOID), ("inspect", CALL), ("revoke", CALL), ("watch", CALL),
                ("unwatch", CALL_VOID), ("close", CALL_VOID)]


class Clock(Structure):
    _fields_ = [("monotonic_ns", CFUNCTYPE(c_uint64, c_void_p)),
                ("realtime_s", CFUNCTYPE(c_int64, c_void_p)), ("data", c_void_p)]


class Allocator(Structure):
    _fields_ = [("allocate", CFUNCTYPE(c_void_p, c_size_t, c_void_p)),
                ("reallocate", CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_void_p)),
                ("release", CFUNCTYPE(None, c_void_p, c_void_p)), ("data", c_void_p)]


class Config(Structure):
    _fields_ = [("size", c_size_t), ("transport", c_void_p), ("key", c_char_p),
                ("holder", c_char_p), ("permits", c_uint32), ("flags", c_uint32),
                ("hold_limit_ms", c_uint64), ("expire_ms", c_uint64),
                ("call_timeout_ms", c_uint64), ("stall_limit_ms", c_uint64),
                ("waiters_per_node_max", c_uint32), ("nodes_max", c_uint32), ("wakeup", WAKEUP),
                ("wakeup_data", c_void_p), ("owner_lost", OWNER_LOST),
                ("owner_lost_data", c_void_p), ("log", LOG), ("log_data", c_void_p),
                ("clock", Clock), ("allocator", Allocator), ("random_seed", c_uint64),
                ("waiters_per_namespace_max", c_uint32), ("overtaken_max", c_uint32),
                ("changed", c_void_p), ("changed_data", c_void_p), ("side_by_side", c_uint32)]


class KubernetesConfig(Structure):
    _fields_ = [("size", c_size_t), ("flags", c_uint32),
                *((name, c_char_p) for name in
                  ("server", "ca_file", "token", "token_file", "certificate_file", "key_file",
                   "kubeconfig", "context", "home_directory", "service_host", "service_port",
                   "service_account_directory", "user_agent")),
                ("in_flight_max", c_uint32), ("request_timeout_ms", c_uint64),
                ("answer_bytes_max", c_uint64), ("log", LOG), ("log_data", c_void_p),
                ("denied", c_void_p), ("denied_data", c_void_p),
                ("exec_timeout_ms", c_uint64)]


class KubernetesRequest(Structure):
    _fields_ = [("size", c_size_t), ("method", c_int), ("path", c_char_p), ("accept", c_char_p),
                ("content_type", c_char_p), ("body", c_char_p), ("body_length", c_size_t),
                ("deadline_ns", c_uint64)]


class KubernetesAnswer(Structure):
    _fields_ = [("size", c_size_t), ("code", c_int), ("status", c_int), ("body", c_void_p),
                ("body_length", c_size_t), ("text", c_char_p), ("server_time_us", c_uint64),
                ("local_wait_ns", c_uint64), ("retry_after_ms", c_uint64),
                ("maybe_resent", c_bool)]


class KubernetesTransportConfig(Structure):
    _fields_ = [("size", c_size_t), ("flags", c_uint32), ("scheduler_names", POINTER(c_char_p)),
                ("scheduler_name_count", c_size_t)]


class KubernetesLeaseTransportConfig(Structure):
    _fields_ = [("size", c_size_t), ("flags", c_uint32), ("namespace_name", c_char_p),
                ("scheduler_names", POINTER(c_char_p)), ("scheduler_name_count", c_size_t),
                ("mirror_keys", POINTER(c_char_p)), ("mirror_key_count", c_size_t)]


#: C's name of each struct, for the test that compares them with the headers.
STRUCTS: dict[str, type[Structure]] = {
    "hami_error": Error, "hami_owner": Owner, "hami_nodelock_request": Request,
    "hami_owner_facts": OwnerFacts, "hami_annotation": Annotation,
    "hami_node_record": NodeRecord, "hami_lease_view": LeaseView, "hami_slot_view": SlotView,
    "hami_waiter_view": WaiterView, "hami_hand_over_view": HandOverView,
    "hami_node_view": NodeView, "hami_nodelock_stats": Stats,
    "hami_transport_edit": Edit, "hami_transport_result": Result, "hami_transport": Transport,
    "hami_clock": Clock, "hami_allocator": Allocator, "hami_nodelock_config": Config,
    "hami_kubernetes_config": KubernetesConfig, "hami_kubernetes_request": KubernetesRequest,
    "hami_kubernetes_answer": KubernetesAnswer,
    "hami_kubernetes_transport_config": KubernetesTransportConfig,
    "hami_kubernetes_lease_transport_config": KubernetesLeaseTransportConfig,
}

_P, _S, _E = c_void_p, c_char_p, POINTER(Error)

#: name: (what it returns, arguments). Handles are plain pointers here.
_CORE: dict[str, tuple[Any, list[Any]]] = {
    "hami_version": (_S, []),
    "hami_nodelock_new": (c_int, [POINTER(Config), POINTER(_P), _E]),
    "hami_nodelock_shutdown": (c_int, [_P, c_uint64]),
    "hami_nodelock_free": (_P, [_P]),
    "hami_nodelock_now": (c_uint64, [_P]),
    "hami_nodelock_holder": (_S, [_P]),
    "hami_nodelock_dispatch": (c_int, [_P]),
    "hami_nodelock_next_deadline": (c_uint64, [_P]),
    "hami_nodelock_acquire_start": (c_int, [_P, POINTER(Request), ACQUIRED, _P, POINTER(_P)]),
    "hami_nodelock_try_acquire_start": (c_int, [_P, POINTER(Request), ACQUIRED, _P, POINTER(_P)]),
    "hami_nodelock_acquire": (c_int, [_P, POINTER(Request), POINTER(_P), _E]),
    "hami_wait_abort": (c_int, [_P]),
    "hami_cancel_new": (c_int, [POINTER(_P)]),
    "hami_cancel_fire": (c_int, [_P]),
    "hami_cancel_is_fired": (c_bool, [_P]),
    "hami_cancel_unref": (_P, [_P]),
    "hami_lease_facts": (c_int, [_P, POINTER(LeaseView)]),
    "hami_lease_release": (c_int, [_P, c_uint64, _E]),
    "hami_lease_release_start": (c_int, [_P, c_uint64, DONE, _P]),
    "hami_lease_handoff": (c_int, [_P]),
    "hami_lease_check_start": (c_int, [_P, c_uint64, DONE, _P]),
    "hami_nodelock_observe": (c_int, [_P, _S, POINTER(NodeRecord)]),
    "hami_nodelock_observe_owner": (c_int, [_P, POINTER(Owner), POINTER(OwnerFacts)]),
    "hami_nodelock_forget": (c_int, [_P, _S]),
    "hami_nodelock_snapshot": (c_int, [_P, _S, VISIT, _P]),
    "hami_nodelock_stats": (c_int, [_P, POINTER(Stats)]),
    "hami_call_node": (_S, [_P]),
    "hami_call_edits": (POINTER(Edit), [_P, POINTER(c_size_t)]),
    "hami_call_version": (_S, [_P]),
    "hami_call_is_write": (c_bool, [_P]),
    "hami_call_remaining": (c_uint64, [_P]),
    "hami_call_owner": (POINTER(Owner), [_P]),
    "hami_call_wants_read": (c_bool, [_P]),
    "hami_call_revocation": (_S, [_P]),
    "hami_call_done": (None, [_P, POINTER(Result)]),
    "hami_call_done_owner": (None, [_P, c_int, POINTER(OwnerFacts), _S]),
    "hami_transport_call": (c_int, [_P, _S, POINTER(Edit), c_size_t, _S, c_uint64, RECEIVE, _P]),
    "hami_memory_new": (c_int, [c_uint32, POINTER(_P)]),
    "hami_memory_free": (_P, [_P]),
    "hami_memory_transport": (_P, [_P]),
    "hami_memory_put": (c_int, [_P, _S, _S, _S]),
    "hami_memory_get": (c_int, [_P, _S, _S, _P, c_size_t]),
    "hami_memory_delete": (c_int, [_P, _S]),
    "hami_memory_put_owner": (c_int, [_P, POINTER(Owner), POINTER(OwnerFacts)]),
    "hami_memory_bind_owner": (c_int, [_P, POINTER(Owner), _S, _S]),
}
_KUBERNETES: dict[str, tuple[Any, list[Any]]] = {
    "hami_kubernetes_config_from_environment": (c_int, [POINTER(KubernetesConfig)]),
    "hami_kubernetes_new": (c_int, [POINTER(KubernetesConfig), POINTER(_P), _E]),
    "hami_kubernetes_free": (_P, [_P]),
    "hami_kubernetes_server": (_S, [_P]),
    "hami_kubernetes_now": (c_uint64, []),
    "hami_kubernetes_request": (c_int, [_P, POINTER(KubernetesRequest),
                                        POINTER(POINTER(KubernetesAnswer)), _E]),
    "hami_kubernetes_answer_free": (_P, [POINTER(KubernetesAnswer)]),
    "hami_kubernetes_transport_new": (c_int, [_P, POINTER(KubernetesTransportConfig),
                                              POINTER(_P), _E]),
    "hami_kubernetes_lease_transport_new": (c_int, [_P, POINTER(KubernetesLeaseTransportConfig),
                                                    POINTER(_P), _E]),
    "hami_kubernetes_transport_free": (_P, [_P]),
    "hami_kubernetes_transport_is_synced": (c_bool, [_P]),
    "hami_kubernetes_bind": (c_int, [_P, _P, c_uint64, _E]),
    "hami_kubernetes_bind_start": (c_int, [_P, _P, c_uint64, DONE, _P]),
}


def _load(soname: str, functions: dict[str, tuple[Any, list[Any]]]) -> ctypes.CDLL:
    loaded = ctypes.CDLL(soname)
    for name, (returns, arguments) in functions.items():
        function = getattr(loaded, name)
        function.restype = returns
        function.argtypes = arguments
    return loaded


core = _load("libhaminodelock.so.0", _CORE)
_kubernetes: ctypes.CDLL | None = None


def kubernetes() -> ctypes.CDLL:
    """The library that talks to an API server; loaded when it is first needed."""
    global _kubernetes
    if _kubernetes is None:
        _kubernetes = _load("libhaminodelock-kubernetes.so.0", _KUBERNETES)
    return _kubernetes


def encode(value: str | None) -> bytes | None:
    """A text for C. C's texts end at the first NUL, so none may be inside."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"a text is wanted, not {type(value).__name__}")
    if "\0" in value:
        raise InvalidArgument("a text has a NUL character in it")
    return value.encode()


def decode(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def decode_all(value: bytes | None) -> str:
    """For texts that the library never leaves out."""
    return "" if value is None else value.decode(errors="replace")


def texts(values: tuple[str, ...]) -> Any:
    """An array of texts; NULL if there are none."""
    return (c_char_p * len(values))(*map(encode, values)) if values else None


def sized(kind: Any, **members: Any) -> Any:
    """A struct that starts with its size."""
    return kind(size=ctypes.sizeof(kind), **members)


def check(code: int, error: Error | None = None) -> None:
    """Raises what a code says."""
    if code != 0:
        raise make_error(code, decode_all(error.text) if error else "",
                         error.status if error else 0)


class Callbacks:
    """Python functions by number: what a C callback is to call."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._functions: dict[int, Callable[..., Any]] = {}

    def add(self, function: Callable[..., Any]) -> int:
        number = next(self._numbers)
        self._functions[number] = function
        return number

    def get(self, number: int) -> Callable[..., Any] | None:
        return self._functions.get(number)

    def remove(self, number: int | None) -> Callable[..., Any] | None:
        return None if number is None else self._functions.pop(number, None)


callbacks = Callbacks()


def _once(number: int, *arguments: Any) -> None:
    function = callbacks.remove(number)
    if function:
        function(*arguments)


def _always(number: int, *arguments: Any) -> int:
    function = callbacks.get(number)
    return int(function(*arguments) or 0) if function else 0


on_acquired = ACQUIRED(lambda number, code, lease, error: _once(number, code, lease, error[0]))
on_done = DONE(lambda number, code, error: _once(number, code, error[0]))
on_wakeup = WAKEUP(lambda number: void(_always(number)))
on_owner_lost = OWNER_LOST(
    lambda number, lease, error: void(_always(number, lease, decode_all(error[0].text))))
on_log = LOG(lambda number, level, line: void(_always(number, level, decode_all(line))))
on_visit = VISIT(lambda number, view: _always(number, view[0]))
on_receive = RECEIVE(lambda number, result: _once(number, result[0]))


def void(_: Any) -> None:
    """For callbacks without a result."""
