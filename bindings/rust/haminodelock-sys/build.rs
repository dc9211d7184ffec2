// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0
//! Asks pkg-config where the installed libraries are (PKG_CONFIG_PATH is heeded).

use std::env;
use std::process::Command;

fn pkg_config(words: &[&str]) -> String {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let done = Command::new(&program)
        .args(words)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    if !done.status.success() {
        panic!(
            "{program} {}: {}\nIs libhaminodelock installed, and PKG_CONFIG_PATH set?",
            words.join(" "),
            String::from_utf8_lossy(&done.stderr)
        );
    }
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Tells cargo what pkg-config says; ours by archive if they are to be static.
fn link(flags: &str, is_static: bool) {
    for word in flags.split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(name) = word.strip_prefix("-l") {
            let ours = name.starts_with("haminodelock");
            let kind = if is_static && ours { "static" } else { "dylib" };
            println!("cargo:rustc-link-lib={kind}={name}");
        }
    }
}

fn main() {
    let kubernetes = env::var_os("CARGO_FEATURE_KUBERNETES").is_some();
    let is_static = env::var_os("CARGO_FEATURE_STATIC").is_some();
    let package = if kubernetes { "haminodelock-kubernetes" } else { "haminodelock" };
    for name in ["PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    if is_static {
        // A static archive is found below libdir even where the linker looks there anyway.
        link(&format!("-L{}", pkg_config(&["--variable=libdir", package]).trim()), true);
    }
    link(&pkg_config(&["--libs", package]), is_static);
    if is_static && kubernetes {
        for line in pkg_config(&["--print-requires-private", package]).lines() {
            let name = line.split_whitespace().next().unwrap_or("");
            if !name.starts_with("haminodelock") {
                link(&pkg_config(&["--libs", name]), false);
            }
        }
    }
}
