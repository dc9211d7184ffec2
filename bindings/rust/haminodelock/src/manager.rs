// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! The manager: its making, its end, and the looks into it.

use std::cell::Cell;
use std::ffi::c_int;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use haminodelock_sys as sys;

use crate::acquire::{Acquire, Request};
use crate::error::{check, detail, Error, Result};
use crate::lease::{Facts, Lease};
use crate::look::{NodeView, Stats};
use crate::texts::{optional, pointer, read, text};
use crate::transport::TransportHandle;

/// How grave a line of the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Error,
    Warning,
    Info,
    Debug,
}

/// A lock that vanished from the store while its lease was held. The lease is still the holder's to
/// consume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    pub lease: Facts,
    /// One line for people.
    pub text: String,
}

type Log = Box<dyn Fn(Level, &str) + Send + Sync>;
type OnLost = Box<dyn Fn(&Loss) + Send + Sync>;
type Wakeup = Box<dyn Fn() + Send + Sync>;

/// What the C side's `data` points to; it lives until the manager is freed.
#[derive(Default)]
struct Callbacks {
    log: Option<Log>,
    on_lost: Option<OnLost>,
    wakeup: Option<Wakeup>,
}

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Marks that this thread is in a callback of the library's, where a manager can't be freed.
pub(crate) fn in_callback<T>(work: impl FnOnce() -> T) -> T {
    let before = IN_CALLBACK.replace(true);
    let result = work();
    IN_CALLBACK.set(before);
    result
}

/// Does what waits for the library's threads: here, or on a thread of its own where this one is one of
/// them. A waker may drop anything.
pub(crate) fn outside_callback(work: impl FnOnce() + Send + 'static) {
    if IN_CALLBACK.get() {
        std::thread::spawn(work);
    } else {
        work();
    }
}

/// A manager's C side. The last user frees it.
pub(crate) struct Inner {
    parts: Option<Parts>,
}

struct Parts {
    raw: *mut sys::hami_nodelock,
    patience: Duration,
    callbacks: *mut Callbacks,
    _transport: TransportHandle, // outlives the manager
}

// Every function of a manager but free is MT-Safe, and the last user alone frees it.
unsafe impl Send for Parts {}
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Inner {
    pub(crate) fn raw(&self) -> *mut sys::hami_nodelock {
        self.parts.as_ref().map_or(ptr::null_mut(), |parts| parts.raw)
    }

    /// An absolute deadline; None never passes.
    pub(crate) fn deadline(&self, timeout: Option<Duration>) -> u64 {
        deadline(self.raw(), timeout)
    }
}

fn deadline(raw: *mut sys::hami_nodelock, timeout: Option<Duration>) -> u64 {
    let nanoseconds =
        timeout.map_or(u64::MAX, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    unsafe { sys::hami_nodelock_now(raw) }.saturating_add(nanoseconds)
}

fn end(parts: Parts) {
    unsafe {
        // In a forked child both only give back memory.
        sys::hami_nodelock_shutdown(parts.raw, deadline(parts.raw, Some(parts.patience)));
        sys::hami_nodelock_free(parts.raw);
        drop(Box::from_raw(parts.callbacks));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(parts) = self.parts.take() {
            outside_callback(move || end(parts));
        }
    }
}

unsafe extern "C" fn log(data: sys::Data, level: c_int, line: sys::Text) {
    let level = match level {
        0 => Level::Error,
        1 => Level::Warning,
        2 => Level::Info,
        _ => Level::Debug,
    };
    if let Some(log) = &(*data.cast::<Callbacks>()).log {
        in_callback(|| log(level, &read(line).unwrap_or_default()));
    }
}

unsafe extern "C" fn lost(
    data: sys::Data,
    lease: *mut sys::hami_lease,
    error: *const sys::hami_error,
) {
    if let Some(on_lost) = &(*data.cast::<Callbacks>()).on_lost {
        let text = Error::from_detail(0, error).text().to_string();
        let loss = Loss { lease: Facts::read(lease), text };
        in_callback(|| on_lost(&loss));
    }
}

unsafe extern "C" fn wakeup(data: sys::Data) {
    if let Some(wakeup) = &(*data.cast::<Callbacks>()).wakeup {
        in_callback(wakeup);
    }
}

/// How a manager is made: see [`NodeLock::builder`]. What is not set has the library's default.
pub struct Builder {
    transport: TransportHandle,
    key: Option<String>,
    holder: Option<String>,
    permits: u32,
    expire_bound_owners: bool,
    times: [Option<Duration>; 4],
    limits: [u32; 2],
    waiters_per_namespace: u32,
    overtaken_max: u32,
    refuse_early: bool,
    patience: Duration,
    callbacks: Callbacks,
}

impl fmt::Debug for Builder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Builder").field("transport", &self.transport).finish_non_exhaustive()
    }
}

impl Builder {
    /// The annotation that is the lock.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Prefix of the holder id; the host's name by default.
    pub fn holder(mut self, holder: impl Into<String>) -> Self {
        self.holder = Some(holder.into());
        self
    }

    /// Owners a node at a time.
    pub fn permits(mut self, permits: u32) -> Self {
        self.permits = permits;
        self
    }

    /// How long an owner may stay unbound.
    pub fn hold_limit(mut self, time: Duration) -> Self {
        self.times[0] = Some(time);
        self
    }

    /// The age that decides about owners that can't be judged otherwise.
    pub fn expire(mut self, time: Duration) -> Self {
        self.times[1] = Some(time);
        self
    }

    /// Of one call of the transport.
    pub fn call_timeout(mut self, time: Duration) -> Self {
        self.times[2] = Some(time);
        self
    }

    /// Waiters behind a holder that stands so long without progress are refused.
    pub fn stall_limit(mut self, time: Duration) -> Self {
        self.times[3] = Some(time);
        self
    }

    /// Waiters a node at a time, and nodes known at a time.
    pub fn limits(mut self, waiters_per_node: u32, nodes: u32) -> Self {
        self.limits = [waiters_per_node, nodes];
        self
    }

    /// Waiters of one namespace on one node, also where the node has room.
    pub fn waiters_per_namespace(mut self, most: u32) -> Self {
        self.waiters_per_namespace = most;
        self
    }

    /// How often one waiter may be overtaken by others that came later.
    pub fn overtaken_max(mut self, times: u32) -> Self {
        self.overtaken_max = times;
        self
    }

    /// Refuses at once, with [`Code::Limit`](crate::Code::Limit), what can't be served before its timeout
    /// by the measured pace of its node.
    pub fn refuse_early(mut self) -> Self {
        self.refuse_early = true;
        self
    }

    /// Takes over by age also from owners that still wait for Allocate.
    pub fn expire_bound_owners(mut self) -> Self {
        self.expire_bound_owners = true;
        self
    }

    /// How long the end of the last user waits for what is in flight; 5 seconds by default.
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// Takes the manager's log, from any thread.
    pub fn log(mut self, log: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
        self.callbacks.log = Some(Box::new(log));
        self
    }

    /// Is told, where the manager dispatches, that a held lease's lock is gone. It must not block.
    pub fn on_lost(mut self, told: impl Fn(&Loss) + Send + Sync + 'static) -> Self {
        self.callbacks.on_lost = Some(Box::new(told));
        self
    }

    /// The manager runs no thread: it calls this, from any thread, when [`NodeLock::dispatch`] is to be
    /// called soon. Blocking calls then need another thread that dispatches.
    pub fn wakeup(mut self, wakeup: impl Fn() + Send + Sync + 'static) -> Self {
        self.callbacks.wakeup = Some(Box::new(wakeup));
        self
    }

    /// Makes the manager.
    pub fn build(self) -> Result<NodeLock> {
        let (key, holder) = (optional(self.key.as_deref())?, optional(self.holder.as_deref())?);
        let Callbacks { log: has_log, on_lost, wakeup: has_wakeup } = &self.callbacks;
        let log = has_log.as_ref().map(|_| log as _);
        let owner_lost = on_lost.as_ref().map(|_| lost as _);
        let wakeup = has_wakeup.as_ref().map(|_| wakeup as _);
        let callbacks = Box::into_raw(Box::new(self.callbacks));
        let data: sys::Data = callbacks.cast();
        let times = self.times.map(|time| {
            time.map_or(0, |one| u64::try_from(one.as_millis()).unwrap_or(u64::MAX).max(1))
        });
        let config = sys::hami_nodelock_config {
            size: std::mem::size_of::<sys::hami_nodelock_config>(),
            transport: self.transport.raw,
            key: pointer(&key),
            holder: pointer(&holder),
            permits: self.permits,
            flags: if self.expire_bound_owners {
                sys::HAMI_NODELOCK_EXPIRE_BOUND_OWNERS
            } else {
                0
            } | if self.refuse_early { sys::HAMI_NODELOCK_REFUSE_EARLY } else { 0 },
            hold_limit_ms: times[0],
            expire_ms: times[1],
            call_timeout_ms: times[2],
            stall_limit_ms: times[3],
            waiters_per_node_max: self.limits[0],
            nodes_max: self.limits[1],
            wakeup,
            wakeup_data: data,
            owner_lost,
            owner_lost_data: data,
            log,
            log_data: data,
            clock: sys::hami_clock { monotonic_ns: None, realtime_s: None, data: ptr::null_mut() },
            allocator: sys::hami_allocator {
                allocate: None,
                reallocate: None,
                release: None,
                data: ptr::null_mut(),
            },
            random_seed: 0,
            waiters_per_namespace_max: self.waiters_per_namespace,
            overtaken_max: self.overtaken_max,
            changed: None,
            changed_data: ptr::null_mut(),
            side_by_side: 0,
        };
        let (mut raw, mut error) = (ptr::null_mut(), detail());
        let code = unsafe { sys::hami_nodelock_new(&config, &mut raw, &mut error) };
        if code != 0 {
            drop(unsafe { Box::from_raw(callbacks) });
            return Err(unsafe { Error::from_detail(code, &error) });
        }
        let parts = Parts { raw, patience: self.patience, callbacks, _transport: self.transport };
        Ok(NodeLock { inner: Arc::new(Inner { parts: Some(parts) }) })
    }
}

/// Locks nodes for pods, in the order of arrival. Clones are the same manager; its functions may be called
/// from any thread.
///
/// The last user (a clone, a lease, an acquire that is under way) ends the service: it waits a few seconds
/// for what is in flight, such as the release of a lease that was dropped.
#[derive(Clone)]
pub struct NodeLock {
    pub(crate) inner: Arc<Inner>,
}

impl fmt::Debug for NodeLock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("NodeLock").field("holder", &self.holder()).finish()
    }
}

impl NodeLock {
    /// A manager with the library's defaults, and one thread of the library's.
    pub fn new(transport: &TransportHandle) -> Result<Self> {
        Self::builder(transport).build()
    }

    pub fn builder(transport: &TransportHandle) -> Builder {
        Builder {
            transport: transport.clone(),
            key: None,
            holder: None,
            permits: 0,
            expire_bound_owners: false,
            times: [None; 4],
            limits: [0; 2],
            waiters_per_namespace: 0,
            overtaken_max: 0,
            refuse_early: false,
            patience: Duration::from_secs(5),
            callbacks: Callbacks::default(),
        }
    }

    /// Takes the node's lock and blocks meanwhile: waits its turn, then for the store. The same pod asking
    /// again shares its grant.
    pub fn acquire(&self, request: &Request) -> Result<Lease> {
        self.take(request, sys::hami_nodelock_acquire)
    }

    /// Takes the lock only if that needs no waiting but for the store's answers:
    /// [`Code::Busy`](crate::Code::Busy) at once if this manager has a holder or waiters there,
    /// [`Code::Held`](crate::Code::Held) if another one has.
    pub fn try_acquire(&self, request: &Request) -> Result<Lease> {
        self.take(request, sys::hami_nodelock_try_acquire)
    }

    /// The same as a future, for any executor. It joins the queue when it is first polled. Dropping it
    /// takes it out of the queue; a grant that comes too late for it is given back.
    pub fn acquire_async(&self, request: &Request) -> Acquire {
        Acquire::new(self.inner.clone(), request.clone(), sys::hami_nodelock_acquire_start)
    }

    /// [`try_acquire`](Self::try_acquire) as a future.
    pub fn try_acquire_async(&self, request: &Request) -> Acquire {
        Acquire::new(self.inner.clone(), request.clone(), sys::hami_nodelock_try_acquire_start)
    }

    fn take(
        &self,
        request: &Request,
        function: unsafe extern "C" fn(
            *mut sys::hami_nodelock,
            *const sys::hami_nodelock_request,
            *mut *mut sys::hami_lease,
            *mut sys::hami_error,
        ) -> c_int,
    ) -> Result<Lease> {
        let native = request.native(&self.inner)?;
        let (mut lease, mut error) = (ptr::null_mut(), detail());
        let code = unsafe { function(self.inner.raw(), native.get(), &mut lease, &mut error) };
        if code != 0 {
            return Err(unsafe { Error::from_detail(code, &error) });
        }
        Ok(unsafe { Lease::from_raw(self.inner.clone(), lease) })
    }

    /// Ends the service: waiters get [`Code::Closed`](crate::Code::Closed), what is in flight is finished
    /// or undone. Held leases stay with their holders. With a [`Builder::wakeup`] it dispatches by itself.
    ///
    /// [`Code::TimedOut`](crate::Code::TimedOut) if something is still in doubt then.
    pub fn shutdown(&self, timeout: Option<Duration>) -> Result<()> {
        let until = self.inner.deadline(timeout);
        check(unsafe { sys::hami_nodelock_shutdown(self.inner.raw(), until) })
    }

    /// With a [`Builder::wakeup`]: runs what is due, callbacks and wakers among it.
    pub fn dispatch(&self) -> Result<()> {
        check(unsafe { sys::hami_nodelock_dispatch(self.inner.raw()) })
    }

    /// With a [`Builder::wakeup`]: how long until dispatch has to be called if no wakeup comes before;
    /// None is any time.
    pub fn until_dispatch(&self) -> Option<Duration> {
        let (due, now) = unsafe {
            let raw = self.inner.raw();
            (sys::hami_nodelock_next_deadline(raw), sys::hami_nodelock_now(raw))
        };
        (due != sys::HAMI_DEADLINE_NEVER).then(|| Duration::from_nanos(due.saturating_sub(now)))
    }

    /// The id that this manager writes into its leases.
    pub fn holder(&self) -> String {
        unsafe { read(sys::hami_nodelock_holder(self.inner.raw())) }.unwrap_or_default()
    }

    /// Totals since the manager was made, and how much there is of what now.
    pub fn stats(&self) -> Result<Stats> {
        Stats::of(self.inner.raw())
    }

    /// Each known node, or the one that is named: who holds it, who waits, and why.
    pub fn snapshot(&self, node: Option<&str>) -> Result<Vec<NodeView>> {
        NodeView::of(self.inner.raw(), &optional(node)?)
    }

    /// A node is gone: its waiters are told at once.
    pub fn forget(&self, node: &str) -> Result<()> {
        let node = text(node)?;
        check(unsafe { sys::hami_nodelock_forget(self.inner.raw(), node.as_ptr()) })
    }

    /// For transports without a watch: how a node was seen, with all its annotations. Stale or repeated
    /// news is harmless.
    pub fn observe(
        &self,
        node: &str,
        annotations: &[(String, String)],
        version: Option<&str>,
    ) -> Result<()> {
        let (node, version) = (text(node)?, optional(version)?);
        let texts = annotations
            .iter()
            .map(|(key, value)| Ok((text(key)?, text(value)?)))
            .collect::<Result<Vec<_>>>()?;
        let rows: Vec<_> = texts
            .iter()
            .map(|(key, value)| sys::hami_annotation { key: key.as_ptr(), value: value.as_ptr() })
            .collect();
        let record = sys::hami_node_record {
            size: std::mem::size_of::<sys::hami_node_record>(),
            version: pointer(&version),
            annotations: rows.as_ptr(),
            annotation_count: rows.len(),
        };
        check(unsafe { sys::hami_nodelock_observe(self.inner.raw(), node.as_ptr(), &record) })
    }
}
