// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! consumer memory|kubesim: the behaviours through Rust; see tests/consumers/README.md.

mod holds;
mod life;
mod transports;
mod waits;
mod world;

use std::panic::{catch_unwind, AssertUnwindSafe};

use world::World;

type Behaviour = fn(&World);

const BEHAVIOURS: [(&str, Behaviour); 22] = [
    ("deadline-queued", waits::deadline_queued),
    ("deadline-past", waits::deadline_past),
    ("cancel-queued", waits::cancel_queued),
    ("cancel-in-flight", waits::cancel_in_flight),
    ("cancel-after-grant", waits::cancel_after_grant),
    ("grant-cancel-race", waits::grant_cancel_race),
    ("drop", holds::drop_lease),
    ("release", holds::release),
    ("hand-off", holds::hand_off),
    ("order", waits::order),
    ("lanes", waits::lanes),
    ("limit", waits::limit),
    ("try", holds::try_held),
    ("many-nodes", waits::many_nodes),
    ("callback-thread", life::callback_thread),
    ("close", life::close),
    ("fork", life::fork_child),
    ("lost", holds::lost),
    ("re-entry", holds::re_entry),
    ("arguments", life::arguments),
    ("transport", transports::own_transport),
    ("look", holds::look),
];

fn main() {
    let backend = std::env::args().nth(1).expect("no backend was named");
    let world = World::new(&backend);
    let (mut number, mut bad) = (0, false);
    for (id, behaviour) in BEHAVIOURS {
        if id == "transport" && backend == "kubesim" {
            continue;
        }
        number += 1;
        let good = catch_unwind(AssertUnwindSafe(|| behaviour(&world))).is_ok();
        bad |= !good;
        println!("{} {number} - {backend} {id}", if good { "ok" } else { "not ok" });
    }
    println!("1..{number}");
    drop(world);
    std::process::exit(i32::from(bad));
}
