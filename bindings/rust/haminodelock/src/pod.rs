// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! Whom a lock is for, and what is known of them.

use std::ffi::CString;

use haminodelock_sys as sys;

use crate::error::Result;
use crate::texts::{optional, pointer, read, text};

/// A pod. Without Kubernetes any unique text will do for uid.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pod {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl Pod {
    pub fn new(
        namespace: impl Into<String>,
        name: impl Into<String>,
        uid: impl Into<String>,
    ) -> Self {
        Pod { namespace: namespace.into(), name: name.into(), uid: uid.into() }
    }

    /// # Safety
    /// The owner's texts live for this call.
    pub(crate) unsafe fn from_c(owner: &sys::hami_owner) -> Self {
        Pod::new(
            read(owner.namespace_name).unwrap_or_default(),
            read(owner.name).unwrap_or_default(),
            read(owner.uid).unwrap_or_default(),
        )
    }
}

/// A pod in C's form, with the texts that it borrows.
pub(crate) struct Owner {
    texts: [CString; 3],
}

impl Owner {
    pub(crate) fn new(pod: &Pod) -> Result<Self> {
        Ok(Owner { texts: [text(&pod.namespace)?, text(&pod.name)?, text(&pod.uid)?] })
    }

    pub(crate) fn as_c(&self) -> sys::hami_owner {
        sys::hami_owner {
            namespace_name: self.texts[0].as_ptr(),
            name: self.texts[1].as_ptr(),
            uid: self.texts[2].as_ptr(),
        }
    }
}

/// HAMi's bind phase of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BindPhase {
    #[default]
    None,
    Allocating,
    Success,
    Failed,
}

/// What a store knows about a pod. The default is a pod that exists and that nothing has happened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerFacts {
    /// False: nothing could be learned, the rest means nothing.
    pub known: bool,
    pub exists: bool,
    /// From a consistent read begun after the question was asked, not from a watch.
    pub read: bool,
    pub deleting: bool,
    pub finished: bool,
    pub started: bool,
    pub devices_left: bool,
    pub bind_phase: BindPhase,
    pub uid: Option<String>,
    pub node: Option<String>,
    pub assigned_node: Option<String>,
    pub version: Option<String>,
    pub revoked: Option<String>,
    pub fence: u64,
    pub done: u64,
}

impl Default for OwnerFacts {
    fn default() -> Self {
        OwnerFacts {
            known: true,
            exists: true,
            read: false,
            deleting: false,
            finished: false,
            started: false,
            devices_left: false,
            bind_phase: BindPhase::None,
            uid: None,
            node: None,
            assigned_node: None,
            version: None,
            revoked: None,
            fence: 0,
            done: 0,
        }
    }
}

/// Facts in C's form, with the texts that they borrow.
pub(crate) struct Facts {
    texts: [Option<CString>; 5],
    native: sys::hami_owner_facts,
}

impl Facts {
    pub(crate) fn new(facts: &OwnerFacts) -> Result<Self> {
        let texts = [
            optional(facts.uid.as_deref())?,
            optional(facts.node.as_deref())?,
            optional(facts.assigned_node.as_deref())?,
            optional(facts.version.as_deref())?,
            optional(facts.revoked.as_deref())?,
        ];
        let native = sys::hami_owner_facts {
            size: std::mem::size_of::<sys::hami_owner_facts>(),
            source: i32::from(facts.read),
            known: facts.known,
            exists: facts.exists,
            deleting: facts.deleting,
            finished: facts.finished,
            started: facts.started,
            devices_left: facts.devices_left,
            bind_phase: facts.bind_phase as i32,
            uid: pointer(&texts[0]),
            node: pointer(&texts[1]),
            assigned_node: pointer(&texts[2]),
            version: pointer(&texts[3]),
            revoked: pointer(&texts[4]),
            fence: facts.fence,
            done: facts.done,
        };
        Ok(Facts { texts, native })
    }

    pub(crate) fn as_ptr(&self) -> *const sys::hami_owner_facts {
        debug_assert_eq!(self.native.uid, pointer(&self.texts[0]));
        &self.native
    }
}
