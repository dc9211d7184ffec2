// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! Looks into a manager.

use std::ffi::{c_int, CString};
use std::time::Duration;

use haminodelock_sys as sys;

use crate::error::{check, measured, Result};
use crate::pod::Pod;
use crate::texts::{pointer, read};

macro_rules! stats {
    ($($(#[$comment:meta])* $member:ident: $kind:ty,)*) => {
        /// Totals of a manager, and three gauges: waiters, leases, nodes.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            $($(#[$comment])* pub $member: $kind,)*
        }

        impl Stats {
            pub(crate) fn of(lock: *const sys::hami_nodelock) -> Result<Self> {
                let mut native = sys::hami_nodelock_stats {
                    size: std::mem::size_of::<sys::hami_nodelock_stats>(),
                    $($member: 0,)*
                };
                check(unsafe { sys::hami_nodelock_stats(lock, &mut native) })?;
                Ok(Stats { $($member: native.$member,)* })
            }
        }
    };
}

stats! {
    /// Leases given, shares included.
    grants: u64,
    timeouts: u64,
    cancels: u64,
    /// Acquires that ended otherwise.
    refusals: u64,
    handoffs: u64,
    /// Records removed, or handed over to the next waiter.
    releases: u64,
    hand_overs: u64,
    /// Locks taken from an owner on proof or age.
    takeovers: u64,
    revocations: u64,
    /// Held leases that vanished from the store.
    lost: u64,
    in_doubt: u64,
    /// Takes that nobody wanted any more.
    undone: u64,
    /// Expired owners that still wait for Allocate.
    alarms: u64,
    /// Of the transport.
    calls: u64,
    waiters: u32,
    leases: u32,
    nodes: u32,
    /// Of the refusals: the node's queue was full.
    refused_full: u64,
    /// The namespace's part of it was full.
    refused_namespace: u64,
    /// The turn could not come before the deadline.
    refused_early: u64,
    /// The holder stalled.
    refused_stalled: u64,
    /// Of the grants: given while another pod had a permit of the node.
    beside: u64,
}

/// The state of one lock of a node, as this manager sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlotState {
    /// The store was not read yet.
    Unknown,
    Free,
    /// Our write is in flight or in doubt.
    Acquiring,
    Held,
    /// Ours, waiting for the node side.
    HandedOff,
    Releasing,
    /// Another writer's value.
    Foreign,
}

impl SlotState {
    fn from_c(state: c_int) -> Self {
        match state {
            1 => SlotState::Free,
            2 => SlotState::Acquiring,
            3 => SlotState::Held,
            4 => SlotState::HandedOff,
            5 => SlotState::Releasing,
            6 => SlotState::Foreign,
            _ => SlotState::Unknown,
        }
    }
}

/// One lock of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotView {
    pub key: String,
    pub state: SlotState,
    pub value: Option<String>,
    /// Whom it is for, where that is known.
    pub pod: Option<Pod>,
    pub holder: Option<String>,
    pub fence: u64,
    /// It stands past its age while its owner still waits for Allocate.
    pub alarm: bool,
    /// Why it is not free, or what would free it.
    pub reason: String,
}

/// One waiter; position 0 is served next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaiterView {
    pub pod: Pod,
    pub position: u32,
    pub priority: i32,
    pub group: Option<String>,
    /// Times that somebody who came later was put before it.
    pub overtaken: u32,
    /// Until its turn, by the node's pace; None where it is next or nothing is measured.
    pub expected: Option<Duration>,
}

/// How a lock came to its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandOver {
    /// It was free.
    Take,
    /// Released to this waiter, in one write.
    Direct,
    /// Taken from its owner on proof or age.
    Takeover,
    /// The owner's own lock, taken again.
    Own,
    /// Another writer's doing.
    Foreign,
}

impl HandOver {
    fn from_c(how: c_int) -> Self {
        match how {
            0 => HandOver::Take,
            1 => HandOver::Direct,
            2 => HandOver::Takeover,
            3 => HandOver::Own,
            _ => HandOver::Foreign,
        }
    }
}

/// One hand-over of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOverView {
    pub key: String,
    pub how: HandOver,
    /// The proof of a takeover.
    pub reason: String,
    pub from: Option<Pod>,
    pub to: Option<Pod>,
    /// How long `from` was seen to hold it.
    pub held: Duration,
    /// How long ago it was.
    pub ago: Duration,
    pub fence: u64,
}

/// A node, its locks and who waits for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    pub node: String,
    pub slots: Vec<SlotView>,
    pub waiters: Vec<WaiterView>,
    /// The newest first.
    pub hand_overs: Vec<HandOverView>,
    /// How long a lock is held here, of late; None where that is not measured.
    pub pace: Option<Duration>,
    /// Acquires that ended with [`Code::Limit`](crate::Code::Limit).
    pub refusals: u64,
}

/// # Safety
/// `first` points to `count` structs, or count is 0.
unsafe fn all<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(first, count)
    }
}

unsafe extern "C" fn visit(data: sys::Data, view: *const sys::hami_node_view) -> c_int {
    let (views, view) = (&mut *data.cast::<Vec<NodeView>>(), &*view);
    let slots = all(view.slots, view.slot_count).iter().map(|slot| SlotView {
        key: read(slot.key).unwrap_or_default(),
        state: SlotState::from_c(slot.state),
        value: read(slot.value),
        pod: (!slot.owner.name.is_null()).then(|| Pod::from_c(&slot.owner)),
        holder: read(slot.holder),
        fence: slot.fence,
        alarm: slot.alarm,
        reason: read(slot.reason).unwrap_or_default(),
    });
    let waiters = all(view.waiters, view.waiter_count).iter().map(|one| WaiterView {
        pod: Pod::from_c(&one.owner),
        position: one.position,
        priority: one.priority,
        group: read(one.group),
        overtaken: one.overtaken,
        expected: measured(one.expected_ns),
    });
    let hand_overs = all(view.hand_overs, view.hand_over_count).iter().map(|one| HandOverView {
        key: read(one.key).unwrap_or_default(),
        how: HandOver::from_c(one.how),
        reason: read(one.reason).unwrap_or_default(),
        from: (!one.from.name.is_null()).then(|| Pod::from_c(&one.from)),
        to: (!one.to.name.is_null()).then(|| Pod::from_c(&one.to)),
        held: Duration::from_nanos(one.held_ns),
        ago: Duration::from_nanos(view.now_ns.saturating_sub(one.at_ns)),
        fence: one.fence,
    });
    views.push(NodeView {
        node: read(view.node).unwrap_or_default(),
        slots: slots.collect(),
        waiters: waiters.collect(),
        hand_overs: hand_overs.collect(),
        pace: measured(view.pace_ns),
        refusals: view.refusals,
    });
    0
}

impl NodeView {
    pub(crate) fn of(lock: *mut sys::hami_nodelock, node: &Option<CString>) -> Result<Vec<Self>> {
        let mut views: Vec<NodeView> = Vec::new();
        let data: sys::Data = std::ptr::addr_of_mut!(views).cast();
        check(unsafe { sys::hami_nodelock_snapshot(lock, pointer(node), visit, data) })?;
        Ok(views)
    }
}
