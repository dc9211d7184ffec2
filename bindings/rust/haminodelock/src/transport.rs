// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! Stores: the library's, and those written in Rust.
//!
//! A transport is a compare-and-set on named values of a node:
//!
//! ```
//! use std::collections::HashMap;
//! use std::sync::Mutex;
//! use haminodelock::{Action, Call, NodeLock, Pod, Request, Transport, TransportHandle};
//!
//! #[derive(Default)]
//! struct Map(Mutex<HashMap<(String, String), String>>);
//!
//! impl Transport for Map {
//!     fn name(&self) -> &str {
//!         "map"
//!     }
//!
//!     fn submit(&self, call: Call) {
//!         let node = call.node();
//!         let edits = call.edits();
//!         let mut map = self.0.lock().unwrap();
//!         let of = |key: &str| (node.clone(), key.to_string());
//!         let good = edits.iter().all(|edit| {
//!             edit.action == Action::Read || map.get(&of(&edit.key)) == edit.expect.as_ref()
//!         });
//!         for edit in edits.iter().filter(|edit| good && edit.action == Action::Put) {
//!             match &edit.value {
//!                 Some(value) => map.insert(of(&edit.key), value.clone()),
//!                 None => map.remove(&of(&edit.key)),
//!             };
//!         }
//!         let now = edits.iter().map(|edit| map.get(&of(&edit.key)).cloned()).collect();
//!         drop(map); // no lock is held when a call is completed: submit may be entered from there
//!         if good {
//!             call.done(now);
//!         } else {
//!             call.refuse(Some(now));
//!         }
//!     }
//! }
//!
//! let lock = NodeLock::new(&TransportHandle::new(Map::default())?)?;
//! let lease = lock.acquire(&Request::new("node-1", Pod::new("default", "my-pod", "uid-1")))?;
//! assert!(lease.value().ends_with(",default,my-pod"));
//! # Ok::<(), haminodelock::Error>(())
//! ```

use std::any::Any;
use std::ffi::{c_int, CString};
use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use haminodelock_sys as sys;

use crate::call::{Call, OwnerCall};
use crate::error::{Code, Error, Result};
use crate::texts::{optional, pointer, read, text};

/// What an edit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Tells the value.
    Read,
    /// Refuses the whole call unless the value is `expect`.
    Test,
    /// Tests, then sets.
    Put,
}

/// One named value of a node. None is an absent value, "" is a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub action: Action,
    pub key: String,
    pub expect: Option<String>,
    pub value: Option<String>,
}

/// What a call found: a value for each edit, as they are now; None if they are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub values: Option<Vec<Option<String>>>,
    pub version: Option<String>,
}

/// A transport that a manager can work on. Clones are the same one; it lives as long as any of them, and
/// as long as each manager that was made with it.
#[derive(Clone)]
pub struct TransportHandle {
    pub(crate) raw: *mut sys::hami_transport,
    _keep: Arc<dyn Any + Send + Sync>,
}

// A transport's functions are called from any thread.
unsafe impl Send for TransportHandle {}
unsafe impl Sync for TransportHandle {}

impl fmt::Debug for TransportHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = unsafe { read((*self.raw).name) };
        out.debug_tuple("TransportHandle").field(&name.unwrap_or_default()).finish()
    }
}

struct Receiving {
    answer: Answer,
    text: String,
}

unsafe extern "C" fn receive(data: sys::Data, result: *const sys::hami_transport_result) {
    let (receiving, result) = (&mut *data.cast::<Receiving>(), &*result);
    if !result.values.is_null() {
        let values = std::slice::from_raw_parts(result.values, result.value_count);
        receiving.answer.values = Some(values.iter().map(|one| read(*one)).collect());
    }
    receiving.answer.version = read(result.version);
    receiving.text = read(result.text).unwrap_or_default();
}

impl TransportHandle {
    /// # Safety
    /// `raw` is good as long as `keep` lives.
    pub(crate) unsafe fn from_raw(
        raw: *mut sys::hami_transport,
        keep: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        TransportHandle { raw, _keep: keep }
    }

    /// A transport written in Rust.
    pub fn new(transport: impl Transport) -> Result<Self> {
        let own = Own::new(Box::new(transport))?;
        let raw = Arc::as_ptr(&own).cast_mut().cast(); // the C struct is its first member
        Ok(TransportHandle { raw, _keep: own })
    }

    /// Carries out one call without a manager, and waits: for tools and tests.
    ///
    /// [`Code::Held`] if an expectation failed, and what else the store says.
    pub fn call(
        &self,
        node: &str,
        edits: &[Edit],
        version: Option<&str>,
        timeout: Duration,
    ) -> Result<Answer> {
        let (node, version) = (text(node)?, optional(version)?);
        let mut texts = Vec::new();
        for edit in edits {
            let expect = optional(edit.expect.as_deref())?;
            texts.push((text(&edit.key)?, expect, optional(edit.value.as_deref())?));
        }
        let native: Vec<_> = edits
            .iter()
            .zip(&texts)
            .map(|(edit, (key, expect, value))| sys::hami_transport_edit {
                action: edit.action as c_int,
                key: key.as_ptr(),
                expect: pointer(expect),
                value: pointer(value),
            })
            .collect();
        let mut receiving = Receiving { answer: Answer::default(), text: String::new() };
        let code = unsafe {
            sys::hami_transport_call(
                self.raw,
                node.as_ptr(),
                native.as_ptr(),
                native.len(),
                pointer(&version),
                u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).max(1),
                Some(receive),
                ptr::addr_of_mut!(receiving).cast(),
            )
        };
        match code {
            0 => Ok(receiving.answer),
            code => Err(Error::new(Code::from_c(code), receiving.text)),
        }
    }
}

/// A store written in Rust. A panic in it ends the process, because it can't pass through C. The rules are those of hami/transport.h: nothing here blocks; a call is
/// completed from any thread, with no lock of the transport held; all edits are applied in one atomic
/// write or none; "surely not applied" ([`Code::Transport`]) and "sent, and no answer"
/// ([`Code::InDoubt`]) are told apart.
pub trait Transport: Send + Sync + 'static {
    /// For logs.
    fn name(&self) -> &str;

    /// Carries out one call on a node, now or later.
    fn submit(&self, call: Call);

    /// True if other readers of the store know one lock a node only.
    fn one_permit(&self) -> bool {
        false
    }

    /// What it knows of pods. Without, locks are judged by their age alone.
    fn owners(&self) -> Option<&dyn Owners> {
        None
    }

    /// The transport that this one stands before, to count, delay or log. What this one does not do
    /// itself (pods, news) is passed on to it.
    fn inner(&self) -> Option<&TransportHandle> {
        None
    }
}

/// A transport's knowledge of pods.
pub trait Owners {
    /// Learns facts about the call's pod.
    fn inspect(&self, call: OwnerCall);

    /// Makes each Binding of the call's pod that is on its way fail.
    fn revoke(&self, call: OwnerCall);
}

/// The C struct first, so that its address is this one's.
#[repr(C)]
struct Own {
    native: sys::hami_transport,
    name: CString,
    code: Box<dyn Transport>,
}

unsafe impl Send for Own {}
unsafe impl Sync for Own {}

impl Own {
    fn new(code: Box<dyn Transport>) -> Result<Arc<Self>> {
        let name = text(code.name())?;
        let mut native = sys::hami_transport {
            size: std::mem::size_of::<sys::hami_transport>(),
            name: name.as_ptr(),
            flags: if code.one_permit() { sys::HAMI_TRANSPORT_ONE_PERMIT } else { 0 },
            submit: Some(submit),
            abort: None,
            inspect: None,
            revoke: None,
            watch: None,
            unwatch: None,
            close: None,
        };
        if let Some(inner) = code.inner() {
            let inner = unsafe { &*inner.raw };
            native.flags |= inner.flags;
            native.inspect = inner.inspect.and(Some(inspect_inner as _));
            native.revoke = inner.revoke.and(Some(revoke_inner as _));
            native.watch = inner.watch.and(Some(watch_inner as _));
            native.unwatch = inner.watch.and(Some(unwatch_inner as _));
        }
        if code.owners().is_some() {
            native.inspect = Some(inspect);
            native.revoke = Some(revoke);
        }
        Ok(Arc::new(Own { native, name, code }))
    }
}

/// # Safety
/// `transport` is that of an Own that lives.
unsafe fn own<'a>(transport: *mut sys::hami_transport) -> &'a Own {
    let own = &*transport.cast::<Own>();
    debug_assert_eq!(own.native.name, own.name.as_ptr());
    own
}

/// The C struct of the transport that this one stands before; itself a valid pointer.
///
/// # Safety
/// As own(); and the transport has an inner one.
unsafe fn inner(transport: *mut sys::hami_transport) -> *mut sys::hami_transport {
    own(transport).code.inner().expect("a transport changed its inner one").raw
}

unsafe extern "C" fn submit(
    transport: *mut sys::hami_transport,
    raw: *mut sys::hami_call,
) -> c_int {
    own(transport).code.submit(Call::new(raw));
    0
}

unsafe extern "C" fn inspect(
    transport: *mut sys::hami_transport,
    raw: *mut sys::hami_call,
) -> c_int {
    match own(transport).code.owners() {
        Some(owners) => owners.inspect(OwnerCall::new(raw)),
        None => drop(OwnerCall::new(raw)),
    }
    0
}

unsafe extern "C" fn revoke(
    transport: *mut sys::hami_transport,
    raw: *mut sys::hami_call,
) -> c_int {
    match own(transport).code.owners() {
        Some(owners) => owners.revoke(OwnerCall::new(raw)),
        None => drop(OwnerCall::new(raw)),
    }
    0
}

unsafe extern "C" fn inspect_inner(
    transport: *mut sys::hami_transport,
    call: *mut sys::hami_call,
) -> c_int {
    let inner = inner(transport);
    (*inner).inspect.map_or(Code::NotSupported.to_c(), |function| function(inner, call))
}

unsafe extern "C" fn revoke_inner(
    transport: *mut sys::hami_transport,
    call: *mut sys::hami_call,
) -> c_int {
    let inner = inner(transport);
    (*inner).revoke.map_or(Code::NotSupported.to_c(), |function| function(inner, call))
}

unsafe extern "C" fn watch_inner(
    transport: *mut sys::hami_transport,
    lock: *mut sys::hami_nodelock,
) -> c_int {
    let inner = inner(transport);
    (*inner).watch.map_or(Code::NotSupported.to_c(), |function| function(inner, lock))
}

unsafe extern "C" fn unwatch_inner(
    transport: *mut sys::hami_transport,
    lock: *mut sys::hami_nodelock,
) {
    let inner = inner(transport);
    if let Some(function) = (*inner).unwatch {
        function(inner, lock);
    }
}
