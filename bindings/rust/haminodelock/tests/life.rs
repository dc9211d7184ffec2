// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! What is Rust's own: futures and managers that are dropped anywhere, calls that are dropped, logs.

use std::future::Future;
use std::pin::{pin, Pin};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use haminodelock::{
    Acquire, Action, Call, Code, Edit, Error, Lease, Level, MemoryStore, NodeLock, Pod, Request,
    Transport, TransportHandle, KEY,
};

const PATIENCE: Duration = Duration::from_secs(20);

fn pod(name: &str) -> Pod {
    Pod::new("default", name, name)
}

fn want(node: &str, name: &str) -> Request {
    Request::new(node, pod(name)).timeout(PATIENCE)
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        if let Poll::Ready(end) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return end;
        }
        std::thread::park_timeout(PATIENCE);
    }
}

/// A task of an executor that drops it, and with it the manager, when it is woken.
struct DropsItself {
    task: Mutex<Option<(Pin<Box<Acquire>>, NodeLock)>>,
    woken: Mutex<mpsc::Sender<()>>,
}

impl Wake for DropsItself {
    fn wake(self: Arc<Self>) {
        drop(self.task.lock().unwrap().take());
        self.woken.lock().unwrap().send(()).unwrap();
    }
}

#[test]
fn a_waker_may_drop_the_last_user_of_a_manager() {
    let store = MemoryStore::new().unwrap();
    let lock = NodeLock::new(&store.transport()).unwrap();
    let (sender, woken) = mpsc::channel();
    let future = Box::pin(lock.acquire_async(&want("node-1", "a")));
    let task =
        Arc::new(DropsItself { task: Mutex::new(Some((future, lock))), woken: Mutex::new(sender) });
    let waker = Waker::from(task.clone());
    // Out of the mutex while it is polled: the waker takes it.
    let (mut future, lock) = task.task.lock().unwrap().take().unwrap();
    let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
    if polled.is_pending() {
        *task.task.lock().unwrap() = Some((future, lock));
    }
    woken.recv_timeout(PATIENCE).unwrap();
    drop(task.task.lock().unwrap().take());
    // Freed behind our back, after the lock was given back: the node is free for others.
    let other = NodeLock::new(&store.transport()).unwrap();
    let lease = other.acquire(&want("node-1", "b")).unwrap();
    lease.release(PATIENCE).unwrap();
}

struct Forgetful;

impl Transport for Forgetful {
    fn name(&self) -> &str {
        "forgetful"
    }

    fn submit(&self, call: Call) {
        assert!(call.remaining() > Duration::ZERO);
        drop(call);
    }
}

#[test]
fn a_call_that_is_dropped_ends_in_doubt() {
    let transport = TransportHandle::new(Forgetful).unwrap();
    let edit = Edit { action: Action::Read, key: KEY.into(), expect: None, value: None };
    let error = transport.call("node-1", &[edit], None, PATIENCE).unwrap_err();
    assert_eq!(error.code(), Code::InDoubt);
    assert!(error.text().contains("dropped"), "{error}");
}

struct Unreachable;

impl Transport for Unreachable {
    fn name(&self) -> &str {
        "unreachable"
    }

    fn submit(&self, call: Call) {
        call.fail(&Error::new(Code::Transport, "no route"));
    }
}

#[test]
fn a_transport_says_why_it_failed() {
    let transport = TransportHandle::new(Unreachable).unwrap();
    let lock = NodeLock::new(&transport).unwrap();
    let error = lock.try_acquire(&want("node-1", "a")).unwrap_err();
    assert_eq!(error.code(), Code::Transport);
    assert!(error.text().contains("no route"), "{error}");
}

#[test]
fn a_lease_may_move_to_another_thread_and_outlive_its_manager_s_handle() {
    let store = MemoryStore::new().unwrap();
    let lock = NodeLock::new(&store.transport()).unwrap();
    let lease: Lease = lock.acquire(&want("node-1", "a")).unwrap();
    drop(lock);
    std::thread::spawn(move || lease.release(PATIENCE)).join().unwrap().unwrap();
    assert_eq!(store.get("node-1", KEY).unwrap(), None);
}

#[test]
fn settings_reach_the_library_and_bad_ones_are_refused_with_a_reason() {
    let store = MemoryStore::new().unwrap();
    let lock = NodeLock::builder(&store.transport())
        .holder("me")
        .key("example.com/my.lock")
        .hold_limit(Duration::from_millis(1500))
        .build()
        .unwrap();
    assert!(lock.holder().starts_with("me_"));
    let lease = lock.acquire(&want("node-1", "a")).unwrap();
    assert_eq!(lease.facts().key, "example.com/my.lock");
    let text = store.get("node-1", "example.com/my.lease").unwrap().unwrap();
    assert!(text.contains("\"hold_ms\":1500"), "{text}");
    drop(lease);
    let error = NodeLock::builder(&store.transport()).permits(1000).build().unwrap_err();
    assert_eq!(error.code(), Code::Invalid);
    assert!(!error.text().is_empty());
}

#[test]
fn the_log_is_told_in_lines() {
    let (sender, lines) = mpsc::channel();
    let sender = Mutex::new(sender);
    let store = MemoryStore::new().unwrap();
    let lock = NodeLock::builder(&store.transport())
        .log(move |level, line| sender.lock().unwrap().send((level, line.to_string())).unwrap())
        .build()
        .unwrap();
    let lease = lock.acquire(&want("node-1", "a")).unwrap();
    store.put("node-1", KEY, None).unwrap();
    assert_eq!(lease.release(PATIENCE).unwrap_err().code(), Code::Lost);
    let (level, line) = lines.recv_timeout(PATIENCE).unwrap();
    assert!(level <= Level::Debug && line.contains("node-1"), "{line}");
}

#[test]
fn a_hundred_futures_share_a_node_in_order() {
    let store = MemoryStore::new().unwrap();
    let lock = NodeLock::new(&store.transport()).unwrap();
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut futures: Vec<_> = (0..100)
        .map(|number| Box::pin(lock.acquire_async(&want("node-1", &format!("pod-{number}")))))
        .collect();
    for future in &mut futures {
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let mut fence = 0;
    for (number, future) in futures.into_iter().enumerate() {
        let lease = block_on(future).unwrap();
        assert_eq!(lease.pod().name, format!("pod-{number}"));
        assert!(lease.fence() > fence);
        fence = lease.fence();
        block_on(lease.release_async(PATIENCE)).unwrap();
    }
}

/// A store whose value no C text can hold.
struct HasNul;

impl Transport for HasNul {
    fn name(&self) -> &str {
        "has a NUL"
    }

    fn submit(&self, call: Call) {
        let values = vec![Some("a\0b".to_string()); call.edits().len()];
        call.done(values);
    }
}

#[test]
fn a_value_that_c_can_not_hold_is_not_taken_for_an_absent_one() {
    let edit = Edit { action: Action::Read, key: KEY.to_string(), expect: None, value: None };
    let end = TransportHandle::new(HasNul).unwrap().call("n1", &[edit], None, PATIENCE);
    assert_eq!(end.unwrap_err().code(), Code::Protocol);
}
