// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! A held lock.

use std::cell::Cell;
use std::ffi::c_int;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use haminodelock_sys as sys;

use crate::acquire::drop_raw;
use crate::error::{check, detail, Code, Error, Result};
use crate::manager::{in_callback, Inner};
use crate::pod::Pod;
use crate::texts::read;

/// What a lease says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub node: String,
    pub pod: Pod,
    /// The annotation that is the lock; the first one of several.
    pub key: String,
    /// What was written there.
    pub value: String,
    /// The manager's id.
    pub holder: String,
    /// Larger with each grant on the node.
    pub fence: u64,
    pub attempt: u64,
    /// The pod's version that the take was judged by.
    pub owner_version: Option<String>,
}

impl Facts {
    /// # Safety
    /// The lease is not consumed.
    pub(crate) unsafe fn read(lease: *const sys::hami_lease) -> Self {
        let none = ptr::null();
        let mut view = sys::hami_lease_view {
            size: std::mem::size_of::<sys::hami_lease_view>(),
            node: none,
            owner: sys::hami_owner { namespace_name: none, name: none, uid: none },
            key: none,
            value: none,
            holder: none,
            fence: 0,
            attempt: 0,
            owner_version: none,
            owner_revoked: none,
        };
        sys::hami_lease_facts(lease, &mut view); // left empty by a manager that was closed
        Facts {
            node: read(view.node).unwrap_or_default(),
            pod: Pod::from_c(&view.owner),
            key: read(view.key).unwrap_or_default(),
            value: read(view.value).unwrap_or_default(),
            holder: read(view.holder).unwrap_or_default(),
            fence: view.fence,
            attempt: view.attempt,
            owner_version: read(view.owner_version),
        }
    }
}

/// A held lock, given back exactly once.
///
/// *Dropped*, it is released without waiting; where the pod turned out bound here meanwhile, the library
/// hands it off instead, so a drop never takes a lock from under a pod that needs it. When the pod is
/// bound, [`hand_off`](Self::hand_off) says so, and the device plugin's side releases. A lease that is
/// leaked ([`std::mem::forget`]) holds its node until the library's hold limit.
///
/// It may be sent to another thread, but is used by one at a time:
///
/// ```
/// fn is_send<T: Send>() {}
/// is_send::<haminodelock::Lease>();
/// ```
///
/// ```compile_fail
/// fn is_sync<T: Sync>() {}
/// is_sync::<haminodelock::Lease>();
/// ```
///
/// What gives it back takes it, so it can't be used afterwards:
///
/// ```compile_fail
/// fn twice(lease: haminodelock::Lease) {
///     lease.hand_off();
///     lease.fence();
/// }
/// ```
///
/// ```
/// fn once(lease: haminodelock::Lease) {
///     lease.fence();
///     let _ = lease.hand_off();
/// }
/// ```
pub struct Lease {
    raw: *mut sys::hami_lease, // NULL once it is consumed
    inner: Arc<Inner>,
    facts: Box<Facts>,
    _one_thread_at_a_time: PhantomData<Cell<()>>,
}

// "One thread at a time per lease; it may move."
unsafe impl Send for Lease {}

impl fmt::Debug for Lease {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Lease").field(&self.facts).finish()
    }
}

impl Lease {
    /// # Safety
    /// The lease is the manager's, and the caller's to consume.
    pub(crate) unsafe fn from_raw(inner: Arc<Inner>, raw: *mut sys::hami_lease) -> Self {
        let facts = Box::new(Facts::read(raw));
        Lease { raw, inner, facts, _one_thread_at_a_time: PhantomData }
    }

    #[cfg(feature = "kubernetes")]
    pub(crate) fn raw(&self) -> *mut sys::hami_lease {
        self.raw
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    pub fn node(&self) -> &str {
        &self.facts.node
    }

    pub fn pod(&self) -> &Pod {
        &self.facts.pod
    }

    /// Larger with each grant on the node.
    pub fn fence(&self) -> u64 {
        self.facts.fence
    }

    /// What was written: time, namespace, pod.
    pub fn value(&self) -> &str {
        &self.facts.value
    }

    /// Reads the store, and blocks meanwhile. [`Code::Lost`] if the lock is no longer ours; the lease
    /// stays to be consumed.
    pub fn check(&mut self, timeout: Duration) -> Result<()> {
        let mut error = detail();
        let until = self.inner.deadline(Some(timeout));
        match unsafe { sys::hami_lease_check(self.raw, until, &mut error) } {
            0 => Ok(()),
            code => Err(unsafe { Error::from_detail(code, &error) }),
        }
    }

    /// The C lease, for a function that consumes it.
    fn take(&mut self) -> *mut sys::hami_lease {
        std::mem::replace(&mut self.raw, ptr::null_mut())
    }

    /// Gives the lock back and waits for the store.
    ///
    /// [`Code::Lost`] if it was no longer ours, [`Code::InDoubt`] if the store did not answer in time (it
    /// goes on behind), [`Code::Closed`] if the manager was freed.
    pub fn release(mut self, timeout: Duration) -> Result<()> {
        let until = self.inner.deadline(Some(timeout));
        let (raw, mut error) = (self.take(), detail());
        let code = unsafe { sys::hami_lease_release(raw, until, &mut error) };
        if Code::from_c(code) == Code::Invalid {
            self.raw = raw; // called from a callback: it was not consumed, and is dropped instead
        }
        match code {
            0 => Ok(()),
            code => Err(unsafe { Error::from_detail(code, &error) }),
        }
    }

    /// The same as a future. It begins when it is first polled; dropped, it goes on behind.
    pub fn release_async(self, timeout: Duration) -> Release {
        Release { lease: Some(self), timeout, shared: None }
    }

    /// The pod is bound, or may be: the node side gives the lock back. Does no I/O. The node stays
    /// locked until that is seen, or the pod is proven past its Allocate.
    pub fn hand_off(mut self) -> Result<()> {
        check(unsafe { sys::hami_lease_handoff(self.take()) })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            drop_raw(self.take());
        }
    }
}

/// The end of something that tells a code alone.
#[derive(Default)]
pub(crate) struct Done {
    end: Option<Result<()>>,
    waker: Option<Waker>,
}

pub(crate) type SharedDone = Mutex<Done>;

pub(crate) unsafe extern "C" fn done(data: sys::Data, code: c_int, error: *const sys::hami_error) {
    let shared = Arc::from_raw(data.cast::<SharedDone>().cast_const());
    let end = if code == 0 { Ok(()) } else { Err(Error::from_detail(code, error)) };
    let waker = {
        let mut state = shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.end = Some(end);
        state.waker.take()
    };
    in_callback(|| {
        if let Some(waker) = waker {
            waker.wake();
        }
        drop(shared);
    });
}

pub(crate) fn poll_done(shared: &SharedDone, context: &mut Context<'_>) -> Poll<Result<()>> {
    let mut state = shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match state.end.take() {
        Some(end) => Poll::Ready(end),
        None => {
            state.waker = Some(context.waker().clone());
            Poll::Pending
        }
    }
}

/// A lock that is being given back; see [`Lease::release_async`].
#[must_use = "a future does nothing unless it is polled; but a dropped lease is released, too"]
#[derive(Debug)]
pub struct Release {
    lease: Option<Lease>,
    timeout: Duration,
    shared: Option<Arc<SharedDone>>,
}

impl fmt::Debug for Done {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Done").field("end", &self.end).finish_non_exhaustive()
    }
}

impl Release {
    fn begin(&mut self, mut lease: Lease) -> Result<Arc<SharedDone>> {
        let shared = Arc::new(SharedDone::default());
        let data: sys::Data = Arc::into_raw(shared.clone()).cast_mut().cast();
        let until = lease.inner.deadline(Some(self.timeout));
        let raw = lease.take();
        let code = unsafe { sys::hami_lease_release_start(raw, until, Some(done), data) };
        if code == 0 {
            // The manager lives until the end is told.
            self.lease = Some(lease);
            return Ok(shared);
        }
        drop(unsafe { Arc::from_raw(data.cast::<SharedDone>().cast_const()) });
        if Code::from_c(code) != Code::Closed {
            lease.raw = raw; // not consumed
        }
        Err(Error::from_c(code))
    }
}

impl Future for Release {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.shared.is_none() {
            let lease = self.lease.take().expect("a release was polled after its end");
            match self.begin(lease) {
                Ok(shared) => self.shared = Some(shared),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        match &self.shared {
            Some(shared) => poll_done(shared, context),
            None => Poll::Pending,
        }
    }
}
