// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! A queue for GPU pods that arrive at once: one owner a node between bind and Allocate, in the order of
//! arrival. A safe layer over libhaminodelock.
//!
//! Blocking:
//!
//! ```
//! use std::time::Duration;
//! use haminodelock::{MemoryStore, NodeLock, Pod, Request};
//!
//! let store = MemoryStore::new()?;
//! let lock = NodeLock::new(&store.transport())?;
//! let want = Request::new("node-1", Pod::new("default", "my-pod", "uid-1"))
//!     .timeout(Duration::from_secs(5));
//! let lease = lock.acquire(&want)?;
//! println!("node-1 is ours, fence {}", lease.fence());
//! lease.release(Duration::from_secs(5))?;
//! # Ok::<(), haminodelock::Error>(())
//! ```
//!
//! On any executor, [`NodeLock::acquire_async`] is a future; dropping it leaves the queue:
//!
//! ```
//! # use std::time::Duration;
//! # use haminodelock::{MemoryStore, NodeLock, Pod, Request, Result};
//! async fn bind(lock: &NodeLock, pod: Pod) -> Result<()> {
//!     let lease = lock.acquire_async(&Request::new("node-1", pod)).await?;
//!     // bind the pod here: an error before hand_off drops the lease, which releases it
//!     lease.hand_off()
//! }
//! ```
//!
//! A manager runs one thread of the library's, which wakes the futures; with [`Builder::wakeup`] it runs
//! none, and your loop calls [`NodeLock::dispatch`]. In Kubernetes: [`kubernetes`]. Over a store of your
//! own: [`Transport`].
#![warn(missing_debug_implementations)]

mod acquire;
mod call;
mod cancel;
mod error;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
mod lease;
mod look;
mod manager;
mod memory;
mod pod;
mod texts;
mod transport;

pub use acquire::{Acquire, Request};
pub use call::{Call, OwnerCall};
pub use cancel::Cancel;
pub use error::{Code, Error, Outlook, Result};
pub use lease::{Facts, Lease, Release};
pub use look::{HandOver, HandOverView, NodeView, SlotState, SlotView, Stats, WaiterView};
pub use manager::{Builder, Level, Loss, NodeLock};
pub use memory::MemoryStore;
pub use pod::{BindPhase, OwnerFacts, Pod};
pub use transport::{Action, Answer, Edit, Owners, Transport, TransportHandle};

/// The lock's annotation, HAMi's.
pub const KEY: &str = "hami.io/mutex.lock";

/// The version of the library that is loaded.
pub fn version() -> String {
    unsafe { texts::read(haminodelock_sys::hami_version()) }.unwrap_or_default()
}
