// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"haminodelock.test/nodelock"
)

// warnings keeps a log for the goroutine that judges.
type warnings struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *warnings) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(line)
}

func (l *warnings) has(text string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Contains(l.text.String(), text)
}

// In Go a lease that is forgotten is released by the garbage collector, with a warning.
func drop(w *world) {
	var log warnings
	node := w.node()
	manager, err := nodelock.New(nodelock.Config{Transport: w.transport,
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	w.need(err)
	request := w.ask(node)
	func() { _ = w.take(manager, request) }()
	isFree := eventually(func() bool {
		runtime.GC()
		return w.totals(manager).Releases == 1
	})
	w.check(isFree && !w.isLocked(node), "it was released")
	w.check(log.has("without Release or HandOff") && log.has(request.Owner.Name), "it was warned of")
	w.end(manager)
}

func release(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	lease := w.take(manager, w.ask(node))
	first := lease.Fence()
	w.check(first > 0 && w.isLocked(node), "it stands")
	w.give(lease)
	w.check(!w.isLocked(node), "the node is free")
	w.is(lease.Release(soon()), nodelock.ErrConsumed)
	lease = w.take(manager, w.ask(node))
	w.check(lease.Fence() > first, "the fence has grown")
	w.give(lease)
	w.end(manager)
}

func handOff(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	lease := w.take(manager, w.ask(node))
	w.need(w.bind(lease))
	w.is(lease.HandOff(), nil)
	w.is(lease.Release(soon()), nodelock.ErrConsumed)
	waiting := w.queue(manager, soon(), w.ask(node))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := manager.Acquire(ctx, w.ask(node))
	w.is(err, nodelock.ErrTimedOut)
	w.check(len(waiting) == 0 && w.isLocked(node), "the node is busy")
	w.remove(node)
	found := w.await(waiting)
	w.need(found.err)
	w.give(found.lease)
	w.end(manager)
}

// goroutine is the number of the one that runs.
func goroutine() string {
	stack := make([]byte, 64)
	return strings.Fields(string(stack[:runtime.Stack(stack, false)]))[1]
}

// In Go results come from the manager's one goroutine, whoever asked and however it ended.
func callbackThread(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	type delivery struct {
		outcome
		goroutine string
	}
	deliveries := make(chan delivery, 10)
	deliver := func(lease *nodelock.Lease, err error) {
		deliveries <- delivery{outcome{lease, err}, goroutine()}
	}
	var places []string
	await := func() outcome {
		select {
		case found := <-deliveries:
			places = append(places, found.goroutine)
			return found.outcome
		case <-time.After(patience):
			w.need(fmt.Errorf("nothing was delivered"))
			return outcome{}
		}
	}
	w.need(manager.AcquireFunc(soon(), w.ask(node), deliver))
	held := await()
	w.need(held.err)
	ctx, cancel := context.WithCancel(context.Background())
	w.need(manager.AcquireFunc(ctx, w.ask(node), deliver))
	short, end := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer end()
	asked := make(chan error)
	request := w.ask(node)
	go func() { asked <- manager.AcquireFunc(short, request, deliver) }()
	w.need(<-asked)
	w.is(await().err, nodelock.ErrTimedOut)
	cancel()
	w.is(await().err, nodelock.ErrCanceled)
	w.need(manager.AcquireFunc(soon(), w.ask(node), deliver))
	w.give(held.lease)
	next := await()
	w.need(next.err)
	w.need(manager.AcquireFunc(soon(), w.ask(node), deliver))
	w.end(manager)
	w.is(await().err, nodelock.ErrClosed)
	for _, place := range places {
		w.check(place == places[0] && place != goroutine(), "one goroutine, and not the caller's")
	}
	w.is(next.lease.HandOff(), nodelock.ErrClosed)
}

func lost(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	lease := w.take(manager, w.ask(node))
	w.remove(node)
	select {
	case <-lease.Lost():
	case <-time.After(patience):
		w.check(false, "it was told")
	}
	w.is(lease.LostError(), nodelock.ErrLost)
	w.is(lease.Check(soon()), nodelock.ErrLost)
	w.is(lease.Release(soon()), nodelock.ErrLost)
	w.check(w.totals(manager).Lost == 1, "it was counted")
	w.end(manager)
}

func reEntry(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	request := w.ask(node)
	first := w.take(manager, request)
	second := w.take(manager, request)
	w.check(first.Fence() == second.Fence(), "it is the same grant")
	w.give(first)
	w.check(w.isLocked(node), "the other share keeps it")
	w.is(second.Check(soon()), nil)
	w.give(second)
	w.check(!w.isLocked(node), "the last share frees it")
	w.end(manager)
}

func look(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	lease := w.take(manager, w.ask(node))
	request := w.ask(node)
	waiting := w.queue(manager, soon(), request)
	nodes, err := manager.Snapshot(node)
	w.need(err)
	found := nodes[0]
	w.check(len(nodes) == 1 && found.Name == node && len(found.Slots) == 1 && len(found.Waiters) == 1,
		"one slot and one waiter")
	slot := found.Slots[0]
	w.check(slot.State == nodelock.SlotHeld && slot.Owner == lease.Owner() &&
		slot.Fence == lease.Fence() && slot.Key == nodelock.DefaultKey && slot.Holder == manager.Holder(),
		"the slot tells who holds")
	w.check(slot.Value != nil && strings.Contains(*slot.Value, lease.Owner().Name), "the value is shown")
	w.check(found.Waiters[0].Owner == request.Owner && found.Waiters[0].Position == 0 &&
		found.Waiters[0].Left > 0, "the waiter is shown")
	stats := w.totals(manager)
	w.check(stats.Grants == 1 && stats.Waiters == 1 && stats.Leases == 1 && stats.Nodes >= 1 &&
		stats.Calls > 0, "totals tell")
	w.give(lease)
	next := w.await(waiting)
	w.need(next.err)
	w.give(next.lease)
	stats = w.totals(manager)
	w.check(stats.Grants == 2 && stats.Releases == 2 && stats.Leases == 0, "totals have grown")
	_, err = manager.Snapshot("no-such-node")
	w.is(err, nodelock.ErrNoNode)
	w.end(manager)
}
