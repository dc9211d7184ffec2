// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"haminodelock.test/nodelock"
)

// Two pods want one node: the second gets it when the first has let go.
func Example() {
	ctx := context.Background()
	store, err := nodelock.NewMemory(false)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	manager, err := nodelock.New(nodelock.Config{Transport: store.Transport()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer manager.Close(ctx)

	first, err := manager.Acquire(ctx, nodelock.Request{Node: "node-1",
		Owner: nodelock.Owner{Namespace: "default", Name: "pod-a", UID: "1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("pod-a has node-1")

	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	second := nodelock.Request{Node: "node-1",
		Owner: nodelock.Owner{Namespace: "default", Name: "pod-b", UID: "2"}}
	_, err = manager.Acquire(short, second)
	fmt.Println("pod-b in vain:", errors.Is(err, context.DeadlineExceeded))

	fmt.Println("released:", first.Release(ctx))
	lease, err := manager.Acquire(ctx, second)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release(ctx)
	fmt.Println("pod-b has", lease.Node(), "and a larger fence:", lease.Fence() > first.Fence())
	// Output:
	// pod-a has node-1
	// pod-b in vain: true
	// released: <nil>
	// pod-b has node-1 and a larger fence: true
}

// A callback instead of a waiting goroutine.
func ExampleManager_AcquireFunc() {
	store, _ := nodelock.NewMemory(false)
	defer store.Close()
	manager, _ := nodelock.New(nodelock.Config{Transport: store.Transport()})
	defer manager.Close(context.Background())

	done := make(chan string)
	request := nodelock.Request{Node: "node-1",
		Owner: nodelock.Owner{Namespace: "default", Name: "pod-a", UID: "1"}}
	err := manager.AcquireFunc(context.Background(), request,
		func(lease *nodelock.Lease, err error) {
			if err == nil {
				err = lease.HandOff() // does no I/O, so it may be called here
			}
			done <- fmt.Sprint("handed off: ", err)
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-done)
	// Output: handed off: <nil>
}

// table is a store of one's own: a locked map.
type table struct {
	mutex  sync.Mutex
	values map[[2]string]string
}

func (t *table) Submit(call *nodelock.Call) error {
	go func() { call.Done(t.apply(call)) }()
	return nil
}

func (t *table) apply(call *nodelock.Call) nodelock.Result {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, edit := range call.Edits() {
		value, has := t.values[[2]string{call.Node(), edit.Key}]
		if edit.Action != nodelock.Read &&
			(has != (edit.Expect != nil) || has && value != *edit.Expect) {
			return nodelock.Result{Err: nodelock.ErrHeld} // all or nothing
		}
	}
	var result nodelock.Result
	for _, edit := range call.Edits() {
		name := [2]string{call.Node(), edit.Key}
		if edit.Action == nodelock.Put {
			delete(t.values, name)
			if edit.Value != nil {
				t.values[name] = *edit.Value
			}
		}
		if value, has := t.values[name]; has {
			result.Values = append(result.Values, &value)
		} else {
			result.Values = append(result.Values, nil)
		}
	}
	return result
}

// A transport written in Go: whatever can compare and set can keep locks.
func ExampleNewTransport() {
	ctx := context.Background()
	transport, err := nodelock.NewTransport(&table{values: map[[2]string]string{}},
		nodelock.TransportOptions{Name: "table"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer transport.Close()
	manager, err := nodelock.New(nodelock.Config{Transport: transport})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer manager.Close(ctx)
	lease, err := manager.Acquire(ctx, nodelock.Request{Node: "node-1",
		Owner: nodelock.Owner{Namespace: "default", Name: "pod-a", UID: "1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lease.Owner().Name, "has", lease.Node())
	fmt.Println("released:", lease.Release(ctx))
	// Output:
	// pod-a has node-1
	// released: <nil>
}
