// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! A flag that ends many waits at once.

use haminodelock_sys as sys;

use crate::error::{check, Result};

/// A sticky flag that ends waits early: all that carry it, now or later. For one wait alone, drop its
/// future.
#[derive(Debug)]
pub struct Cancel {
    pub(crate) raw: *mut sys::hami_cancel,
}

// Every function of a flag is MT-Safe.
unsafe impl Send for Cancel {}
unsafe impl Sync for Cancel {}

impl Cancel {
    pub fn new() -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        check(unsafe { sys::hami_cancel_new(&mut raw) })?;
        Ok(Cancel { raw })
    }

    /// Every wait that carries the flag ends with [`Code::Canceled`](crate::Code::Canceled).
    pub fn fire(&self) {
        unsafe { sys::hami_cancel_fire(self.raw) };
    }

    pub fn is_fired(&self) -> bool {
        unsafe { sys::hami_cancel_is_fired(self.raw) }
    }
}

impl Clone for Cancel {
    /// The same flag.
    fn clone(&self) -> Self {
        Cancel { raw: unsafe { sys::hami_cancel_ref(self.raw) } }
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        unsafe { sys::hami_cancel_unref(self.raw) };
    }
}
