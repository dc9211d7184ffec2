// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! Deadlines, cancellation, order: how a wait ends.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use haminodelock::{Cancel, Code, NodeLock, Request};

use crate::transports::Gate;
use crate::world::{block_on, failed, give, take, want, Queued, World};

pub fn deadline_queued(world: &World) {
    let (node, holder, lock) = (world.node(), world.pod(), world.lock());
    let lease = take(&lock, &node, holder.clone());
    let late = Request::new(&node, world.pod()).timeout(Duration::from_millis(30));
    for error in [failed(lock.acquire(&late)), failed(block_on(lock.acquire_async(&late)))] {
        assert_eq!(error.code(), Code::TimedOut);
        assert!(error.text().contains(&holder.name), "{error}");
    }
    assert_eq!(lock.stats().unwrap().waiters, 0);
    give(lease);
    assert_eq!(world.value(&node), None);
    give(take(&lock, &node, world.pod()));
}

pub fn deadline_past(world: &World) {
    let (node, lock) = (world.node(), world.lock());
    let past = Request::new(&node, world.pod()).timeout(Duration::ZERO);
    assert_eq!(failed(lock.acquire(&past)).code(), Code::TimedOut);
    assert_eq!(failed(block_on(lock.acquire_async(&past))).code(), Code::TimedOut);
    drop(lock);
    assert_eq!(world.value(&node), None);
}

/// By a flag, and by dropping the future.
pub fn cancel_queued(world: &World) {
    let (node, lock, cancel) = (world.node(), world.lock(), Cancel::new().unwrap());
    let lease = take(&lock, &node, world.pod());
    let flagged = Queued::new(&lock, &want(&node, world.pod()).cancel(&cancel));
    let dropped = Queued::new(&lock, &want(&node, world.pod()));
    let behind = Queued::new(&lock, &want(&node, world.pod()));
    assert_eq!(lock.stats().unwrap().waiters, 3);
    cancel.fire();
    assert_eq!(failed(flagged.end()).code(), Code::Canceled);
    drop(dropped);
    assert_eq!(lock.stats().unwrap().waiters, 1);
    give(lease);
    give(behind.end().unwrap());
}

pub fn cancel_in_flight(world: &World) {
    let node = world.node();
    let (gate, transport) = Gate::new(&world.transport);
    let lock = NodeLock::new(&transport).unwrap();
    gate.shut();
    let queued = Queued::new(&lock, &want(&node, world.pod()));
    let held = gate.await_held();
    drop(queued);
    gate.open(held);
    lock.shutdown(Some(crate::world::PATIENCE)).unwrap();
    assert_eq!(world.value(&node), None);
}

pub fn cancel_after_grant(world: &World) {
    let (node, lock, cancel) = (world.node(), world.lock(), Cancel::new().unwrap());
    let mut lease = lock.acquire(&want(&node, world.pod()).cancel(&cancel)).unwrap();
    cancel.fire();
    assert!(cancel.is_fired());
    lease.check(crate::world::PATIENCE).unwrap();
    give(lease);
    assert_eq!(world.value(&node), None);
}

pub fn grant_cancel_race(world: &World) {
    let (node, lock) = (world.node(), world.lock());
    let (first, second) = (world.pod(), world.pod());
    for round in 0..20 {
        let lease = take(&lock, &node, first.clone());
        let cancel = Cancel::new().unwrap();
        let waiting = Queued::new(&lock, &want(&node, second.clone()).cancel(&cancel));
        let start = Arc::new(Barrier::new(2));
        let other = start.clone();
        let is_flagged = round % 2 == 0;
        let thread = std::thread::spawn(move || {
            other.wait();
            if is_flagged {
                cancel.fire();
                Some(waiting)
            } else {
                drop(waiting); // whatever was decided, nothing stays
                None
            }
        });
        start.wait();
        give(lease);
        if let Some(waiting) = thread.join().unwrap() {
            match waiting.end() {
                Ok(lease) => give(lease),
                Err(error) => assert_eq!(error.code(), Code::Canceled),
            }
        }
    }
    give(take(&lock, &node, world.pod()));
    drop(lock);
    assert_eq!(world.value(&node), None);
}

pub fn order(world: &World) {
    let (node, lock) = (world.node(), world.lock());
    let lease = take(&lock, &node, world.pod());
    let mut queue: Vec<Queued> =
        (0..5).map(|_| Queued::new(&lock, &want(&node, world.pod()))).collect();
    give(lease);
    while !queue.is_empty() {
        let lease = queue.remove(0).end().unwrap();
        assert!(queue.iter_mut().all(Queued::is_waiting));
        give(lease);
    }
}

pub fn lanes(world: &World) {
    let (node, lock) = (world.node(), world.lock());
    let lease = take(&lock, &node, world.pod());
    let ask = || want(&node, world.pod());
    let asked = [ask(), ask().group("gang"), ask(), ask().group("gang"), ask().priority(5)];
    let mut queue: Vec<Option<Queued>> =
        asked.iter().map(|one| Some(Queued::new(&lock, one))).collect();
    give(lease);
    for index in [4, 0, 1, 3, 2] {
        let lease = queue[index].take().unwrap().end().unwrap();
        assert!(queue.iter_mut().flatten().all(Queued::is_waiting));
        give(lease);
    }
}

pub fn limit(world: &World) {
    let node = world.node();
    let lock = NodeLock::builder(&world.transport).limits(1, 0).build().unwrap();
    let lease = take(&lock, &node, world.pod());
    let queued = Queued::new(&lock, &want(&node, world.pod()));
    let error = failed(lock.acquire(&want(&node, world.pod())));
    assert_eq!(error.code(), Code::Limit);
    let outlook = error.outlook();
    assert_eq!((outlook.position, outlook.waiting, outlook.expected), (1, 1, None));
    assert!(error.text().contains("1 of 1 waiters are of namespace default"), "{error}");
    let refused = failed(block_on(lock.acquire_async(&want(&node, world.pod()))));
    assert_eq!((refused.code(), refused.outlook()), (Code::Limit, outlook));
    give(lease);
    give(queued.end().unwrap());
}

pub fn many_nodes(world: &World) {
    let lock = world.lock();
    let nodes: Vec<String> = (0..3).map(|_| world.node()).collect();
    let mut held: Vec<_> = nodes
        .iter()
        .map(|node| {
            let lease = take(&lock, node, world.pod());
            (lease, Queued::new(&lock, &want(node, world.pod())))
        })
        .collect();
    give(take(&lock, &world.node(), world.pod()));
    while let Some((lease, mut queued)) = held.pop() {
        assert!(queued.is_waiting());
        give(lease);
        give(queued.end().unwrap());
    }
}
