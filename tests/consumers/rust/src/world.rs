// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! The two backends, what other writers do there, and a small executor.

use std::cell::Cell;
use std::future::Future;
use std::pin::{pin, Pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use haminodelock::kubernetes::{Client, Method, NodeTransport};
use haminodelock::{
    Acquire, Action, Code, Edit, Lease, MemoryStore, NodeLock, OwnerFacts, Pod, Request, Result,
    TransportHandle, KEY,
};

/// For what has to happen; nothing waits that long unless it fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct World {
    pub transport: TransportHandle,
    store: Option<MemoryStore>,
    pub client: Option<Client>,
    pods: Vec<Pod>,
    pods_used: Cell<usize>,
    nodes_used: Cell<usize>,
}

impl World {
    pub fn new(backend: &str) -> Self {
        let file = std::env::var("HAMI_CONSUMER_PODS").expect("HAMI_CONSUMER_PODS is not set");
        let text = std::fs::read_to_string(file).expect("the pods can't be read");
        let pods: Vec<Pod> = text
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(name, uid)| Pod::new("default", name, uid))
            .collect();
        let (store, client, transport) = if backend == "kubesim" {
            let client = Client::from_environment().unwrap();
            let transport = client.node_transport(&NodeTransport::default()).unwrap();
            (None, Some(client), transport)
        } else {
            let store = MemoryStore::with_owners().unwrap();
            for pod in &pods {
                store.put_owner(pod, OwnerFacts::default()).unwrap();
            }
            let transport = store.transport();
            (Some(store), None, transport)
        };
        World { transport, store, client, pods, pods_used: Cell::new(0), nodes_used: Cell::new(0) }
    }

    pub fn node(&self) -> String {
        format!("node-{}", self.nodes_used.replace(self.nodes_used.get() + 1))
    }

    pub fn pod(&self) -> Pod {
        self.pods[self.pods_used.replace(self.pods_used.get() + 1)].clone()
    }

    pub fn lock(&self) -> NodeLock {
        NodeLock::new(&self.transport).unwrap()
    }

    /// The lock as the store has it.
    pub fn value(&self, node: &str) -> Option<String> {
        let edit = Edit { action: Action::Read, key: KEY.into(), expect: None, value: None };
        match self.transport.call(node, &[edit], None, PATIENCE) {
            Ok(answer) => answer.values.unwrap()[0].clone(),
            Err(error) => {
                assert_eq!(error.code(), Code::NoNode, "{error}");
                None
            }
        }
    }

    /// Removes the lock as the node side does.
    pub fn remove(&self, node: &str) {
        let expect = self.value(node);
        assert!(expect.is_some());
        let edit = Edit { action: Action::Put, key: KEY.into(), expect, value: None };
        self.transport.call(node, &[edit], None, PATIENCE).unwrap();
    }

    /// Binds a pod as another scheduler does, without a lock.
    pub fn bind_elsewhere(&self, pod: &Pod, node: &str) {
        let path = format!("/api/v1/namespaces/{}/pods/{}/binding", pod.namespace, pod.name);
        let body = format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{{\"name\":\"{}\"}},\
             \"target\":{{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"{node}\"}}}}",
            pod.name
        );
        let client = self.client.as_ref().unwrap();
        let answer = client.request(Method::Post, &path, Some(&body), PATIENCE).unwrap();
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
    }

    /// Binds the lease's pod, and hands the lease off.
    pub fn bind(&self, lease: Lease, as_future: bool) {
        match (&self.client, &self.store) {
            (Some(client), _) if as_future => {
                block_on(client.bind_async(lease, PATIENCE)).unwrap();
            }
            (Some(client), _) => client.bind(lease, PATIENCE).unwrap(),
            (_, Some(store)) => {
                let version = lease.facts().owner_version.clone();
                store.bind_owner(lease.pod(), lease.node(), version.as_deref()).unwrap();
                lease.hand_off().unwrap();
            }
            _ => unreachable!(),
        }
    }
}

pub fn want(node: &str, pod: Pod) -> Request {
    Request::new(node, pod).timeout(PATIENCE)
}

pub fn take(lock: &NodeLock, node: &str, pod: Pod) -> Lease {
    lock.acquire(&want(node, pod)).unwrap()
}

pub fn give(lease: Lease) {
    lease.release(PATIENCE).unwrap();
}

pub fn failed<T>(result: Result<T>) -> haminodelock::Error {
    result.err().expect("it did not fail")
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread; panics if it takes longer than anything should.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let until = Instant::now() + PATIENCE + PATIENCE;
    loop {
        if let Poll::Ready(end) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return end;
        }
        let left = until.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "a future does not end");
        std::thread::park_timeout(left);
    }
}

/// A wait that is in the queue.
pub struct Queued(Pin<Box<Acquire>>);

impl Queued {
    pub fn new(lock: &NodeLock, request: &Request) -> Self {
        let mut queued = Queued(Box::pin(lock.acquire_async(request)));
        assert!(queued.is_waiting());
        queued
    }

    /// Polls it once.
    pub fn is_waiting(&mut self) -> bool {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        self.0.as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
    }

    pub fn end(self) -> Result<Lease> {
        block_on(self.0)
    }
}
