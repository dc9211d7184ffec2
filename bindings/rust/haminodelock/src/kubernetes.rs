// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! Kubernetes: the client of an API server, the transports that keep locks there, and the Binding.
//!
//! ```no_run
//! use std::time::Duration;
//! use haminodelock::kubernetes::{Client, NodeTransport};
//! use haminodelock::{NodeLock, Pod, Request};
//!
//! let client = Client::from_environment()?;
//! let lock = NodeLock::new(&client.node_transport(&NodeTransport::default())?)?;
//! let pod = Pod::new("default", "my-pod", "its-uid");
//! let lease = lock.acquire(&Request::new("node-1", pod).timeout(Duration::from_secs(30)))?;
//! client.bind(lease, Duration::from_secs(30))?; // hands off, or gives the lease back to be dropped
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ffi::{c_char, c_int, CString};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use haminodelock_sys as sys;

use crate::error::{check, detail, Code, Error, Result};
use crate::lease::Lease;
use crate::manager::{in_callback, outside_callback};
use crate::texts::{optional, pointer, read, text, List};
use crate::transport::TransportHandle;

/// How to reach an API server: `server`, else the kubeconfig files, else in-cluster.
#[derive(Clone, Default)]
pub struct Login {
    pub server: Option<String>,
    pub ca_file: Option<String>,
    pub token: Option<String>,
    pub token_file: Option<String>,
    pub certificate_file: Option<String>,
    pub key_file: Option<String>,
    /// Paths, separated by ':'.
    pub kubeconfig: Option<String>,
    pub context: Option<String>,
    pub user_agent: Option<String>,
    /// Verify no server certificate.
    pub insecure: bool,
}

impl fmt::Debug for Login {
    /// Without the token.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Login")
            .field("server", &self.server)
            .field("kubeconfig", &self.kubeconfig)
            .finish_non_exhaustive()
    }
}

/// The node-annotation transport: locks where HAMi has them.
#[derive(Clone, Debug, Default)]
pub struct NodeTransport {
    /// Watch unbound pods of these, so that owners are known without a read.
    pub scheduler_names: Vec<String>,
    /// For tools that look once.
    pub without_watch: bool,
}

/// The Lease transport: locks in Lease objects of a namespace that is used for nothing else.
#[derive(Clone, Debug, Default)]
pub struct LeaseTransport {
    pub namespace: String,
    pub scheduler_names: Vec<String>,
    pub without_watch: bool,
    /// The lock stands on the Node as well, for device plugins that read it there.
    pub mirror: bool,
    /// Lock keys that are mirrored; the default one if empty.
    pub mirror_keys: Vec<String>,
}

/// Of an API server; any status is an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: i32,
    pub body: Vec<u8>,
}

/// What to send to an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

struct Raw(*mut sys::hami_kubernetes);

unsafe impl Send for Raw {}
unsafe impl Sync for Raw {}

impl Drop for Raw {
    fn drop(&mut self) {
        let client = Movable(self.0);
        // Its own thread, where callbacks run, can't wait for itself.
        outside_callback(move || client.free());
    }
}

/// A client on its way to the thread that frees it.
struct Movable(*mut sys::hami_kubernetes);

unsafe impl Send for Movable {}

impl Movable {
    fn free(self) {
        unsafe { sys::hami_kubernetes_free(self.0) };
    }
}

/// Frees a transport before its client.
struct RawTransport {
    raw: *mut sys::hami_transport,
    _client: Arc<Raw>,
}

unsafe impl Send for RawTransport {}
unsafe impl Sync for RawTransport {}

impl Drop for RawTransport {
    fn drop(&mut self) {
        unsafe { sys::hami_kubernetes_transport_free(self.raw) };
    }
}

/// A client with one connection and one thread of its own. Clones are the same one; it lives as long as
/// what was made from it.
#[derive(Clone)]
pub struct Client {
    raw: Arc<Raw>,
}

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("server", &self.server()).finish()
    }
}

fn empty_config() -> sys::hami_kubernetes_config {
    sys::hami_kubernetes_config {
        size: std::mem::size_of::<sys::hami_kubernetes_config>(),
        flags: 0,
        server: ptr::null(),
        ca_file: ptr::null(),
        token: ptr::null(),
        token_file: ptr::null(),
        certificate_file: ptr::null(),
        key_file: ptr::null(),
        kubeconfig: ptr::null(),
        context: ptr::null(),
        home_directory: ptr::null(),
        service_host: ptr::null(),
        service_port: ptr::null(),
        service_account_directory: ptr::null(),
        user_agent: ptr::null(),
        in_flight_max: 0,
        request_timeout_ms: 0,
        answer_bytes_max: 0,
        log: None,
        log_data: ptr::null_mut(),
        denied: None,
        denied_data: ptr::null_mut(),
        exec_timeout_ms: 0,
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn until(timeout: Duration) -> u64 {
    unsafe { sys::hami_kubernetes_in_ms(milliseconds(timeout)) }
}

impl Client {
    /// Logs in as kubectl does: KUBECONFIG, HOME, in-cluster. No thread may change the environment
    /// meanwhile.
    pub fn from_environment() -> Result<Self> {
        let mut config = empty_config();
        check(unsafe { sys::hami_kubernetes_config_from_environment(&mut config) })?;
        Self::with(&config)
    }

    pub fn new(login: &Login) -> Result<Self> {
        let texts = [
            &login.server,
            &login.ca_file,
            &login.token,
            &login.token_file,
            &login.certificate_file,
            &login.key_file,
            &login.kubeconfig,
            &login.context,
            &login.user_agent,
        ]
        .into_iter()
        .map(|one| optional(one.as_deref()))
        .collect::<Result<Vec<_>>>()?;
        let mut config = empty_config();
        config.flags = if login.insecure { sys::HAMI_KUBERNETES_INSECURE } else { 0 };
        config.server = pointer(&texts[0]);
        config.ca_file = pointer(&texts[1]);
        config.token = pointer(&texts[2]);
        config.token_file = pointer(&texts[3]);
        config.certificate_file = pointer(&texts[4]);
        config.key_file = pointer(&texts[5]);
        config.kubeconfig = pointer(&texts[6]);
        config.context = pointer(&texts[7]);
        config.user_agent = pointer(&texts[8]);
        Self::with(&config)
    }

    fn with(config: &sys::hami_kubernetes_config) -> Result<Self> {
        let (mut raw, mut error) = (ptr::null_mut(), detail());
        match unsafe { sys::hami_kubernetes_new(config, &mut raw, &mut error) } {
            0 => Ok(Client { raw: Arc::new(Raw(raw)) }),
            code => Err(unsafe { Error::from_detail(code, &error) }),
        }
    }

    pub fn server(&self) -> String {
        unsafe { read(sys::hami_kubernetes_server(self.raw.0)) }.unwrap_or_default()
    }

    /// Locks in annotations of Node objects.
    pub fn node_transport(&self, options: &NodeTransport) -> Result<TransportHandle> {
        let names = List::new(&options.scheduler_names)?;
        let config = sys::hami_kubernetes_transport_config {
            size: std::mem::size_of::<sys::hami_kubernetes_transport_config>(),
            flags: if options.without_watch { sys::HAMI_KUBERNETES_NO_WATCH } else { 0 },
            scheduler_names: names.as_ptr(),
            scheduler_name_count: names.len(),
        };
        self.transport(|ret, error| unsafe {
            sys::hami_kubernetes_transport_new(self.raw.0, &config, ret, error)
        })
    }

    /// Locks in Lease objects.
    pub fn lease_transport(&self, options: &LeaseTransport) -> Result<TransportHandle> {
        let namespace = text(&options.namespace)?;
        let names = List::new(&options.scheduler_names)?;
        let keys = List::new(&options.mirror_keys)?;
        let mirror = if options.mirror { sys::HAMI_KUBERNETES_LEASE_MIRROR } else { 0 };
        let watch = if options.without_watch { sys::HAMI_KUBERNETES_NO_WATCH } else { 0 };
        let config = sys::hami_kubernetes_lease_transport_config {
            size: std::mem::size_of::<sys::hami_kubernetes_lease_transport_config>(),
            flags: mirror | watch,
            namespace_name: namespace.as_ptr(),
            scheduler_names: names.as_ptr(),
            scheduler_name_count: names.len(),
            mirror_keys: keys.as_ptr(),
            mirror_key_count: keys.len(),
        };
        self.transport(|ret, error| unsafe {
            sys::hami_kubernetes_lease_transport_new(self.raw.0, &config, ret, error)
        })
    }

    fn transport(
        &self,
        make: impl FnOnce(*mut *mut sys::hami_transport, *mut sys::hami_error) -> c_int,
    ) -> Result<TransportHandle> {
        let (mut raw, mut error) = (ptr::null_mut(), detail());
        match make(&mut raw, &mut error) {
            0 => {
                let keep = Arc::new(RawTransport { raw, _client: self.raw.clone() });
                Ok(unsafe { TransportHandle::from_raw(raw, keep) })
            }
            code => Err(unsafe { Error::from_detail(code, &error) }),
        }
    }

    /// Binds the lease's pod to its node, blocking, and hands the lease off where the pod is bound or may
    /// be ([`Code::InDoubt`]). Else the error has the lease; dropping it releases.
    pub fn bind(&self, lease: Lease, timeout: Duration) -> std::result::Result<(), BindError> {
        let mut error = detail();
        let code = unsafe {
            sys::hami_kubernetes_bind(self.raw.0, lease.raw(), until(timeout), &mut error)
        };
        let end = match code {
            0 => Ok(()),
            code => Err(unsafe { Error::from_detail(code, &error) }),
        };
        settle(lease, end)
    }

    /// The same as a future. It begins when it is first polled. Dropped after that, the Binding goes on
    /// behind, and the lease is handed off or released as it ends.
    pub fn bind_async(&self, lease: Lease, timeout: Duration) -> Bind {
        Bind { client: self.clone(), lease: Some(lease), timeout, shared: None }
    }

    /// Sends any request and waits; an error only if no answer came. A body is JSON.
    pub fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&str>,
        timeout: Duration,
    ) -> Result<Answer> {
        let kind = match method {
            Method::Patch => "application/json-patch+json",
            _ => "application/json",
        };
        let (path, kind): (CString, CString) = (text(path)?, text(kind)?);
        let request = sys::hami_kubernetes_request {
            size: std::mem::size_of::<sys::hami_kubernetes_request>(),
            method: method as c_int,
            path: path.as_ptr(),
            accept: ptr::null(),
            content_type: kind.as_ptr(),
            body: body.map_or(ptr::null(), |one| one.as_ptr().cast::<c_char>()),
            body_length: body.map_or(0, str::len),
            deadline_ns: until(timeout),
        };
        let (mut answer, mut error) = (ptr::null_mut(), detail());
        unsafe {
            let code = sys::hami_kubernetes_request(self.raw.0, &request, &mut answer, &mut error);
            if code != 0 {
                return Err(Error::from_detail(code, &error));
            }
            let found = &*answer;
            let bytes = std::slice::from_raw_parts(found.body.cast::<u8>(), found.body_length);
            let copy = Answer { status: found.status, body: bytes.to_vec() };
            sys::hami_kubernetes_answer_free(answer);
            Ok(copy)
        }
    }
}

/// A pod that was not bound, or nobody knows.
pub struct BindError {
    /// Why. After [`Code::InDoubt`] the lease is handed off already: the pod may be bound.
    pub error: Error,
    /// Still held; dropping it releases.
    pub lease: Option<Lease>,
}

impl fmt::Debug for BindError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("BindError").field("error", &self.error).finish_non_exhaustive()
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(out)
    }
}

impl std::error::Error for BindError {}

impl From<BindError> for Error {
    /// Drops the lease.
    fn from(failed: BindError) -> Self {
        failed.error
    }
}

/// Hands off what is bound or may be.
fn settle(lease: Lease, end: Result<()>) -> std::result::Result<(), BindError> {
    match end {
        Ok(()) => lease.hand_off().map_err(|error| BindError { error, lease: None }),
        Err(error) if error.code() == Code::InDoubt => {
            let _ = lease.hand_off();
            Err(BindError { error, lease: None })
        }
        Err(error) => Err(BindError { error, lease: Some(lease) }),
    }
}

/// What the future and the callback share; the lease lives until the Binding has ended.
struct State {
    lease: Option<Lease>,
    end: Option<Result<()>>,
    is_dropped: bool,
    waker: Option<Waker>,
}

unsafe extern "C" fn bound(data: sys::Data, code: c_int, error: *const sys::hami_error) {
    let shared = Arc::from_raw(data.cast::<Mutex<State>>().cast_const());
    let end = if code == 0 { Ok(()) } else { Err(Error::from_detail(code, error)) };
    in_callback(|| {
        let (waker, late) = {
            let mut state = shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let late = if state.is_dropped { state.lease.take() } else { None };
            state.end = Some(end.clone());
            (state.waker.take(), late)
        };
        if let Some(lease) = late {
            let _ = settle(lease, end);
        }
        if let Some(waker) = waker {
            waker.wake();
        }
        drop(shared);
    });
}

/// A pod that is being bound; see [`Client::bind_async`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Bind {
    client: Client,
    lease: Option<Lease>,
    timeout: Duration,
    shared: Option<Arc<Mutex<State>>>,
}

impl fmt::Debug for Bind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Bind").field("lease", &self.lease).finish_non_exhaustive()
    }
}

impl Bind {
    fn begin(&mut self, lease: Lease, waker: Waker) -> std::result::Result<(), BindError> {
        let raw = lease.raw();
        let state = State { lease: Some(lease), end: None, is_dropped: false, waker: Some(waker) };
        let shared = Arc::new(Mutex::new(state));
        let data: sys::Data = Arc::into_raw(shared.clone()).cast_mut().cast();
        let code = unsafe {
            sys::hami_kubernetes_bind_start(
                self.client.raw.0,
                raw,
                until(self.timeout),
                bound,
                data,
            )
        };
        if code != 0 {
            drop(unsafe { Arc::from_raw(data.cast::<Mutex<State>>().cast_const()) });
            let lease = shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).lease.take();
            return Err(BindError { error: Error::from_c(code), lease });
        }
        self.shared = Some(shared);
        Ok(())
    }
}

impl Future for Bind {
    type Output = std::result::Result<(), BindError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(lease) = self.lease.take() {
            if let Err(failed) = self.begin(lease, context.waker().clone()) {
                return Poll::Ready(Err(failed));
            }
        }
        let shared = self.shared.as_ref().expect("a bind was polled after its end");
        let mut state = shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match (state.end.take(), state.lease.take()) {
            (Some(end), Some(lease)) => {
                drop(state);
                Poll::Ready(settle(lease, end))
            }
            (_, lease) => {
                state.lease = lease;
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Bind {
    fn drop(&mut self) {
        let Some(shared) = &self.shared else { return };
        let mut state = shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.is_dropped = true;
        let waker = state.waker.take();
        let ended = match state.end.take() {
            Some(end) => state.lease.take().map(|lease| (end, lease)),
            None => None, // the callback looks after the lease
        };
        drop(state);
        drop(waker);
        if let Some((end, lease)) = ended {
            let _ = settle(lease, end);
        }
    }
}
