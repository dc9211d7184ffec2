// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

//go:build hami_static

package nodelock

// pkg-config names the library once more, without -Bstatic: by then nothing is missing, and
// --as-needed keeps the shared one out.

// #cgo pkg-config: --static haminodelock
// #cgo LDFLAGS: -Wl,--as-needed -Wl,-Bstatic -lhaminodelock -Wl,-Bdynamic
import "C"
