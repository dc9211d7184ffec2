// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

// #include <sys/types.h>
// #include <sys/wait.h>
// #include <unistd.h>
import "C"

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync"

	"haminodelock.test/nodelock"
)

func closing(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	lease := w.take(manager, w.ask(node))
	waiting := []<-chan outcome{w.queue(manager, soon(), w.ask(node)),
		w.queue(manager, soon(), w.ask(node))}
	w.end(manager)
	for _, ended := range waiting {
		found := w.await(ended)
		w.is(found.err, nodelock.ErrClosed)
		w.check(found.lease == nil && len(ended) == 0, "it ended once, without a lease")
	}
	request := w.ask(node)
	_, err := manager.Acquire(soon(), request)
	w.is(err, nodelock.ErrClosed)
	_, err = manager.TryAcquire(soon(), request)
	w.is(err, nodelock.ErrClosed)
	err = manager.AcquireFunc(soon(), request, func(*nodelock.Lease, error) {})
	w.is(err, nodelock.ErrClosed)
	_, err = manager.Snapshot("")
	w.is(err, nodelock.ErrClosed)
	w.check(w.isLocked(node), "the holder's lock stands")
	w.is(lease.Check(soon()), nodelock.ErrClosed)
	w.is(lease.HandOff(), nodelock.ErrClosed)
	w.is(manager.Close(soon()), nil)
}

// forkedCalls is what a child may try. It has one thread and must not wait for another goroutine, so
// each of these has to answer by itself.
func forkedCalls(manager *nodelock.Manager, request nodelock.Request, lease *nodelock.Lease) []error {
	ctx := context.Background()
	_, acquired := manager.Acquire(ctx, request)
	_, tried := manager.TryAcquire(ctx, request)
	_, counted := manager.Stats()
	return []error{acquired, tried, counted, lease.Check(ctx), lease.Release(ctx)}
}

// Go itself never forks without exec, but C in the same process may.
func fork(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	lease := w.take(manager, w.ask(node))
	request := w.ask(node)
	collecting := debug.SetGCPercent(-1) // a child has no threads to collect with
	child, err := C.fork()
	if child == 0 {
		wrong := 0
		for _, err := range forkedCalls(manager, request, lease) {
			if code(err) != nodelock.ErrForked {
				wrong++
			}
		}
		C._exit(C.int(wrong))
	}
	debug.SetGCPercent(collecting)
	if child < 0 {
		w.need(err)
	}
	var status C.int
	C.waitpid(child, &status, 0)
	w.check(status == 0, "each call in the child was refused as forked")
	w.is(lease.Check(soon()), nil)
	w.give(lease)
	w.end(manager)
}

func arguments(w *world) {
	node := w.node()
	manager := w.manager(w.transport)
	good := w.ask(node)
	for name, change := range map[string]func(*nodelock.Request){
		"node":      func(r *nodelock.Request) { r.Node = "Not A Node" },
		"node's":    func(r *nodelock.Request) { r.Node = "" },
		"uid":       func(r *nodelock.Request) { r.Owner.UID = "" },
		"uid must":  func(r *nodelock.Request) { r.Owner.UID = "has a blank" },
		"namespace": func(r *nodelock.Request) { r.Owner.Namespace = "Upper" },
		"twice": func(r *nodelock.Request) {
			r.Keys = []string{nodelock.DefaultKey, nodelock.DefaultKey}
		},
	} {
		request := good
		change(&request)
		none, err := manager.Acquire(soon(), request)
		w.is(err, nodelock.ErrInvalid)
		w.check(none == nil && err != nil && strings.Contains(err.Error(), name), "the text says: "+name)
	}
	_, err := nodelock.New(nodelock.Config{})
	w.is(err, nodelock.ErrInvalid)
	w.check(w.totals(manager).Calls == 0, "the store was not asked")
	w.check(!w.isLocked(node), "nothing was written")
	w.end(manager)
}

// ownStore is a transport written here: a few texts of a node. Calls are answered from goroutines of
// their own.
type ownStore struct {
	mutex  sync.Mutex
	values map[[2]string]string
}

func (s *ownStore) Submit(call *nodelock.Call) error {
	go func() { call.Done(s.apply(call)) }()
	return nil
}

func (s *ownStore) get(node, key string) *string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.look(node, key)
}

func (s *ownStore) look(node, key string) *string {
	if value, has := s.values[[2]string{node, key}]; has {
		return &value
	}
	return nil
}

func (s *ownStore) apply(call *nodelock.Call) (result nodelock.Result) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, edit := range call.Edits() {
		now := s.look(call.Node(), edit.Key)
		if edit.Action != nodelock.Read &&
			((now == nil) != (edit.Expect == nil) || now != nil && *now != *edit.Expect) {
			return nodelock.Result{Err: nodelock.ErrHeld}
		}
	}
	for _, edit := range call.Edits() {
		if edit.Action == nodelock.Put {
			delete(s.values, [2]string{call.Node(), edit.Key})
			if edit.Value != nil {
				s.values[[2]string{call.Node(), edit.Key}] = *edit.Value
			}
		}
		result.Values = append(result.Values, s.look(call.Node(), edit.Key))
	}
	return result
}

func ownTransport(w *world) {
	store := &ownStore{values: map[[2]string]string{}}
	transport, err := nodelock.NewTransport(store, nodelock.TransportOptions{Name: "own"})
	w.need(err)
	manager := w.manager(transport)
	request := w.ask("some-node")
	lease := w.take(manager, request)
	value := store.get("some-node", nodelock.DefaultKey)
	w.check(value != nil && strings.Contains(*value, request.Owner.Name), "the lock stands in our store")
	waiting := w.queue(manager, soon(), w.ask("some-node"))
	w.give(lease)
	next := w.await(waiting)
	w.need(next.err)
	w.give(next.lease)
	w.check(store.get("some-node", nodelock.DefaultKey) == nil, "it is gone")
	w.end(manager)
	transport.Close()
	_, err = nodelock.New(nodelock.Config{Transport: transport})
	w.is(err, nodelock.ErrClosed)
	if _, err := nodelock.NewTransport(nil, nodelock.TransportOptions{}); !errors.Is(err, nodelock.ErrInvalid) {
		w.check(false, "nothing is no transport")
	}
}
