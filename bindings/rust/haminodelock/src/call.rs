// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! The work that a transport is given. A call is completed once: by a method that takes it, or by its drop.

use std::ffi::{c_int, CString};
use std::ptr;
use std::time::Duration;

use haminodelock_sys as sys;

use crate::error::{Code, Error, Result};
use crate::pod::{Facts, OwnerFacts, Pod};
use crate::texts::{optional, pointer, read, text};
use crate::transport::{Action, Edit, TransportHandle};

/// One call on a node. Complete it by one of the methods that take it; dropped, it ends in doubt.
#[derive(Debug)]
pub struct Call {
    raw: *mut sys::hami_call,
}

// What looks at a call is MT-Safe, and any thread may complete it.
unsafe impl Send for Call {}
unsafe impl Sync for Call {}

impl Call {
    pub(crate) fn new(raw: *mut sys::hami_call) -> Self {
        Call { raw }
    }

    pub fn node(&self) -> String {
        unsafe { read(sys::hami_call_node(self.raw)) }.unwrap_or_default()
    }

    /// At least one.
    pub fn edits(&self) -> Vec<Edit> {
        let mut count = 0;
        let edits = unsafe {
            let first = sys::hami_call_edits(self.raw, &mut count);
            std::slice::from_raw_parts(first, count)
        };
        edits
            .iter()
            .map(|one| unsafe {
                Edit {
                    action: match one.action {
                        0 => Action::Read,
                        1 => Action::Test,
                        _ => Action::Put,
                    },
                    key: read(one.key).unwrap_or_default(),
                    expect: read(one.expect),
                    value: read(one.value),
                }
            })
            .collect()
    }

    /// Writes only: the node's version that must still stand; None is any.
    pub fn version(&self) -> Option<String> {
        unsafe { read(sys::hami_call_version(self.raw)) }
    }

    pub fn is_write(&self) -> bool {
        unsafe { sys::hami_call_is_write(self.raw) }
    }

    /// Until it has to be completed.
    pub fn remaining(&self) -> Duration {
        Duration::from_nanos(unsafe { sys::hami_call_remaining(self.raw) })
    }

    /// It was carried out; the values of all edits, in their order, as they are now.
    pub fn done(self, values: Vec<Option<String>>) {
        self.complete(0, Some(&values), None, "");
    }

    /// The same, with the node's version now.
    pub fn done_at(self, values: Vec<Option<String>>, version: &str) {
        self.complete(0, Some(&values), Some(version), "");
    }

    /// An expectation failed and nothing was changed; the values if they are known.
    pub fn refuse(self, values: Option<Vec<Option<String>>>) {
        self.complete(Code::Held.to_c(), values.as_deref(), None, "");
    }

    /// It was not carried out, or ([`Code::InDoubt`]) nobody knows.
    pub fn fail(self, error: &Error) {
        self.complete(error.code().to_c(), None, None, error.text());
    }

    /// Has another transport carry it out.
    pub fn pass_to(self, transport: &TransportHandle) {
        let raw = self.raw;
        std::mem::forget(self);
        let code = match unsafe { (*transport.raw).submit } {
            Some(submit) => unsafe { submit(transport.raw, raw) },
            None => Code::NotSupported.to_c(),
        };
        if code != 0 {
            Call { raw }.complete(code, None, None, "");
        }
    }

    fn complete(
        self,
        code: c_int,
        values: Option<&[Option<String>]>,
        version: Option<&str>,
        why: &str,
    ) {
        let raw = self.raw;
        std::mem::forget(self);
        // What C can't hold must not look absent: an absent lock is a free one.
        let texts: Result<Vec<Option<CString>>> =
            values.unwrap_or(&[]).iter().map(|one| optional(one.as_deref())).collect();
        let (code, why, values) = match &texts {
            Ok(_) => (code, why, values),
            Err(_) => (Code::Protocol.to_c(), "a value has a NUL in it", None),
        };
        let texts = texts.unwrap_or_default();
        let pointers: Vec<_> = texts.iter().map(pointer).collect();
        let version = optional(version).unwrap_or(None);
        let why = text(why).unwrap_or_default();
        let result = sys::hami_transport_result {
            size: std::mem::size_of::<sys::hami_transport_result>(),
            code,
            values: if values.is_some() { pointers.as_ptr() } else { ptr::null() },
            value_count: pointers.len(),
            version: pointer(&version),
            server_time_us: 0,
            status: 0,
            text: why.as_ptr(),
        };
        unsafe { sys::hami_call_done(raw, &result) };
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let call = Call { raw: self.raw };
        call.complete(Code::InDoubt.to_c(), None, None, "the transport dropped the call");
    }
}

/// A question about a pod. Dropped, it stays unanswered.
#[derive(Debug)]
pub struct OwnerCall {
    raw: *mut sys::hami_call,
}

unsafe impl Send for OwnerCall {}
unsafe impl Sync for OwnerCall {}

impl OwnerCall {
    pub(crate) fn new(raw: *mut sys::hami_call) -> Self {
        OwnerCall { raw }
    }

    /// The node that the pod is asked about.
    pub fn node(&self) -> String {
        unsafe { read(sys::hami_call_node(self.raw)) }.unwrap_or_default()
    }

    pub fn pod(&self) -> Pod {
        unsafe { Pod::from_c(&*sys::hami_call_owner(self.raw)) }
    }

    /// inspect: only a consistent read that begins now will do.
    pub fn wants_read(&self) -> bool {
        unsafe { sys::hami_call_wants_read(self.raw) }
    }

    /// revoke: the text to write onto the pod, which must not be bound; None for inspect.
    pub fn revocation(&self) -> Option<String> {
        unsafe { read(sys::hami_call_revocation(self.raw)) }
    }

    /// What is so of the pod; after a revocation, what is so then.
    pub fn done(self, facts: &OwnerFacts) {
        self.complete(0, Some(facts), "");
    }

    /// revoke: the guard refused, because the pod is bound or another one.
    pub fn refuse(self, facts: &OwnerFacts) {
        self.complete(Code::Held.to_c(), Some(facts), "");
    }

    pub fn fail(self, error: &Error) {
        self.complete(error.code().to_c(), None, error.text());
    }

    fn complete(self, code: c_int, facts: Option<&OwnerFacts>, why: &str) {
        let raw = self.raw;
        std::mem::forget(self);
        let why = text(why).unwrap_or_default();
        let facts = facts.and_then(|one| Facts::new(one).ok());
        let native = facts.as_ref().map_or(ptr::null(), Facts::as_ptr);
        unsafe { sys::hami_call_done_owner(raw, code, native, why.as_ptr()) };
    }
}

impl Drop for OwnerCall {
    fn drop(&mut self) {
        let code = if self.revocation().is_some() { Code::InDoubt } else { Code::Transport }.to_c();
        OwnerCall { raw: self.raw }.complete(code, None, "the transport dropped the call");
    }
}
