// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! What a holder can do with its lock, and what can happen to it.

use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{mpsc, Arc};
use std::task::{Context, Wake, Waker};
use std::time::Instant;

use haminodelock::kubernetes::Client;
use haminodelock::{Code, NodeLock, SlotState};

use crate::world::{block_on, failed, give, take, want, Queued, World, PATIENCE};

/// A drop releases, by a panic, too; it does not wait.
pub fn drop_lease(world: &World) {
    let (node, lock) = (world.node(), world.lock());
    let lease = take(&lock, &node, world.pod());
    let next = Queued::new(&lock, &want(&node, world.pod()));
    drop(lease);
    let lease = next.end().unwrap();
    let next = Queued::new(&lock, &want(&node, world.pod()));
    let unwound = catch_unwind(AssertUnwindSafe(move || {
        let _held = lease;
        std::panic::resume_unwind(Box::new("half-way"));
    }));
    assert!(unwound.is_err());
    drop(next.end().unwrap());
    drop(lock); // waits for what is under way
    assert_eq!(world.value(&node), None);
}

pub fn release(world: &World) {
    let (node, lock) = (world.node(), world.lock());
    let first = take(&lock, &node, world.pod());
    let fence = first.fence();
    assert!(fence > 0);
    assert_eq!(world.value(&node).as_deref(), Some(first.value()));
    give(first);
    assert_eq!(world.value(&node), None);
    let second = take(&lock, &node, world.pod());
    assert!(second.fence() > fence);
    block_on(second.release_async(PATIENCE)).unwrap();
    assert_eq!(world.value(&node), None);
}

pub fn hand_off(world: &World) {
    for as_future in [false, true] {
        let (node, pod, lock) = (world.node(), world.pod(), world.lock());
        let lease = take(&lock, &node, pod.clone());
        let fence = lease.fence();
        let mut next = Queued::new(&lock, &want(&node, world.pod()));
        world.bind(lease, as_future);
        let view = lock.snapshot(Some(&node)).unwrap();
        assert_eq!(view[0].slots[0].state, SlotState::HandedOff);
        assert!(world.value(&node).unwrap().contains(&pod.name));
        assert!(next.is_waiting());
        world.remove(&node);
        let after = next.end().unwrap();
        assert!(after.fence() > fence);
        give(after);
    }
    if let Some(client) = &world.client {
        refused_bind(world, client);
        dropped_bind(world, client);
    }
}

/// A pod that another one bound elsewhere: the error has the lease, and dropping it releases.
fn refused_bind(world: &World, client: &Client) {
    let lock = world.lock();
    for as_future in [false, true] {
        let (node, pod) = (world.node(), world.pod());
        let lease = take(&lock, &node, pod.clone());
        world.bind_elsewhere(&pod, &world.node());
        let failed = if as_future {
            block_on(client.bind_async(lease, PATIENCE)).unwrap_err()
        } else {
            client.bind(lease, PATIENCE).unwrap_err()
        };
        assert_eq!(failed.error.code(), Code::Lost);
        give(failed.lease.unwrap());
        assert_eq!(world.value(&node), None);
    }
}

/// The Binding goes on when its future is dropped, and the lease is handed off.
fn dropped_bind(world: &World, client: &Client) {
    let (node, pod, lock) = (world.node(), world.pod(), world.lock());
    let mut bind = Box::pin(client.bind_async(take(&lock, &node, pod.clone()), PATIENCE));
    let polled = bind.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::new(Ignored))));
    assert!(polled.is_pending());
    drop(bind);
    let until = Instant::now() + PATIENCE;
    while lock.stats().unwrap().handoffs == 0 {
        assert!(Instant::now() < until, "the lease was not handed off");
        std::thread::yield_now();
    }
    assert!(world.value(&node).unwrap().contains(&pod.name));
    world.remove(&node);
}

struct Ignored;

impl Wake for Ignored {
    fn wake(self: Arc<Self>) {}
}

pub fn try_held(world: &World) {
    let (node, holder, other) = (world.node(), world.pod(), world.pod());
    let (lock, elsewhere) = (world.lock(), world.lock());
    let lease = take(&lock, &node, holder.clone());
    let request = want(&node, other);
    for error in [
        failed(elsewhere.try_acquire(&request)),
        failed(block_on(elsewhere.try_acquire_async(&request))),
    ] {
        assert_eq!(error.code(), Code::Held);
        assert!(error.text().contains(&holder.name), "{error}");
    }
    assert_eq!(failed(lock.try_acquire(&request)).code(), Code::Busy);
    assert_eq!(failed(block_on(lock.try_acquire_async(&request))).code(), Code::Busy);
    assert_eq!(lock.stats().unwrap().waiters, 0);
    give(lease);
    give(lock.try_acquire(&request).unwrap());
}

pub fn lost(world: &World) {
    let node = world.node();
    let (sender, told) = mpsc::channel();
    let lock = NodeLock::builder(&world.transport)
        .on_lost(move |loss| sender.send(loss.clone()).unwrap())
        .build()
        .unwrap();
    let lease = take(&lock, &node, world.pod());
    world.remove(&node);
    let loss = told.recv_timeout(PATIENCE).unwrap();
    assert_eq!(&loss.lease, lease.facts());
    assert!(!loss.text.is_empty());
    assert_eq!(failed(lease.release(PATIENCE)).code(), Code::Lost);
    give(take(&lock, &node, world.pod()));
    assert!(told.try_recv().is_err());
}

pub fn re_entry(world: &World) {
    let (node, pod, lock) = (world.node(), world.pod(), world.lock());
    let first = take(&lock, &node, pod.clone());
    let mut next = Queued::new(&lock, &want(&node, world.pod()));
    let mut second = take(&lock, &node, pod);
    assert_eq!(first.fence(), second.fence());
    give(first);
    second.check(PATIENCE).unwrap();
    assert!(next.is_waiting());
    give(second);
    give(next.end().unwrap());
}

pub fn look(world: &World) {
    let (node, lock) = (world.node(), world.lock());
    let pods = [world.pod(), world.pod(), world.pod()];
    let lease = take(&lock, &node, pods[0].clone());
    let queue: Vec<Queued> =
        pods[1..].iter().map(|pod| Queued::new(&lock, &want(&node, pod.clone()))).collect();
    let stats = lock.stats().unwrap();
    assert_eq!((stats.grants, stats.leases, stats.waiters), (1, 1, 2));
    let mut views = lock.snapshot(None).unwrap();
    views.retain(|view| view.node == node);
    let alone = lock.snapshot(Some(&node)).unwrap();
    assert_eq!(views[0].slots, alone[0].slots);
    assert_eq!(views[0].waiters, alone[0].waiters);
    assert_eq!(alone[0].hand_overs[0].to.as_ref(), Some(&pods[0]));
    assert_eq!(views[0].slots[0].state, SlotState::Held);
    assert_eq!(views[0].slots[0].pod.as_ref(), Some(&pods[0]));
    let waiting: Vec<_> = views[0].waiters.iter().map(|one| (&one.pod, one.position)).collect();
    assert_eq!(waiting, [(&pods[1], 0), (&pods[2], 1)]);
    give(lease);
    for queued in queue {
        give(queued.end().unwrap());
    }
    assert_eq!(lock.stats().unwrap().releases, 3);
    assert_eq!(lock.snapshot(Some(&node)).unwrap()[0].slots[0].state, SlotState::Free);
}
