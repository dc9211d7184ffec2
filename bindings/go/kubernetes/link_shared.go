// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

//go:build !hami_static

package kubernetes

// #cgo pkg-config: haminodelock-kubernetes
import "C"
