// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

//go:build hami_static

package kubernetes

// Ours are named with -Bstatic; what they need comes shared, by the names that pkg-config says.

// #cgo pkg-config: haminodelock-kubernetes libcurl jansson openssl yaml-0.1
// #cgo LDFLAGS: -Wl,--as-needed -Wl,-Bstatic -lhaminodelock-kubernetes -lhaminodelock -Wl,-Bdynamic
import "C"
