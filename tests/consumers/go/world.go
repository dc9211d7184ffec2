// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"haminodelock.test/nodelock"
	"haminodelock.test/nodelock/kubernetes"
)

// world is the backend, and what of it was used up.
type world struct {
	store     *nodelock.Memory   // memory only
	client    *kubernetes.Client // kubesim only
	transport *nodelock.Transport
	pods      []nodelock.Owner
	nodes     int
	isFailed  bool // the behaviour that runs now
}

func readPods() ([]nodelock.Owner, error) {
	file, err := os.Open(os.Getenv("HAMI_CONSUMER_PODS"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var pods []nodelock.Owner
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, uid, _ := strings.Cut(lines.Text(), "\t")
		pods = append(pods, nodelock.Owner{Namespace: "default", Name: name, UID: uid})
	}
	return pods, nil
}

func openWorld(backend string) (*world, error) {
	pods, err := readPods()
	if err != nil {
		return nil, err
	}
	w := &world{pods: pods}
	switch backend {
	case "memory":
		return w, w.openMemory()
	case "kubesim":
		return w, w.openKubesim()
	default:
		return nil, fmt.Errorf("there is no backend %q", backend)
	}
}

func (w *world) openMemory() error {
	store, err := nodelock.NewMemory(true)
	if err != nil {
		return err
	}
	w.store, w.transport = store, store.Transport()
	for _, pod := range w.pods {
		facts := nodelock.OwnerFacts{Exists: true, UID: pod.UID}
		if err := store.PutOwner(pod.Namespace, pod.Name, facts); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) openKubesim() error {
	client, err := kubernetes.New(kubernetes.FromEnvironment())
	if err != nil {
		return err
	}
	w.client = client
	w.transport, err = client.NewTransport(kubernetes.TransportConfig{})
	return err
}

func (w *world) close() {
	if w.client != nil {
		w.transport.Close()
		w.client.Close()
	} else {
		w.store.Close()
	}
}

// node names one that nobody else uses.
func (w *world) node() string {
	w.nodes++
	return fmt.Sprintf("node-%d", w.nodes-1)
}

// pod is one that nobody else uses.
func (w *world) pod() nodelock.Owner {
	if len(w.pods) == 0 {
		w.need(errors.New("the pods are used up"))
	}
	pod := w.pods[0]
	w.pods = w.pods[1:]
	return pod
}

func (w *world) ask(node string) nodelock.Request {
	return nodelock.Request{Node: node, Owner: w.pod()}
}

func soon() context.Context {
	// Nothing waits that long, so that the timer costs nothing but its memory.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	context.AfterFunc(ctx, cancel)
	return ctx
}

func eventually(holds func() bool) bool {
	for deadline := time.Now().Add(patience); !holds(); runtime.Gosched() {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// lock is the lock's value as the store has it; nil if there is none.
func (w *world) lock(node string) *string {
	edits := []nodelock.Edit{{Action: nodelock.Read, Key: nodelock.DefaultKey}}
	result := w.transport.Call(soon(), node, edits, "")
	if errors.Is(result.Err, nodelock.ErrNoNode) {
		return nil
	}
	w.need(result.Err)
	return result.Values[0]
}

func (w *world) isLocked(node string) bool {
	return w.lock(node) != nil
}

// remove removes the lock as the node side does: another writer.
func (w *world) remove(node string) {
	edits := []nodelock.Edit{{Action: nodelock.Put, Key: nodelock.DefaultKey, Expect: w.lock(node)}}
	w.need(w.transport.Call(soon(), node, edits, "").Err)
}

// bind binds the lease's pod to its node.
func (w *world) bind(lease *nodelock.Lease) error {
	if w.client != nil {
		return w.client.Bind(soon(), lease)
	}
	facts, err := lease.Facts()
	if err != nil {
		return err
	}
	return w.store.BindOwner(facts.Owner, facts.Node, facts.OwnerVersion)
}

func (w *world) manager(transport *nodelock.Transport) *nodelock.Manager {
	manager, err := nodelock.New(nodelock.Config{Transport: transport})
	w.need(err)
	return manager
}

func (w *world) end(manager *nodelock.Manager) {
	if err := manager.Close(soon()); err != nil {
		w.fail(1, err.Error())
	}
}

func (w *world) take(manager *nodelock.Manager, request nodelock.Request) *nodelock.Lease {
	lease, err := manager.Acquire(soon(), request)
	w.need(err)
	return lease
}

func (w *world) give(lease *nodelock.Lease) {
	if err := lease.Release(soon()); err != nil {
		w.fail(1, err.Error())
	}
}

func (w *world) totals(manager *nodelock.Manager) nodelock.Stats {
	stats, err := manager.Stats()
	w.need(err)
	return stats
}

// outcome is how an acquire ended that was started and not waited for.
type outcome struct {
	lease *nodelock.Lease
	err   error
}

// queue starts an acquire in a goroutine of its own, and waits until it stands in the queue.
func (w *world) queue(manager *nodelock.Manager, ctx context.Context,
	request nodelock.Request) <-chan outcome {
	before := w.totals(manager).Waiters
	ended := make(chan outcome, 2) // a second one would be seen
	go func() {
		lease, err := manager.Acquire(ctx, request)
		ended <- outcome{lease, err}
	}()
	if !eventually(func() bool { return w.totals(manager).Waiters == before+1 }) {
		w.need(errors.New("the acquire did not queue"))
	}
	return ended
}

func (w *world) await(ended <-chan outcome) outcome {
	select {
	case found := <-ended:
		return found
	case <-time.After(patience):
		w.need(errors.New("the acquire did not end"))
		return outcome{}
	}
}
