// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! How a call can fail.

use std::ffi::c_int;
use std::fmt;
use std::time::Duration;

use haminodelock_sys as sys;

use crate::texts::read;

/// What went wrong, as the C library numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// An argument is out of range; nothing was done.
    Invalid,
    /// There was no memory.
    NoMemory,
    /// The timeout passed; the text says behind whom.
    TimedOut,
    /// The wait's [`Cancel`](crate::Cancel) was fired.
    Canceled,
    /// A try met a holder, or waiters, of this very manager.
    Busy,
    /// A try met another owner in the store; the text names it.
    Held,
    /// The lock is not, or no longer, the owner's; or the pod can't use one.
    Lost,
    /// The store has no such node.
    NoNode,
    /// The store refused access.
    Access,
    /// The outcome was not known by the deadline; the library goes on resolving it.
    InDoubt,
    /// The store could not be reached; surely nothing was applied.
    Transport,
    /// The store answered something that makes no sense.
    Protocol,
    /// A limit is reached: the queue is full, the holder stalls, the turn would come too late, too many
    /// nodes.
    Limit,
    /// The manager is shutting down.
    Closed,
    /// Called in a forked child.
    Forked,
    /// The transport can't do this.
    NotSupported,
    /// The loaded library is older than this crate.
    Abi,
    /// A code that this crate does not know.
    Unknown(c_int),
}

const CODES: [Code; 17] = [
    Code::Invalid,
    Code::NoMemory,
    Code::TimedOut,
    Code::Canceled,
    Code::Busy,
    Code::Held,
    Code::Lost,
    Code::NoNode,
    Code::Access,
    Code::InDoubt,
    Code::Transport,
    Code::Protocol,
    Code::Limit,
    Code::Closed,
    Code::Forked,
    Code::NotSupported,
    Code::Abi,
];

impl Code {
    pub(crate) fn from_c(code: c_int) -> Self {
        usize::try_from(-(code as i64) - 1)
            .ok()
            .and_then(|index| CODES.get(index).copied())
            .unwrap_or(Code::Unknown(code))
    }

    pub(crate) fn to_c(self) -> c_int {
        match self {
            Code::Unknown(code) => code,
            known => {
                let index = CODES.iter().position(|one| *one == known).unwrap_or(0);
                -(index as c_int) - 1
            }
        }
    }
}

/// A failed call. After a failed acquire nothing is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: Code,
    status: i32,
    text: String,
    outlook: Outlook,
}

/// Where an acquire stood that ended with [`Code::Limit`] or [`Code::TimedOut`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// Waiters that stood before it.
    pub position: u32,
    /// Waiters of the node.
    pub waiting: u32,
    /// From then on until its turn, by the node's pace; None where that is not measured.
    pub expected: Option<Duration>,
}

impl Error {
    /// For transports of one's own: what a call ends with.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Error { code, status: 0, text: text.into(), outlook: Outlook::default() }
    }

    /// What went wrong.
    pub fn code(&self) -> Code {
        self.code
    }

    /// HTTP status where there was one, else 0.
    pub fn status(&self) -> i32 {
        self.status
    }

    /// One line for people: who is in the way, what is wrong with an argument. May be empty.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the acquire stood, and when its turn would have come.
    pub fn outlook(&self) -> Outlook {
        self.outlook
    }

    pub(crate) fn from_c(code: c_int) -> Self {
        Error::new(Code::from_c(code), "")
    }

    /// # Safety
    /// `detail` is NULL or points to a struct that the library filled.
    pub(crate) unsafe fn from_detail(code: c_int, detail: *const sys::hami_error) -> Self {
        let mut error = Error::from_c(code);
        if let Some(detail) = detail.as_ref() {
            error.status = detail.status;
            error.text = read(detail.text.as_ptr()).unwrap_or_default();
            error.outlook = Outlook {
                position: detail.position,
                waiting: detail.waiting,
                expected: measured(detail.expected_ns),
            };
        }
        error
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Constant texts, for any number.
        let meaning = unsafe { read(sys::hami_strerror(self.code.to_c())) }.unwrap_or_default();
        if self.text.is_empty() {
            write!(out, "{meaning}")
        } else {
            write!(out, "{meaning}: {}", self.text)
        }
    }
}

impl std::error::Error for Error {}

/// What nearly every function of the crate answers.
pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn check(code: c_int) -> Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(Error::from_c(code))
    }
}

/// An empty detail, for a function to fill.
pub(crate) fn detail() -> sys::hami_error {
    sys::hami_error {
        size: std::mem::size_of::<sys::hami_error>(),
        code: 0,
        status: 0,
        system: 0,
        text: [0; 512],
        position: 0,
        waiting: 0,
        expected_ns: 0,
    }
}

/// A time that is 0 where nothing was measured.
pub(crate) fn measured(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds != 0).then(|| Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_of_the_library_has_a_name_here_and_back() {
        for number in 1..=17 {
            let code = Code::from_c(-number);
            assert!(!matches!(code, Code::Unknown(_)), "{number}");
            assert_eq!(code.to_c(), -number);
            let name = unsafe { read(sys::hami_errname(-number)) }.unwrap();
            assert_ne!(name, "?", "{number}");
        }
        assert_eq!(Code::from_c(-18), Code::Unknown(-18));
        assert_eq!(Code::from_c(7), Code::Unknown(7));
        assert_eq!(unsafe { read(sys::hami_errname(Code::TimedOut.to_c())) }.unwrap(), "TIMEDOUT");
        assert_eq!(unsafe { read(sys::hami_errname(Code::Abi.to_c())) }.unwrap(), "ABI");
    }

    #[test]
    fn an_error_says_its_meaning_and_its_detail() {
        let error = Error::new(Code::TimedOut, "node-1 is held");
        assert_eq!(error.to_string(), "deadline passed: node-1 is held");
    }
}
