// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! Threads, the end of a manager, forks, and calls that make no sense.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::ThreadId;
use std::time::Instant;

use haminodelock::{Code, NodeLock, Pod, Request};

use crate::world::{block_on, failed, give, take, want, Queued, World, PATIENCE};

/// Notes on which thread it was woken, and whether that one dispatched then.
#[derive(Default)]
struct Noted {
    dispatching: AtomicBool,
    wakes: Mutex<Vec<(ThreadId, bool)>>,
}

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        let inside = self.dispatching.load(Ordering::SeqCst);
        self.wakes.lock().unwrap().push((std::thread::current().id(), inside));
    }
}

/// Dispatches on this thread until the future has ended.
fn turn<F: Future + Unpin>(
    lock: &NodeLock,
    due: &mpsc::Receiver<()>,
    noted: &Arc<Noted>,
    mut future: F,
) -> F::Output {
    let waker = Waker::from(noted.clone());
    let until = Instant::now() + PATIENCE;
    loop {
        let polled = std::pin::Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        if let Poll::Ready(end) = polled {
            return end;
        }
        assert!(Instant::now() < until, "a future does not end");
        let pause = lock.until_dispatch().unwrap_or(PATIENCE).min(PATIENCE);
        let _ = due.recv_timeout(pause);
        noted.dispatching.store(true, Ordering::SeqCst);
        lock.dispatch().unwrap();
        noted.dispatching.store(false, Ordering::SeqCst);
    }
}

pub fn callback_thread(world: &World) {
    let node = world.node();
    let (sender, due) = mpsc::channel();
    let lock = NodeLock::builder(&world.transport)
        .wakeup(move || {
            let _ = sender.send(()); // after the test nobody listens
        })
        .build()
        .unwrap();
    let noted = Arc::new(Noted::default());
    let lease = turn(&lock, &due, &noted, lock.acquire_async(&want(&node, world.pod()))).unwrap();
    turn(&lock, &due, &noted, lease.release_async(PATIENCE)).unwrap();
    let wakes = noted.wakes.lock().unwrap();
    assert!(wakes.len() >= 2);
    assert!(wakes.iter().all(|wake| *wake == (std::thread::current().id(), true)), "{wakes:?}");
}

pub fn close(world: &World) {
    let (node, lock) = (world.node(), world.lock());
    let lease = take(&lock, &node, world.pod());
    let queue: Vec<Queued> =
        (0..2).map(|_| Queued::new(&lock, &want(&node, world.pod()))).collect();
    lock.shutdown(Some(PATIENCE)).unwrap();
    for queued in queue {
        assert_eq!(failed(queued.end()).code(), Code::Closed);
    }
    let request = want(&node, world.pod());
    assert_eq!(failed(lock.acquire(&request)).code(), Code::Closed);
    assert_eq!(failed(lock.try_acquire(&request)).code(), Code::Closed);
    assert_eq!(failed(block_on(lock.acquire_async(&request))).code(), Code::Closed);
    assert_eq!(world.value(&node).as_deref(), Some(lease.value()));
    lease.hand_off().unwrap();
}

extern "C" {
    fn fork() -> i32;
    fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
}

pub fn fork_child(world: &World) {
    let (node, lock) = (world.node(), world.lock());
    let mut lease = take(&lock, &node, world.pod());
    let child = unsafe { fork() };
    if child == 0 {
        let request = Request::new(&node, Pod::new("default", "child", "child"));
        let wrong = [
            failed(lock.acquire(&request)),
            failed(lock.try_acquire(&request)),
            failed(block_on(lock.acquire_async(&request))),
            failed(lock.stats()),
            failed(lease.check(PATIENCE)),
            failed(lease.release(PATIENCE)),
        ]
        .iter()
        .filter(|error| error.code() != Code::Forked)
        .count();
        drop(lock);
        unsafe { _exit(wrong as i32) };
    }
    let mut status = -1;
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    lease.check(PATIENCE).unwrap();
    give(lease);
}

pub fn arguments(world: &World) {
    let (node, pod, lock) = (world.node(), world.pod(), world.lock());
    let uid = |uid: &str| Pod::new("default", pod.name.clone(), uid);
    for request in [
        want("Not A Node", pod.clone()),
        want("", pod.clone()),
        want("with\0nul", pod.clone()),
        want(&node, uid("")),
        want(&node, uid("has a blank")),
        want(&node, Pod::new("Upper", pod.name.clone(), pod.uid.clone())),
        want(&node, pod.clone()).keys(["hami.io/mutex.lock"; 2]),
    ] {
        for error in
            [failed(lock.acquire(&request)), failed(block_on(lock.acquire_async(&request)))]
        {
            assert_eq!(error.code(), Code::Invalid);
            assert!(!error.text().is_empty());
        }
    }
    assert_eq!(lock.stats().unwrap().calls, 0);
    assert_eq!(world.value(&node), None);
}
