// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

//go:build !hami_static

package nodelock

// #cgo pkg-config: haminodelock
import "C"
