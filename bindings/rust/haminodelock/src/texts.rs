// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! Texts on their way to C and back.

use std::ffi::{c_char, CStr, CString};
use std::ptr;

use crate::error::{Code, Error, Result};

/// C's texts end at the first NUL, so none may be inside.
pub(crate) fn text(value: &str) -> Result<CString> {
    CString::new(value).map_err(|_| Error::new(Code::Invalid, "a text has a NUL in it"))
}

pub(crate) fn optional(value: Option<&str>) -> Result<Option<CString>> {
    value.map(text).transpose()
}

/// NULL for None; borrowed from the argument.
pub(crate) fn pointer(value: &Option<CString>) -> *const c_char {
    value.as_ref().map_or(ptr::null(), |one| one.as_ptr())
}

/// Copies a text of C's; None for NULL.
///
/// # Safety
/// `value` is NULL or a text that lives for this call.
pub(crate) unsafe fn read(value: *const c_char) -> Option<String> {
    if value.is_null() {
        None
    } else {
        Some(CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}

/// An array of texts for C, and what it borrows from.
pub(crate) struct List {
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl List {
    pub(crate) fn new(values: &[String]) -> Result<Self> {
        let texts = values.iter().map(|one| text(one)).collect::<Result<Vec<_>>>()?;
        let pointers = texts.iter().map(|one| one.as_ptr()).collect();
        Ok(List { _texts: texts, pointers })
    }

    /// NULL if there are none.
    pub(crate) fn as_ptr(&self) -> *const *const c_char {
        if self.pointers.is_empty() {
            ptr::null()
        } else {
            self.pointers.as_ptr()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pointers.len()
    }
}
