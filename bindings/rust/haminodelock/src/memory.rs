// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! The store in memory: for tests, and for programs without Kubernetes.

use std::ffi::c_char;
use std::fmt;
use std::sync::Arc;

use haminodelock_sys as sys;

use crate::error::{check, Code, Error, Result};
use crate::pod::{Facts, Owner, OwnerFacts, Pod};
use crate::texts::{optional, pointer, text};
use crate::transport::TransportHandle;

struct Raw(*mut sys::hami_memory);

// Every function of a store is MT-Safe, and the last user frees it.
unsafe impl Send for Raw {}
unsafe impl Sync for Raw {}

impl Drop for Raw {
    fn drop(&mut self) {
        unsafe { sys::hami_memory_free(self.0) };
    }
}

/// A store. Several managers may share it; clones are the same one.
#[derive(Clone)]
pub struct MemoryStore {
    raw: Arc<Raw>,
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("MemoryStore")
    }
}

impl MemoryStore {
    /// An empty store that judges each owner by the age of its lock.
    pub fn new() -> Result<Self> {
        Self::with_flags(0)
    }

    /// A store that also knows pods, which [`put_owner`](Self::put_owner) describes.
    pub fn with_owners() -> Result<Self> {
        Self::with_flags(sys::HAMI_MEMORY_OWNERS)
    }

    fn with_flags(flags: u32) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        check(unsafe { sys::hami_memory_new(flags, &mut raw) })?;
        Ok(MemoryStore { raw: Arc::new(Raw(raw)) })
    }

    /// For [`NodeLock`](crate::NodeLock).
    pub fn transport(&self) -> TransportHandle {
        unsafe {
            TransportHandle::from_raw(sys::hami_memory_transport(self.raw.0), self.raw.clone())
        }
    }

    /// Writes a value as another writer would, without looking; None removes it.
    pub fn put(&self, node: &str, key: &str, value: Option<&str>) -> Result<()> {
        let (node, key, value) = (text(node)?, text(key)?, optional(value)?);
        check(unsafe {
            sys::hami_memory_put(self.raw.0, node.as_ptr(), key.as_ptr(), pointer(&value))
        })
    }

    /// A value; None if there is no such node or value.
    pub fn get(&self, node: &str, key: &str) -> Result<Option<String>> {
        let (node, key) = (text(node)?, text(key)?);
        let mut buffer = vec![0u8; 262144];
        let code = unsafe {
            let start = buffer.as_mut_ptr().cast::<c_char>();
            sys::hami_memory_get(self.raw.0, node.as_ptr(), key.as_ptr(), start, buffer.len())
        };
        match Code::from_c(code) {
            _ if code == 0 => {
                let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(0);
                Ok(Some(String::from_utf8_lossy(&buffer[..end]).into_owned()))
            }
            Code::NoNode | Code::Lost => Ok(None),
            _ => Err(Error::from_c(code)),
        }
    }

    /// Removes a node with all its values.
    pub fn delete(&self, node: &str) -> Result<()> {
        let node = text(node)?;
        check(unsafe { sys::hami_memory_delete(self.raw.0, node.as_ptr()) })
    }

    /// Says what is so of a pod; `facts.uid` is its uid, by default the pod's.
    pub fn put_owner(&self, pod: &Pod, facts: OwnerFacts) -> Result<()> {
        let uid = facts.uid.clone().or_else(|| Some(pod.uid.clone()));
        let (owner, facts) = (Owner::new(pod)?, Facts::new(&OwnerFacts { uid, ..facts })?);
        check(unsafe { sys::hami_memory_put_owner(self.raw.0, &owner.as_c(), facts.as_ptr()) })
    }

    /// Binds a pod as an API server does; [`Code::Lost`] if that is refused.
    pub fn bind_owner(&self, pod: &Pod, node: &str, version: Option<&str>) -> Result<()> {
        let (owner, node, version) = (Owner::new(pod)?, text(node)?, optional(version)?);
        check(unsafe {
            sys::hami_memory_bind_owner(self.raw.0, &owner.as_c(), node.as_ptr(), pointer(&version))
        })
    }
}
