// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"haminodelock.test/nodelock"
)

// mapCarrier is a store in a Go map, with owners and a watch. Calls are answered from goroutines of
// their own, or stay unanswered while it is deaf.
type mapCarrier struct {
	mutex   sync.Mutex
	nodes   map[string]map[string]string
	version int
	owners  map[string]nodelock.OwnerFacts
	news    map[*nodelock.News]bool
	isDeaf  bool
	refuses error
	revoked []string
	untold  []string // nodes that changed and whose watchers don't know yet
}

func newMapCarrier() *mapCarrier {
	return &mapCarrier{nodes: map[string]map[string]string{},
		owners: map[string]nodelock.OwnerFacts{}, news: map[*nodelock.News]bool{}}
}

func same(value string, has bool, expect *string) bool {
	return has == (expect != nil) && (!has || value == *expect)
}

func (c *mapCarrier) apply(call *nodelock.Call) nodelock.Result {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	values := c.nodes[call.Node()]
	version := fmt.Sprint(c.version)
	if call.Version() != "" && call.Version() != version {
		return nodelock.Result{Err: nodelock.ErrHeld, Version: version}
	}
	for _, edit := range call.Edits() {
		value, has := values[edit.Key]
		if edit.Action != nodelock.Read && !same(value, has, edit.Expect) {
			return nodelock.Result{Err: nodelock.ErrHeld, Version: version}
		}
	}
	result := nodelock.Result{ServerTime: time.Now()}
	for _, edit := range call.Edits() {
		if edit.Action == nodelock.Put {
			c.set(call.Node(), edit.Key, edit.Value)
		}
		if value, has := c.nodes[call.Node()][edit.Key]; has {
			result.Values = append(result.Values, &value)
		} else {
			result.Values = append(result.Values, nil)
		}
	}
	result.Version = fmt.Sprint(c.version)
	return result
}

func (c *mapCarrier) set(node, key string, value *string) {
	c.version++
	if c.nodes[node] == nil {
		c.nodes[node] = map[string]string{}
	}
	delete(c.nodes[node], key)
	if value != nil {
		c.nodes[node][key] = *value
	}
	c.untold = append(c.untold, node)
}

// tell tells the watchers what changed, with no lock held: a manager may call Submit from there.
func (c *mapCarrier) tell() {
	c.mutex.Lock()
	nodes, version := c.untold, fmt.Sprint(c.version)
	c.untold = nil
	seen := map[string]map[string]string{}
	for _, node := range nodes {
		seen[node] = maps.Clone(c.nodes[node])
	}
	watchers := slices.Collect(maps.Keys(c.news))
	c.mutex.Unlock()
	for node, values := range seen {
		for _, news := range watchers {
			_ = news.Observe(node, version, values)
		}
	}
}

// remove removes a value as another writer would.
func (c *mapCarrier) remove(node, key string) {
	c.mutex.Lock()
	c.set(node, key, nil)
	c.mutex.Unlock()
	c.tell()
}

func (c *mapCarrier) get(node, key string) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.nodes[node][key]
}

func (c *mapCarrier) Submit(call *nodelock.Call) error {
	c.mutex.Lock()
	isDeaf, refuses := c.isDeaf, c.refuses
	c.mutex.Unlock()
	if refuses != nil {
		return refuses
	}
	go func() {
		if isDeaf {
			<-call.Context().Done()
			call.Done(nodelock.Result{Err: nodelock.ErrInDoubt})
			return
		}
		call.Done(c.apply(call))
		c.tell()
	}()
	return nil
}

func (c *mapCarrier) Inspect(call *nodelock.OwnerCall) error {
	c.mutex.Lock()
	facts := c.owners[call.Owner().Name]
	c.mutex.Unlock()
	go call.Done(facts, true, nil)
	return nil
}

func (c *mapCarrier) Revoke(call *nodelock.OwnerCall) error {
	c.mutex.Lock()
	facts := c.owners[call.Owner().Name]
	facts.Revoked = call.Revocation()
	c.owners[call.Owner().Name] = facts
	c.revoked = append(c.revoked, call.Revocation())
	c.mutex.Unlock()
	call.Done(facts, true, nil)
	return nil
}

func (c *mapCarrier) Watch(news *nodelock.News) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.news[news] = true
	return nil
}

func (c *mapCarrier) Unwatch(news *nodelock.News) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.news, news)
}

func newMapWorld(t *testing.T, config nodelock.Config) (*mapCarrier, *nodelock.Manager) {
	t.Helper()
	carrier := newMapCarrier()
	transport, err := nodelock.NewTransport(carrier, nodelock.TransportOptions{Name: "map"})
	if err != nil {
		t.Fatal(err)
	}
	manager := newManager(t, transport, config)
	transport.Close() // it lives until the manager is closed
	for _, name := range []string{"a", "b", "c"} {
		carrier.owners[name] = nodelock.OwnerFacts{Exists: true, UID: "uid-" + name, Version: "1"}
	}
	return carrier, manager
}

func TestATransportWrittenInGoCarriesLocks(t *testing.T) {
	carrier, manager := newMapWorld(t, nodelock.Config{})
	lease, err := manager.Acquire(soon(t), request("n1", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(carrier.get("n1", nodelock.DefaultKey), ",default,a") {
		t.Errorf("the lock is %q", carrier.get("n1", nodelock.DefaultKey))
	}
	facts, err := lease.Facts()
	if err != nil || facts.OwnerVersion != "1" {
		t.Errorf("facts %+v, %v", facts, err)
	}
	if err := lease.Release(soon(t)); err != nil {
		t.Error(err)
	}
	// The owner was not bound, so its Bindings were made to fail before the lock was removed.
	if len(carrier.revoked) != 1 || !strings.HasPrefix(carrier.revoked[0], "n1,") {
		t.Errorf("revoked %q", carrier.revoked)
	}
	if carrier.get("n1", nodelock.DefaultKey) != "" {
		t.Error("the lock is left")
	}
}

func TestNewsFromGoTellsALossAndFreesAWaiter(t *testing.T) {
	carrier, manager := newMapWorld(t, nodelock.Config{})
	lease, err := manager.Acquire(soon(t), request("n1", "a"))
	if err != nil {
		t.Fatal(err)
	}
	carrier.remove("n1", nodelock.DefaultKey)
	select {
	case <-lease.Lost():
	case <-time.After(patience):
		t.Fatal("nobody told")
	}
	if err := lease.HandOff(); err != nil {
		t.Error(err)
	}
	second, err := manager.Acquire(soon(t), request("n1", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(soon(t)); err != nil {
		t.Error(err)
	}
}

func TestAnAnswerThatNeverComesIsAbortedWithTheManager(t *testing.T) {
	carrier, manager := newMapWorld(t, nodelock.Config{CallTimeout: time.Minute})
	carrier.mutex.Lock()
	carrier.isDeaf = true
	carrier.mutex.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := manager.Acquire(ctx, request("n1", "a")); !errors.Is(err, nodelock.ErrTimedOut) {
		t.Errorf("error %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := manager.Close(ctx); !errors.Is(err, nodelock.ErrTimedOut) {
		t.Errorf("close answered %v", err)
	}
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("it took %v", took)
	}
}

func TestAReleaseWaitsNoLongerThanItsContextForACheckThatNobodyWaitsFor(t *testing.T) {
	carrier, manager := newMapWorld(t, nodelock.Config{CallTimeout: 50 * time.Millisecond})
	lease, err := manager.Acquire(soon(t), request("n1", "a"))
	if err != nil {
		t.Fatal(err)
	}
	carrier.mutex.Lock()
	carrier.isDeaf = true
	carrier.mutex.Unlock()
	gone, cancel := context.WithCancel(context.Background()) // it has no deadline
	cancel()
	if err := lease.Check(gone); !errors.Is(err, nodelock.ErrInDoubt) {
		t.Errorf("the check answered %v", err)
	}
	ended := make(chan error, 1)
	go func() {
		short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		ended <- lease.Release(short)
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, nodelock.ErrInDoubt) {
			t.Errorf("the release answered %v", err)
		}
	case <-time.After(patience):
		t.Error("the release waits for the check")
	}
	if err := lease.HandOff(); !errors.Is(err, nodelock.ErrConsumed) {
		t.Errorf("a second end answered %v", err)
	}
	carrier.mutex.Lock()
	carrier.isDeaf = false
	carrier.mutex.Unlock()
	if !eventually(func() bool { return carrier.get("n1", nodelock.DefaultKey) == "" }) {
		t.Error("the lock is left")
	}
}

func TestATransportThatRefusesIsAskedAgainAndSaysWhy(t *testing.T) {
	carrier, manager := newMapWorld(t, nodelock.Config{})
	carrier.mutex.Lock()
	carrier.refuses = errors.New("the line is dead")
	carrier.mutex.Unlock()
	_, err := manager.TryAcquire(soon(t), request("n1", "a"))
	if !errors.Is(err, nodelock.ErrTransport) {
		t.Errorf("error %v", err)
	}
	carrier.mutex.Lock()
	carrier.refuses = nil
	carrier.mutex.Unlock()
	lease, err := manager.Acquire(soon(t), request("n1", "a"))
	if err != nil {
		t.Fatal(err)
	}
	_ = lease.Release(soon(t))
}

func TestASingleCallEditsAsAnotherWriterWould(t *testing.T) {
	w := newWorld(t, false, nodelock.Config{})
	value, other := "1", "2"
	put := []nodelock.Edit{{Action: nodelock.Put, Key: "a/b", Value: &value}}
	transport := w.store.Transport()
	if result := transport.Call(soon(t), "n1", put, ""); result.Err != nil ||
		*result.Values[0] != "1" || result.Version == "" {
		t.Errorf("result %+v", result)
	}
	put[0].Value = &other
	if result := transport.Call(soon(t), "n1", put, ""); !errors.Is(result.Err, nodelock.ErrHeld) {
		t.Errorf("result %+v", result)
	}
	read := []nodelock.Edit{{Action: nodelock.Read, Key: "a/b"}, {Action: nodelock.Read, Key: "a/c"}}
	if result := transport.Call(soon(t), "n1", read, ""); result.Err != nil ||
		*result.Values[0] != "1" || result.Values[1] != nil {
		t.Errorf("result %+v", result)
	}
	_, err := transport.Inspect(soon(t), "n1", request("n1", "a").Owner)
	if !errors.Is(err, nodelock.ErrNotSupported) {
		t.Errorf("error %v", err)
	}
}

func TestOwnersAreInspectedAndRevoked(t *testing.T) {
	w := newWorld(t, true, nodelock.Config{})
	assigned := "n1"
	told := nodelock.OwnerFacts{Exists: true, UID: "uid-a", AssignedNode: &assigned, DevicesLeft: true,
		Phase: nodelock.PhaseAllocating, Fence: 3, Done: 2}
	if err := w.store.PutOwner("default", "a", told); err != nil {
		t.Fatal(err)
	}
	found, err := w.store.Transport().Inspect(soon(t), "n1", request("n1", "a").Owner)
	if err != nil || found.Version == "" || *found.AssignedNode != "n1" || !found.DevicesLeft ||
		found.Phase != nodelock.PhaseAllocating || found.Fence != 3 || found.Done != 2 {
		t.Errorf("facts %+v, %v", found, err)
	}
	found, err = w.store.Transport().Revoke(soon(t), "n1", request("n1", "a").Owner, "n1,1,me,1")
	if err != nil || found.Revoked != "n1,1,me,1" {
		t.Errorf("facts %+v, %v", found, err)
	}
	if err := w.store.BindOwner(request("n1", "a").Owner, "n1", ""); err != nil {
		t.Error(err)
	}
	if _, err := w.manager.Acquire(soon(t), request("n1", "a")); !errors.Is(err, nodelock.ErrLost) {
		t.Errorf("a bound pod got %v", err)
	}
	if err := w.store.Delete("n1"); !errors.Is(err, nodelock.ErrNoNode) && err != nil {
		t.Error(err)
	}
}
