// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! The C interface of libhaminodelock, declared by hand; names are C's. tests/layout.rs compares the
//! structs with the headers, which say what each function does.
#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

macro_rules! opaque {
    ($($name:ident)*) => {
        $(#[repr(C)]
        pub struct $name {
            _private: [u8; 0],
            _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
        })*
    };
}

opaque!(hami_nodelock hami_lease hami_wait hami_cancel hami_call hami_memory hami_kubernetes);

/// Declares structs as C lays them out, and lists their members for the layout's test.
macro_rules! structs {
    ($($name:ident { $($member:ident: $kind:ty,)* })*) => {
        $(#[repr(C)]
        #[derive(Clone, Copy)]
        pub struct $name {
            $(pub $member: $kind,)*
        })*

        /// A line "struct member offset size" for each member, "struct - 0 size" for the whole.
        pub fn layout() -> Vec<String> {
            let mut lines = Vec::new();
            $(lines.push(format!("{} - 0 {}", stringify!($name), size_of::<$name>()));
            $(lines.push(format!(
                "{} {} {} {}",
                stringify!($name),
                stringify!($member),
                core::mem::offset_of!($name, $member),
                size_of::<$kind>()
            ));)*)*
            lines
        }
    };
}

use core::mem::size_of;

pub type Text = *const c_char;
pub type Data = *mut c_void;

structs! {
    hami_error {
        size: usize,
        code: c_int,
        status: c_int,
        system: c_int,
        text: [c_char; 512],
        position: u32,
        waiting: u32,
        expected_ns: u64,
    }
    hami_owner {
        namespace_name: Text,
        name: Text,
        uid: Text,
    }
    hami_nodelock_request {
        size: usize,
        node: Text,
        owner: hami_owner,
        deadline_ns: u64,
        keys: *const Text,
        key_count: usize,
        cancel: *mut hami_cancel,
        priority: i32,
        group: Text,
        reterr: *mut hami_error,
        calls: Text,
    }
    hami_owner_facts {
        size: usize,
        source: c_int,
        known: bool,
        exists: bool,
        deleting: bool,
        finished: bool,
        started: bool,
        devices_left: bool,
        bind_phase: c_int,
        uid: Text,
        node: Text,
        assigned_node: Text,
        version: Text,
        revoked: Text,
        fence: u64,
        done: u64,
    }
    hami_annotation {
        key: Text,
        value: Text,
    }
    hami_node_record {
        size: usize,
        version: Text,
        annotations: *const hami_annotation,
        annotation_count: usize,
    }
    hami_allocator {
        allocate: Option<unsafe extern "C" fn(usize, Data) -> Data>,
        reallocate: Option<unsafe extern "C" fn(Data, usize, Data) -> Data>,
        release: Option<unsafe extern "C" fn(Data, Data)>,
        data: Data,
    }
    hami_clock {
        monotonic_ns: Option<unsafe extern "C" fn(Data) -> u64>,
        realtime_s: Option<unsafe extern "C" fn(Data) -> i64>,
        data: Data,
    }
    hami_nodelock_config {
        size: usize,
        transport: *mut hami_transport,
        key: Text,
        holder: Text,
        permits: u32,
        flags: u32,
        hold_limit_ms: u64,
        expire_ms: u64,
        call_timeout_ms: u64,
        stall_limit_ms: u64,
        waiters_per_node_max: u32,
        nodes_max: u32,
        wakeup: Option<unsafe extern "C" fn(Data)>,
        wakeup_data: Data,
        owner_lost: Option<unsafe extern "C" fn(Data, *mut hami_lease, *const hami_error)>,
        owner_lost_data: Data,
        log: Option<unsafe extern "C" fn(Data, c_int, Text)>,
        log_data: Data,
        clock: hami_clock,
        allocator: hami_allocator,
        random_seed: u64,
        waiters_per_namespace_max: u32,
        overtaken_max: u32,
        changed: Option<unsafe extern "C" fn(Data, *const c_void)>,
        changed_data: Data,
        side_by_side: u32,
    }
    hami_lease_view {
        size: usize,
        node: Text,
        owner: hami_owner,
        key: Text,
        value: Text,
        holder: Text,
        fence: u64,
        attempt: u64,
        owner_version: Text,
        owner_revoked: Text,
    }
    hami_slot_view {
        key: Text,
        state: c_int,
        value: Text,
        lease: Text,
        owner: hami_owner,
        holder: Text,
        fence: u64,
        since_ns: u64,
        alarm: bool,
        reason: Text,
        state_since_ns: u64,
    }
    hami_waiter_view {
        owner: hami_owner,
        position: u32,
        priority: i32,
        since_ns: u64,
        deadline_ns: u64,
        group: Text,
        overtaken: u32,
        returned: bool,
        expected_ns: u64,
    }
    hami_hand_over_view {
        key: Text,
        at_ns: u64,
        how: c_int,
        reason: Text,
        from: hami_owner,
        to: hami_owner,
        held_ns: u64,
        fence: u64,
    }
    hami_node_view {
        size: usize,
        node: Text,
        slots: *const hami_slot_view,
        slot_count: usize,
        waiters: *const hami_waiter_view,
        waiter_count: usize,
        hand_overs: *const hami_hand_over_view,
        hand_over_count: usize,
        now_ns: u64,
        pace_ns: u64,
        refusals: u64,
    }
    hami_nodelock_stats {
        size: usize,
        grants: u64,
        timeouts: u64,
        cancels: u64,
        refusals: u64,
        handoffs: u64,
        releases: u64,
        hand_overs: u64,
        takeovers: u64,
        revocations: u64,
        lost: u64,
        in_doubt: u64,
        undone: u64,
        alarms: u64,
        calls: u64,
        waiters: u32,
        leases: u32,
        nodes: u32,
        refused_full: u64,
        refused_namespace: u64,
        refused_early: u64,
        refused_stalled: u64,
        beside: u64,
    }
    hami_transport_edit {
        action: c_int,
        key: Text,
        expect: Text,
        value: Text,
    }
    hami_transport_result {
        size: usize,
        code: c_int,
        values: *const Text,
        value_count: usize,
        version: Text,
        server_time_us: u64,
        status: c_int,
        text: Text,
    }
    hami_transport {
        size: usize,
        name: Text,
        flags: u32,
        submit: Option<unsafe extern "C" fn(*mut hami_transport, *mut hami_call) -> c_int>,
        abort: Option<unsafe extern "C" fn(*mut hami_transport, *mut hami_call)>,
        inspect: Option<unsafe extern "C" fn(*mut hami_transport, *mut hami_call) -> c_int>,
        revoke: Option<unsafe extern "C" fn(*mut hami_transport, *mut hami_call) -> c_int>,
        watch: Option<unsafe extern "C" fn(*mut hami_transport, *mut hami_nodelock) -> c_int>,
        unwatch: Option<unsafe extern "C" fn(*mut hami_transport, *mut hami_nodelock)>,
        close: Option<unsafe extern "C" fn(*mut hami_transport, *mut hami_nodelock)>,
    }
    hami_kubernetes_config {
        size: usize,
        flags: u32,
        server: Text,
        ca_file: Text,
        token: Text,
        token_file: Text,
        certificate_file: Text,
        key_file: Text,
        kubeconfig: Text,
        context: Text,
        home_directory: Text,
        service_host: Text,
        service_port: Text,
        service_account_directory: Text,
        user_agent: Text,
        in_flight_max: u32,
        request_timeout_ms: u64,
        answer_bytes_max: u64,
        log: Option<unsafe extern "C" fn(Data, c_int, Text)>,
        log_data: Data,
        denied: Option<unsafe extern "C" fn(Data, *const hami_kubernetes_denial)>,
        denied_data: Data,
        exec_timeout_ms: u64,
    }
    hami_kubernetes_denial {
        size: usize,
        is_permission: bool,
        is_over: bool,
        verb: Text,
        group: Text,
        resource: Text,
        namespace_name: Text,
        name: Text,
        text: Text,
    }
    hami_kubernetes_request {
        size: usize,
        method: c_int,
        path: Text,
        accept: Text,
        content_type: Text,
        body: Text,
        body_length: usize,
        deadline_ns: u64,
    }
    hami_kubernetes_answer {
        size: usize,
        code: c_int,
        status: c_int,
        body: Text,
        body_length: usize,
        text: Text,
        server_time_us: u64,
        local_wait_ns: u64,
        retry_after_ms: u64,
        maybe_resent: bool,
    }
    hami_kubernetes_transport_config {
        size: usize,
        flags: u32,
        scheduler_names: *const Text,
        scheduler_name_count: usize,
    }
    hami_kubernetes_lease_transport_config {
        size: usize,
        flags: u32,
        namespace_name: Text,
        scheduler_names: *const Text,
        scheduler_name_count: usize,
        mirror_keys: *const Text,
        mirror_key_count: usize,
    }
}

pub const HAMI_DEADLINE_NEVER: u64 = u64::MAX;
pub const HAMI_NODELOCK_EXPIRE_BOUND_OWNERS: u32 = 1;
pub const HAMI_NODELOCK_REFUSE_EARLY: u32 = 2;
pub const HAMI_NODELOCK_FREE_BY_SCHEDULER: u32 = 4;
pub const HAMI_TRANSPORT_ONE_PERMIT: u32 = 1;
pub const HAMI_MEMORY_OWNERS: u32 = 1;
pub const HAMI_KUBERNETES_INSECURE: u32 = 1;
pub const HAMI_KUBERNETES_ALLOW_EXEC: u32 = 2;
pub const HAMI_KUBERNETES_NO_WATCH: u32 = 1;
pub const HAMI_KUBERNETES_LEASE_MIRROR: u32 = 2;

pub type hami_acquired_fn = unsafe extern "C" fn(Data, c_int, *mut hami_lease, *const hami_error);
pub type hami_done_fn = unsafe extern "C" fn(Data, c_int, *const hami_error);
pub type hami_snapshot_fn = unsafe extern "C" fn(Data, *const hami_node_view) -> c_int;
pub type hami_receive_fn = unsafe extern "C" fn(Data, *const hami_transport_result);

extern "C" {
    pub fn hami_version() -> Text;
    pub fn hami_errname(code: c_int) -> Text;
    pub fn hami_strerror(code: c_int) -> Text;
    pub fn hami_nodelock_new(
        config: *const hami_nodelock_config,
        ret: *mut *mut hami_nodelock,
        reterr: *mut hami_error,
    ) -> c_int;
    pub fn hami_nodelock_shutdown(lock: *mut hami_nodelock, deadline_ns: u64) -> c_int;
    pub fn hami_nodelock_free(lock: *mut hami_nodelock) -> *mut hami_nodelock;
    pub fn hami_nodelock_now(lock: *const hami_nodelock) -> u64;
    pub fn hami_nodelock_in_ms(lock: *const hami_nodelock, ms: u64) -> u64;
    pub fn hami_nodelock_holder(lock: *const hami_nodelock) -> Text;
    pub fn hami_nodelock_dispatch(lock: *mut hami_nodelock) -> c_int;
    pub fn hami_nodelock_next_deadline(lock: *mut hami_nodelock) -> u64;
    pub fn hami_nodelock_acquire(
        lock: *mut hami_nodelock,
        request: *const hami_nodelock_request,
        ret: *mut *mut hami_lease,
        reterr: *mut hami_error,
    ) -> c_int;
    pub fn hami_nodelock_try_acquire(
        lock: *mut hami_nodelock,
        request: *const hami_nodelock_request,
        ret: *mut *mut hami_lease,
        reterr: *mut hami_error,
    ) -> c_int;
    pub fn hami_nodelock_acquire_start(
        lock: *mut hami_nodelock,
        request: *const hami_nodelock_request,
        callback: hami_acquired_fn,
        data: Data,
        ret: *mut *mut hami_wait,
    ) -> c_int;
    pub fn hami_nodelock_try_acquire_start(
        lock: *mut hami_nodelock,
        request: *const hami_nodelock_request,
        callback: hami_acquired_fn,
        data: Data,
        ret: *mut *mut hami_wait,
    ) -> c_int;
    pub fn hami_wait_abort(wait: *mut hami_wait) -> c_int;
    pub fn hami_cancel_new(ret: *mut *mut hami_cancel) -> c_int;
    pub fn hami_cancel_fire(cancel: *mut hami_cancel) -> c_int;
    pub fn hami_cancel_is_fired(cancel: *const hami_cancel) -> bool;
    pub fn hami_cancel_ref(cancel: *mut hami_cancel) -> *mut hami_cancel;
    pub fn hami_cancel_unref(cancel: *mut hami_cancel) -> *mut hami_cancel;
    pub fn hami_lease_facts(lease: *const hami_lease, ret: *mut hami_lease_view) -> c_int;
    pub fn hami_lease_fence(lease: *const hami_lease) -> u64;
    pub fn hami_lease_release(
        lease: *mut hami_lease,
        deadline_ns: u64,
        reterr: *mut hami_error,
    ) -> c_int;
    pub fn hami_lease_release_start(
        lease: *mut hami_lease,
        deadline_ns: u64,
        callback: Option<hami_done_fn>,
        data: Data,
    ) -> c_int;
    pub fn hami_lease_handoff(lease: *mut hami_lease) -> c_int;
    pub fn hami_lease_check(
        lease: *mut hami_lease,
        deadline_ns: u64,
        reterr: *mut hami_error,
    ) -> c_int;
    pub fn hami_lease_check_start(
        lease: *mut hami_lease,
        deadline_ns: u64,
        callback: hami_done_fn,
        data: Data,
    ) -> c_int;
    pub fn hami_nodelock_observe(
        lock: *mut hami_nodelock,
        node: Text,
        record: *const hami_node_record,
    ) -> c_int;
    pub fn hami_nodelock_observe_owner(
        lock: *mut hami_nodelock,
        owner: *const hami_owner,
        facts: *const hami_owner_facts,
    ) -> c_int;
    pub fn hami_nodelock_forget(lock: *mut hami_nodelock, node: Text) -> c_int;
    pub fn hami_nodelock_snapshot(
        lock: *mut hami_nodelock,
        node: Text,
        visitor: hami_snapshot_fn,
        data: Data,
    ) -> c_int;
    pub fn hami_nodelock_stats(lock: *const hami_nodelock, ret: *mut hami_nodelock_stats) -> c_int;

    pub fn hami_call_node(call: *const hami_call) -> Text;
    pub fn hami_call_edits(
        call: *const hami_call,
        ret_count: *mut usize,
    ) -> *const hami_transport_edit;
    pub fn hami_call_version(call: *const hami_call) -> Text;
    pub fn hami_call_is_write(call: *const hami_call) -> bool;
    pub fn hami_call_remaining(call: *const hami_call) -> u64;
    pub fn hami_call_owner(call: *const hami_call) -> *const hami_owner;
    pub fn hami_call_wants_read(call: *const hami_call) -> bool;
    pub fn hami_call_revocation(call: *const hami_call) -> Text;
    pub fn hami_call_done(call: *mut hami_call, result: *const hami_transport_result);
    pub fn hami_call_done_owner(
        call: *mut hami_call,
        code: c_int,
        facts: *const hami_owner_facts,
        text: Text,
    );
    pub fn hami_transport_call(
        transport: *mut hami_transport,
        node: Text,
        edits: *const hami_transport_edit,
        edit_count: usize,
        version: Text,
        timeout_ms: u64,
        receive: Option<hami_receive_fn>,
        data: Data,
    ) -> c_int;

    pub fn hami_memory_new(flags: u32, ret: *mut *mut hami_memory) -> c_int;
    pub fn hami_memory_free(memory: *mut hami_memory) -> *mut hami_memory;
    pub fn hami_memory_transport(memory: *mut hami_memory) -> *mut hami_transport;
    pub fn hami_memory_put(memory: *mut hami_memory, node: Text, key: Text, value: Text) -> c_int;
    pub fn hami_memory_get(
        memory: *mut hami_memory,
        node: Text,
        key: Text,
        buffer: *mut c_char,
        size: usize,
    ) -> c_int;
    pub fn hami_memory_delete(memory: *mut hami_memory, node: Text) -> c_int;
    pub fn hami_memory_put_owner(
        memory: *mut hami_memory,
        owner: *const hami_owner,
        facts: *const hami_owner_facts,
    ) -> c_int;
    pub fn hami_memory_bind_owner(
        memory: *mut hami_memory,
        owner: *const hami_owner,
        node: Text,
        version: Text,
    ) -> c_int;
}

#[cfg(feature = "kubernetes")]
extern "C" {
    pub fn hami_kubernetes_config_from_environment(config: *mut hami_kubernetes_config) -> c_int;
    pub fn hami_kubernetes_new(
        config: *const hami_kubernetes_config,
        ret: *mut *mut hami_kubernetes,
        reterr: *mut hami_error,
    ) -> c_int;
    pub fn hami_kubernetes_free(client: *mut hami_kubernetes) -> *mut hami_kubernetes;
    pub fn hami_kubernetes_server(client: *const hami_kubernetes) -> Text;
    pub fn hami_kubernetes_in_ms(ms: u64) -> u64;
    pub fn hami_kubernetes_request(
        client: *mut hami_kubernetes,
        request: *const hami_kubernetes_request,
        ret: *mut *mut hami_kubernetes_answer,
        reterr: *mut hami_error,
    ) -> c_int;
    pub fn hami_kubernetes_answer_free(
        answer: *mut hami_kubernetes_answer,
    ) -> *mut hami_kubernetes_answer;
    pub fn hami_kubernetes_transport_new(
        client: *mut hami_kubernetes,
        config: *const hami_kubernetes_transport_config,
        ret: *mut *mut hami_transport,
        reterr: *mut hami_error,
    ) -> c_int;
    pub fn hami_kubernetes_lease_transport_new(
        client: *mut hami_kubernetes,
        config: *const hami_kubernetes_lease_transport_config,
        ret: *mut *mut hami_transport,
        reterr: *mut hami_error,
    ) -> c_int;
    pub fn hami_kubernetes_transport_free(transport: *mut hami_transport) -> *mut hami_transport;
    pub fn hami_kubernetes_bind(
        client: *mut hami_kubernetes,
        lease: *const hami_lease,
        deadline_ns: u64,
        reterr: *mut hami_error,
    ) -> c_int;
    pub fn hami_kubernetes_bind_start(
        client: *mut hami_kubernetes,
        lease: *const hami_lease,
        deadline_ns: u64,
        callback: hami_done_fn,
        data: Data,
    ) -> c_int;
}
