// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! A wait for a lock, as a future.

use std::ffi::{c_int, CString};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use haminodelock_sys as sys;

use crate::cancel::Cancel;
use crate::error::{detail, Error, Result};
use crate::lease::Lease;
use crate::manager::{in_callback, Inner};
use crate::pod::{Owner, Pod};
use crate::texts::{optional, pointer, text, List};

/// What is asked: a node, for a pod. Without a timeout it waits for ever.
#[derive(Clone, Debug)]
pub struct Request {
    node: String,
    pod: Pod,
    timeout: Option<Duration>,
    keys: Vec<String>,
    priority: i32,
    group: Option<String>,
    cancel: Option<Cancel>,
}

impl Request {
    pub fn new(node: impl Into<String>, pod: Pod) -> Self {
        let node = node.into();
        Request {
            node,
            pod,
            timeout: None,
            keys: Vec::new(),
            priority: 0,
            group: None,
            cancel: None,
        }
    }

    /// When the caller is told at the latest, counted from the call or the first poll.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Annotations that are locked together; the manager's key by default.
    pub fn keys(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Higher goes first, but passes each waiter a few times at most.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Members of one group, of one namespace and priority, are served one after the other.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Ends the wait from elsewhere.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = Some(cancel.clone());
        self
    }

    pub(crate) fn native(&self, inner: &Inner) -> Result<Native> {
        let (node, owner, keys) =
            (text(&self.node)?, Owner::new(&self.pod)?, List::new(&self.keys)?);
        let group = optional(self.group.as_deref())?;
        let request = sys::hami_nodelock_request {
            size: std::mem::size_of::<sys::hami_nodelock_request>(),
            node: node.as_ptr(),
            owner: owner.as_c(),
            deadline_ns: inner.deadline(self.timeout),
            keys: keys.as_ptr(),
            key_count: keys.len(),
            cancel: self.cancel.as_ref().map_or(ptr::null_mut(), |cancel| cancel.raw),
            priority: self.priority,
            group: pointer(&group),
            reterr: ptr::null_mut(),
            calls: ptr::null(),
        };
        Ok(Native { request, _node: node, _owner: owner, _keys: keys, _group: group })
    }
}

/// A request in C's form, with the texts that it borrows.
pub(crate) struct Native {
    request: sys::hami_nodelock_request,
    _node: CString,
    _owner: Owner,
    _keys: List,
    _group: Option<CString>,
}

impl Native {
    pub(crate) fn get(&self) -> *const sys::hami_nodelock_request {
        &self.request
    }
}

/// What the future and the callback share. The mutex keeps abort and the callback apart: the C wait ends
/// when the callback returns.
struct State {
    wait: *mut sys::hami_wait,
    is_over: bool,
    is_dropped: bool,
    end: Option<Result<*mut sys::hami_lease>>,
    waker: Option<Waker>,
}

struct Shared(Mutex<State>);

// The pointers are used under the mutex, from one thread at a time.
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Gives a lease back without waiting.
pub(crate) fn drop_raw(lease: *mut sys::hami_lease) {
    unsafe {
        sys::hami_lease_release_start(lease, sys::HAMI_DEADLINE_NEVER, None, ptr::null_mut());
    }
}

unsafe extern "C" fn acquired(
    data: sys::Data,
    code: c_int,
    lease: *mut sys::hami_lease,
    error: *const sys::hami_error,
) {
    let shared = Arc::from_raw(data.cast::<Shared>().cast_const());
    let end = if code == 0 { Ok(lease) } else { Err(Error::from_detail(code, error)) };
    let mut state = shared.state();
    state.is_over = true;
    let too_late = state.is_dropped;
    let waker = state.waker.take();
    if !too_late {
        state.end = Some(end);
    }
    drop(state);
    if too_late && code == 0 {
        drop_raw(lease);
    }
    // A waker may run anything, and drop the last user of a manager.
    in_callback(|| {
        if let Some(waker) = waker {
            waker.wake();
        }
        drop(shared);
    });
}

type Start = unsafe extern "C" fn(
    *mut sys::hami_nodelock,
    *const sys::hami_nodelock_request,
    sys::hami_acquired_fn,
    sys::Data,
    *mut *mut sys::hami_wait,
) -> c_int;

/// A lock that is being taken; see [`NodeLock::acquire_async`](crate::NodeLock::acquire_async).
#[must_use = "a future does nothing unless it is polled"]
pub struct Acquire {
    inner: Arc<Inner>,
    request: Request,
    start: Start,
    shared: Option<Arc<Shared>>,
}

impl fmt::Debug for Acquire {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Acquire").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Acquire {
    pub(crate) fn new(inner: Arc<Inner>, request: Request, start: Start) -> Self {
        Acquire { inner, request, start, shared: None }
    }

    fn begin(&mut self, waker: Waker) -> Result<()> {
        let mut error = detail();
        let mut native = self.request.native(&self.inner)?;
        native.request.reterr = &mut error;
        let shared = Arc::new(Shared(Mutex::new(State {
            wait: ptr::null_mut(),
            is_over: false,
            is_dropped: false,
            end: None,
            waker: Some(waker),
        })));
        let data: sys::Data = Arc::into_raw(shared.clone()).cast_mut().cast();
        let mut wait = ptr::null_mut();
        let code =
            unsafe { (self.start)(self.inner.raw(), native.get(), acquired, data, &mut wait) };
        if code != 0 {
            drop(unsafe { Arc::from_raw(data.cast::<Shared>().cast_const()) });
            return Err(unsafe { Error::from_detail(code, &error) });
        }
        shared.state().wait = wait;
        self.shared = Some(shared);
        Ok(())
    }
}

impl Future for Acquire {
    type Output = Result<Lease>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(shared) = self.shared.clone() else {
            return match self.begin(context.waker().clone()) {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            };
        };
        let mut state = shared.state();
        match state.end.take() {
            Some(Ok(lease)) => {
                Poll::Ready(Ok(unsafe { Lease::from_raw(self.inner.clone(), lease) }))
            }
            Some(Err(error)) => Poll::Ready(Err(error)),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else { return };
        let mut state = shared.state();
        state.is_dropped = true;
        let unused = state.end.take();
        let waker = state.waker.take();
        if !state.is_over {
            unsafe { sys::hami_wait_abort(state.wait) };
        }
        drop(state);
        drop(waker);
        if let Some(Ok(lease)) = unused {
            drop_raw(lease);
        }
    }
}
