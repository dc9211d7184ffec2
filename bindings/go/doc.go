// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// Package nodelock gives a node one owner at a time, between the moment a scheduler binds a pod and
// the device plugin's Allocate. It is the Go side of libhaminodelock.
//
// A scheduler's bind is: take the node's lock for the pod, bind, and either hand the lock off to the
// node side or, if the pod was surely not bound, give it back.
//
//	lease, err := manager.Acquire(ctx, nodelock.Request{Node: node, Owner: pod})
//	if err != nil {
//		return err // nothing is held
//	}
//	err = client.Bind(ctx, lease)
//	if err == nil || errors.Is(err, nodelock.ErrInDoubt) {
//		return errors.Join(err, lease.HandOff()) // bound, or may be
//	}
//	_ = lease.Release(ctx)
//	return err
//
// Locks are kept by a [Transport]: in memory ([NewMemory]), in Kubernetes (package
// haminodelock.test/nodelock/kubernetes), or wherever you can compare and set a few texts
// ([Carrier], [NewTransport]).
//
// # Deadlines and cancelling
//
// Each call that waits takes a context.Context, and nothing else decides how long it waits. A deadline
// gives [ErrTimedOut], a cancel [ErrCanceled]; errors.Is finds the context's own error in them too. A
// grant that came first stands: look at the error, not at the context.
//
// # Goroutines and threads
//
// A manager has one goroutine. It sleeps in Go's network poller until the library has something to do
// or a timer is due; then it runs the library for a moment. No goroutine waits inside C, so a thousand
// waiters are a thousand parked goroutines and no thread. (Transport.Call, a tool for tests, keeps a
// thread for one round trip.) Callbacks of [Manager.AcquireFunc] run on that goroutine.
//
// # Who closes what
//
// Close whatever was made, in any order: a transport lives on until the last manager on it is closed.
// A [Lease] or [Manager] that is forgotten is ended by the garbage collector with a warning in the log.
// That is a net below a mistake, not a way to end things: until it comes the node is locked.
//
// # A forked child
//
// Go programs don't fork without exec. Where C code does, every call answers [ErrForked] in the child
// and touches nothing in the store.
//
// # Building
//
// cgo finds the installed library by pkg-config. With the build tag hami_static the library itself is
// linked in; what it needs (libc; for package kubernetes libcurl and others) stays shared.
package nodelock
