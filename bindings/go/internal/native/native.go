// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// Package native is what the packages of this module know of each other's C objects. cgo gives
// each package types of its own, so pointers cross here without them.
package native

import (
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Object is a C object that is used by several Go ones: it is freed when the last of them has let
// go of it, in whatever order they are closed. Guarded by its mutex.
type Object struct {
	mutex   sync.Mutex
	pointer unsafe.Pointer
	users   int
	free    func(unsafe.Pointer)
}

// NewObject makes an object with one user, its maker.
func NewObject(pointer unsafe.Pointer, free func(unsafe.Pointer)) *Object {
	return &Object{pointer: pointer, users: 1, free: free}
}

// Retain adds a user; nil once the last one has gone.
func (o *Object) Retain() unsafe.Pointer {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.users <= 0 {
		return nil
	}
	o.users++
	return o.pointer
}

// Release takes a user away; each user once.
func (o *Object) Release() {
	o.mutex.Lock()
	o.users--
	isLast := o.users == 0
	o.mutex.Unlock()
	if isLast {
		o.free(o.pointer)
	}
}

// BorrowLease lends the C lease of a *nodelock.Lease until done is called; others that want to use
// or consume it wait meanwhile. Set by package nodelock.
var BorrowLease func(lease any) (pointer unsafe.Pointer, done func(), err error)

var handles atomic.Int64

// NewHandle makes a number that C can carry for a Go value, until DeleteHandle.
func NewHandle(value any) cgo.Handle {
	handles.Add(1)
	return cgo.NewHandle(value)
}

// DeleteHandle ends a number's life.
func DeleteHandle(handle cgo.Handle) {
	handle.Delete()
	handles.Add(-1)
}

// Handles tells how many there are: tests look for those that were forgotten.
func Handles() int64 {
	return handles.Load()
}
