// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! The structs are those of the headers. HAMI_LAYOUT names the list that tests/consumers/layout.py of
//! the project makes from them.

use std::env;
use std::fs;

#[test]
#[ignore = "wants HAMI_LAYOUT"]
fn each_struct_has_the_members_of_the_header_at_their_places() {
    let file = env::var("HAMI_LAYOUT").expect("HAMI_LAYOUT names no list");
    let listed = fs::read_to_string(file).expect("the list can't be read");
    let declared = haminodelock_sys::layout();
    let names: Vec<&str> =
        declared.iter().filter(|line| line.contains(" - ")).map(|line| name(line)).collect();
    assert!(names.len() > 20);
    for one in names {
        let ours: Vec<&str> =
            declared.iter().map(String::as_str).filter(|line| name(line) == one).collect();
        let theirs: Vec<&str> = listed.lines().filter(|line| name(line) == one).collect();
        assert_eq!(ours, theirs);
    }
}

fn name(line: &str) -> &str {
    line.split(' ').next().unwrap_or("")
}
