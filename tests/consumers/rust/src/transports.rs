// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! Two transports written here: a gate that stands before another one, and a store of its own.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};

use haminodelock::{Action, Call, NodeLock, Transport, TransportHandle, KEY};

use crate::world::{give, take, want, Queued, World, PATIENCE};

#[derive(Default)]
struct Held {
    is_shut: bool,
    call: Option<Call>,
}

/// Holds writes up between shut and open.
pub struct Gate {
    inner: TransportHandle,
    held: Mutex<Held>,
    came: Condvar,
}

struct Door(Arc<Gate>);

impl Transport for Door {
    fn name(&self) -> &str {
        "gate"
    }

    fn submit(&self, call: Call) {
        let mut held = self.0.held.lock().unwrap();
        if held.is_shut && call.is_write() {
            held.call = Some(call);
            self.0.came.notify_all();
        } else {
            drop(held);
            call.pass_to(&self.0.inner);
        }
    }

    fn inner(&self) -> Option<&TransportHandle> {
        Some(&self.0.inner)
    }
}

impl Gate {
    pub fn new(inner: &TransportHandle) -> (Arc<Self>, TransportHandle) {
        let gate = Arc::new(Gate {
            inner: inner.clone(),
            held: Mutex::new(Held::default()),
            came: Condvar::new(),
        });
        let transport = TransportHandle::new(Door(gate.clone())).unwrap();
        (gate, transport)
    }

    pub fn shut(&self) {
        self.held.lock().unwrap().is_shut = true;
    }

    /// A write has come and waits.
    pub fn await_held(&self) -> Call {
        let held = self.held.lock().unwrap();
        let wait = self.came.wait_timeout_while(held, PATIENCE, |held| held.call.is_none());
        wait.unwrap().0.call.take().expect("no write came")
    }

    /// It goes on, and all that follow.
    pub fn open(&self, call: Call) {
        self.held.lock().unwrap().is_shut = false;
        call.pass_to(&self.inner);
    }
}

#[derive(Default)]
struct Map(Mutex<HashMap<(String, String), String>>);

struct MapTransport(Arc<Map>);

impl Transport for MapTransport {
    fn name(&self) -> &str {
        "map"
    }

    fn submit(&self, call: Call) {
        let (node, edits) = (call.node(), call.edits());
        let of = |key: &str| (node.clone(), key.to_string());
        let mut map = self.0 .0.lock().unwrap();
        let good = edits.iter().all(|edit| {
            edit.action == Action::Read || map.get(&of(&edit.key)) == edit.expect.as_ref()
        });
        for edit in edits.iter().filter(|edit| good && edit.action == Action::Put) {
            match &edit.value {
                Some(value) => map.insert(of(&edit.key), value.clone()),
                None => map.remove(&of(&edit.key)),
            };
        }
        let now = edits.iter().map(|edit| map.get(&of(&edit.key)).cloned()).collect();
        drop(map);
        if good {
            call.done(now);
        } else {
            call.refuse(Some(now));
        }
    }
}

pub fn own_transport(world: &World) {
    let (map, pod) = (Arc::new(Map::default()), world.pod());
    let transport = TransportHandle::new(MapTransport(map.clone())).unwrap();
    let lock = NodeLock::new(&transport).unwrap();
    let value = || map.0.lock().unwrap().get(&("some-node".into(), KEY.into())).cloned();
    let lease = take(&lock, "some-node", pod.clone());
    assert!(value().unwrap().ends_with(&pod.name));
    let next = Queued::new(&lock, &want("some-node", world.pod()));
    give(lease);
    give(next.end().unwrap());
    assert_eq!(value(), None);
}
