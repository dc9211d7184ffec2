// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"haminodelock.test/nodelock"
	"haminodelock.test/nodelock/internal/native"
)

// Whatever a test leaves behind fails the program: goroutines, and numbers that C was given.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	isClean := eventually(func() bool {
		runtime.GC() // so that nets that are still to come have come
		return runtime.NumGoroutine() <= before && native.Handles() == 0
	})
	if !isClean {
		fmt.Fprintf(os.Stderr, "left: %d goroutines (%d before), %d handles\n",
			runtime.NumGoroutine(), before, native.Handles())
		stacks := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "%s\n", stacks[:runtime.Stack(stacks, true)])
		code = 1
	}
	os.Exit(code)
}

const patience = 20 * time.Second

// eventually waits for what another goroutine is about to do.
func eventually(holds func() bool) bool {
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		if holds() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// world is a store with a manager on it.
type world struct {
	testing.TB
	store   *nodelock.Memory
	manager *nodelock.Manager
}

func newWorld(t testing.TB, owners bool, config nodelock.Config) *world {
	t.Helper()
	store, err := nodelock.NewMemory(owners)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return &world{t, store, newManager(t, store.Transport(), config)}
}

func newManager(t testing.TB, transport *nodelock.Transport,
	config nodelock.Config) *nodelock.Manager {
	t.Helper()
	config.Transport = transport
	manager, err := nodelock.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := manager.Close(soon(t)); err != nil {
			t.Error(err)
		}
	})
	return manager
}

func request(node, pod string) nodelock.Request {
	return nodelock.Request{Node: node,
		Owner: nodelock.Owner{Namespace: "default", Name: pod, UID: "uid-" + pod}}
}

func (w *world) acquire(node, pod string) *nodelock.Lease {
	w.Helper()
	lease, err := w.manager.Acquire(soon(w), request(node, pod))
	if err != nil {
		w.Fatal(err)
	}
	return lease
}

func (w *world) release(lease *nodelock.Lease) {
	w.Helper()
	if err := lease.Release(soon(w)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) lock(node string) string {
	w.Helper()
	value, err := w.store.Get(node, nodelock.DefaultKey)
	if err != nil {
		w.Fatal(err)
	}
	if value == nil {
		return ""
	}
	return *value
}

// waiters tells how many wait for a node.
func (w *world) waiters(node string) int {
	w.Helper()
	nodes, err := w.manager.Snapshot(node)
	if err != nil {
		return 0
	}
	return len(nodes[0].Waiters)
}

type ended struct {
	lease *nodelock.Lease
	err   error
}

// begin starts an acquire in a goroutine and waits until it stands in the queue.
func (w *world) begin(ctx context.Context, request nodelock.Request) <-chan ended {
	w.Helper()
	before := w.waiters(request.Node)
	result := make(chan ended, 1)
	go func() {
		lease, err := w.manager.Acquire(ctx, request)
		result <- ended{lease, err}
	}()
	if !eventually(func() bool { return w.waiters(request.Node) == before+1 }) {
		w.Fatal("the acquire did not queue")
	}
	return result
}
