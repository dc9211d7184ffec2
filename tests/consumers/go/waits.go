// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"haminodelock.test/nodelock"
)

func deadlineQueued(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	lease := w.take(manager, w.ask(node))
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	none, err := manager.Acquire(ctx, w.ask(node))
	w.is(err, nodelock.ErrTimedOut)
	w.is(err, context.DeadlineExceeded)
	w.check(none == nil, "there is no lease")
	w.check(time.Since(begun) >= 30*time.Millisecond, "it was not told before its deadline")
	w.check(err != nil && strings.Contains(err.Error(), lease.Owner().Name), "the text names the holder")
	w.check(w.totals(manager).Waiters == 0, "nobody waits any more")
	w.give(lease)
	w.check(!w.isLocked(node), "the node is free")
	w.give(w.take(manager, w.ask(node)))
	w.end(manager)
}

func deadlinePast(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	for _, past := range []time.Time{time.Unix(0, 0), time.Now().Add(-time.Nanosecond)} {
		ctx, cancel := context.WithDeadline(context.Background(), past)
		none, err := manager.Acquire(ctx, w.ask(node))
		w.is(err, nodelock.ErrTimedOut)
		w.is(err, context.DeadlineExceeded)
		w.check(none == nil, "there is no lease")
		cancel()
	}
	w.end(manager)
	w.check(!w.isLocked(node), "nothing was written")
}

func cancelQueued(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	lease := w.take(manager, w.ask(node))
	ctx, cancel := context.WithCancelCause(context.Background())
	cancelled := w.queue(manager, ctx, w.ask(node))
	behind := w.queue(manager, soon(), w.ask(node))
	gone := errors.New("the client has gone")
	cancel(gone)
	found := w.await(cancelled)
	w.is(found.err, nodelock.ErrCanceled)
	w.is(found.err, context.Canceled)
	w.is(found.err, gone)
	w.check(found.lease == nil, "there is no lease")
	w.check(w.totals(manager).Waiters == 1, "one waits still")
	w.give(lease)
	found = w.await(behind)
	w.need(found.err)
	w.give(found.lease)
	w.end(manager)
	w.check(len(cancelled) == 0, "it ended once")
}

func cancelInFlight(w *world) {
	node := w.node()
	gate := newGate(w.transport)
	transport, err := nodelock.NewTransport(gate, nodelock.TransportOptions{Name: "gate", OnePermit: true})
	w.need(err)
	manager := w.manager(transport)
	gate.shut()
	ctx, cancel := context.WithCancel(context.Background())
	ended := w.queue(manager, ctx, w.ask(node))
	select {
	case <-gate.held:
	case <-time.After(patience):
		w.check(false, "the write came")
	}
	cancel()
	found := w.await(ended)
	w.is(found.err, nodelock.ErrCanceled) // told before the write is done
	w.check(found.lease == nil, "there is no lease")
	close(gate.way())
	w.end(manager)
	transport.Close()
	w.check(len(ended) == 0, "it ended once")
	w.check(!w.isLocked(node), "no lock is left behind")
}

func cancelAfterGrant(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	ctx, cancel := context.WithCancel(soon())
	lease, err := manager.Acquire(ctx, w.ask(node))
	w.need(err)
	cancel()
	w.is(lease.Check(soon()), nil)
	w.check(w.isLocked(node), "the lock stands")
	w.give(lease)
	w.check(!w.isLocked(node), "the node is free")
	w.end(manager)
}

func grantCancelRace(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	first, second := w.ask(node), w.ask(node)
	for i := 0; i < 40 && !w.isFailed; i++ {
		lease := w.take(manager, first)
		ctx, cancel := context.WithCancel(soon())
		ended := w.queue(manager, ctx, second)
		done := make(chan error, 1)
		release := func() { done <- lease.Release(soon()) }
		if i%2 == 0 {
			go cancel()
			release()
		} else {
			go release()
			cancel()
		}
		w.is(<-done, nil)
		found := w.await(ended)
		w.check((found.err == nil) == (found.lease != nil), "a lease or an error")
		if found.err == nil {
			w.give(found.lease)
		} else {
			w.is(found.err, nodelock.ErrCanceled)
		}
		w.check(len(ended) == 0, "it ended once")
		cancel()
	}
	w.give(w.take(manager, w.ask(node)))
	w.end(manager)
	w.check(!w.isLocked(node), "the node is free")
}

func order(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	lease := w.take(manager, w.ask(node))
	var queue []<-chan outcome
	for range 5 {
		queue = append(queue, w.queue(manager, soon(), w.ask(node)))
	}
	w.give(lease)
	for i, ended := range queue {
		found := w.await(ended)
		w.need(found.err)
		for _, later := range queue[i+1:] {
			w.check(len(later) == 0, "nobody overtook")
		}
		w.give(found.lease)
	}
	w.end(manager)
}

func lanes(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	lease := w.take(manager, w.ask(node))
	asked := []nodelock.Request{w.ask(node), w.ask(node), w.ask(node), w.ask(node), w.ask(node)}
	asked[1].Group, asked[3].Group, asked[4].Priority = "gang", "gang", 5
	var queue []<-chan outcome
	for _, one := range asked {
		queue = append(queue, w.queue(manager, soon(), one))
	}
	w.give(lease)
	served := []int{4, 0, 1, 3, 2}
	for i, number := range served {
		found := w.await(queue[number])
		w.need(found.err)
		for _, later := range served[i+1:] {
			w.check(len(queue[later]) == 0, "nobody else was served")
		}
		w.give(found.lease)
	}
	w.end(manager)
}

func limit(w *world) {
	node := w.node()
	manager, err := nodelock.New(nodelock.Config{Transport: w.transport, WaitersPerNode: 1})
	w.need(err)
	lease := w.take(manager, w.ask(node))
	queued := w.queue(manager, soon(), w.ask(node))
	_, err = manager.Acquire(soon(), w.ask(node))
	w.is(err, nodelock.ErrLimit)
	var detail *nodelock.Error
	w.check(errors.As(err, &detail) && detail.Position == 1 && detail.Waiting == 1, "it has the position")
	w.check(strings.Contains(err.Error(), "1 of 1 waiters are of namespace default"), "it names them")
	w.give(lease)
	found := w.await(queued)
	w.need(found.err)
	w.give(found.lease)
	w.end(manager)
}

func try(w *world) {
	node := w.node()
	manager, other := w.manager(w.transport), w.manager(w.transport)
	lease := w.take(manager, w.ask(node))
	_, err := manager.TryAcquire(soon(), w.ask(node))
	w.is(err, nodelock.ErrBusy)
	none, err := other.TryAcquire(soon(), w.ask(node))
	w.is(err, nodelock.ErrHeld)
	w.check(none == nil, "there is no lease")
	w.check(err != nil && strings.Contains(err.Error(), lease.Owner().Name), "the text names the owner")
	w.check(w.totals(manager).Waiters == 0 && w.totals(other).Waiters == 0, "nobody waits")
	w.give(lease)
	lease, err = other.TryAcquire(soon(), w.ask(node))
	w.need(err)
	w.give(lease)
	w.end(other)
	w.end(manager)
}

func manyNodes(w *world) {
	manager := w.manager(w.transport)
	busy := w.node()
	holder := w.take(manager, w.ask(busy))
	waiting := w.queue(manager, soon(), w.ask(busy))
	for range 3 {
		w.give(w.take(manager, w.ask(w.node())))
	}
	w.check(len(waiting) == 0, "the first one waits still")
	w.give(holder)
	found := w.await(waiting)
	w.need(found.err)
	w.give(found.lease)
	w.end(manager)
}
