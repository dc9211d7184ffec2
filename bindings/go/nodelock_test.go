// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"haminodelock.test/nodelock"
)

func TestALeaseStandsInTheStoreUntilItIsReleased(t *testing.T) {
	w := newWorld(t, false, nodelock.Config{Holder: "me"})
	lease := w.acquire("n1", "a")
	if !strings.HasSuffix(w.lock("n1"), ",default,a") {
		t.Errorf("the lock is %q", w.lock("n1"))
	}
	facts, err := lease.Facts()
	if err != nil || facts.Value != w.lock("n1") || facts.Fence != lease.Fence() ||
		facts.Holder != w.manager.Holder() || !strings.HasPrefix(facts.Holder, "me_") ||
		facts.Owner != request("n1", "a").Owner || facts.Key != nodelock.DefaultKey {
		t.Errorf("facts %+v, %v", facts, err)
	}
	if err := lease.Check(soon(t)); err != nil {
		t.Error(err)
	}
	w.release(lease)
	if w.lock("n1") != "" {
		t.Errorf("the lock is still %q", w.lock("n1"))
	}
	if err := lease.Release(soon(t)); err != nodelock.ErrConsumed {
		t.Errorf("a second release answered %v", err)
	}
	if err := lease.HandOff(); err != nodelock.ErrConsumed {
		t.Errorf("a hand-off after the release answered %v", err)
	}
}

func TestADeadlineInTheQueueIsTheContextsErrorAndNamesWhoHolds(t *testing.T) {
	w := newWorld(t, false, nodelock.Config{})
	lease := w.acquire("n1", "a")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := w.manager.Acquire(ctx, request("n1", "b"))
	var detail *nodelock.Error
	var code nodelock.Code
	if !errors.Is(err, nodelock.ErrTimedOut) || !errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled) || !errors.As(err, &detail) || !errors.As(err, &code) ||
		code != nodelock.ErrTimedOut || !strings.Contains(detail.Text, "default/a") {
		t.Errorf("error %v", err)
	}
	w.release(lease)
}

func TestACancelTakesAWaiterOutAndTellsItsCause(t *testing.T) {
	w := newWorld(t, false, nodelock.Config{})
	lease := w.acquire("n1", "a")
	gone := errors.New("the client has gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	second := w.begin(ctx, request("n1", "b"))
	third := w.begin(soon(t), request("n1", "c"))
	cancel(gone)
	found := <-second
	if !errors.Is(found.err, nodelock.ErrCanceled) || !errors.Is(found.err, context.Canceled) ||
		!errors.Is(found.err, gone) || errors.Is(found.err, context.DeadlineExceeded) {
		t.Errorf("error %v", found.err)
	}
	w.release(lease)
	if found = <-third; found.err != nil {
		t.Fatal(found.err)
	}
	w.release(found.lease)
	if _, err := w.manager.Acquire(ctx, request("n1", "b")); !errors.Is(err, gone) {
		t.Errorf("a context that had been cancelled gave %v", err)
	}
}

func TestSeveralKeysAreOneGrant(t *testing.T) {
	w := newWorld(t, false, nodelock.Config{})
	asked := request("n1", "a")
	asked.Keys = []string{nodelock.CambriconKey, nodelock.DefaultKey}
	lease, err := w.manager.Acquire(soon(t), asked)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := w.store.Get("n1", nodelock.CambriconKey)
	if w.lock("n1") == "" || other == nil || *other != w.lock("n1") {
		t.Errorf("the locks are %q and %v", w.lock("n1"), other)
	}
	w.release(lease)
	if other, _ = w.store.Get("n1", nodelock.CambriconKey); w.lock("n1") != "" || other != nil {
		t.Error("a lock is left")
	}
}

func TestATryIsBusyInItsOwnProcessAndHeldByAnother(t *testing.T) {
	w := newWorld(t, false, nodelock.Config{})
	lease := w.acquire("n1", "a")
	if _, err := w.manager.TryAcquire(soon(t), request("n1", "b")); !errors.Is(err, nodelock.ErrBusy) {
		t.Errorf("error %v", err)
	}
	other := newManager(t, w.store.Transport(), nodelock.Config{})
	_, err := other.TryAcquire(soon(t), request("n1", "b"))
	if !errors.Is(err, nodelock.ErrHeld) || !strings.Contains(err.Error(), "default,a") {
		t.Errorf("error %v", err)
	}
	w.release(lease)
	if lease, err = other.TryAcquire(soon(t), request("n1", "b")); err != nil {
		t.Fatal(err)
	}
	w.release(lease)
}

func TestABadArgumentIsRefusedWithATextThatNamesIt(t *testing.T) {
	w := newWorld(t, false, nodelock.Config{})
	for text, change := range map[string]func(*nodelock.Request){
		"node":         func(r *nodelock.Request) { r.Node = "N 1" },
		"namespace":    func(r *nodelock.Request) { r.Owner.Namespace = "" },
		"name":         func(r *nodelock.Request) { r.Owner.Name = "a\x00b" },
		"uid":          func(r *nodelock.Request) { r.Owner.UID = "" },
		"key":          func(r *nodelock.Request) { r.Keys = []string{"no key"} },
		"stands twice": func(r *nodelock.Request) { r.Keys = []string{"a/b", "a/b"} },
	} {
		asked := request("n1", "a")
		change(&asked)
		_, err := w.manager.Acquire(soon(t), asked)
		if !errors.Is(err, nodelock.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v", text, err)
		}
	}
	for _, config := range []nodelock.Config{{}, {Transport: w.store.Transport(), Permits: -1},
		{Transport: w.store.Transport(), Key: "no key"}} {
		if _, err := nodelock.New(config); !errors.Is(err, nodelock.ErrInvalid) {
			t.Errorf("%+v: error %v", config, err)
		}
	}
}

func TestClosingEndsWaitersAndRefusesWhatComesLater(t *testing.T) {
	w := newWorld(t, false, nodelock.Config{})
	lease := w.acquire("n1", "a")
	waiting := w.begin(soon(t), request("n1", "b"))
	if err := w.manager.Close(soon(t)); err != nil {
		t.Error(err)
	}
	if found := <-waiting; !errors.Is(found.err, nodelock.ErrClosed) {
		t.Errorf("the waiter got %v", found.err)
	}
	_, err := w.manager.Acquire(soon(t), request("n1", "c"))
	_, statsErr := w.manager.Stats()
	for _, err := range []error{err, statsErr, lease.Check(soon(t)), lease.Release(soon(t))} {
		if !errors.Is(err, nodelock.ErrClosed) {
			t.Errorf("afterwards it answered %v", err)
		}
	}
	if w.lock("n1") == "" {
		t.Error("the lock of the lease is gone")
	}
	w.store.Close()
	w.store.Close() // a second time is nothing
	_, err = w.store.Get("n1", nodelock.DefaultKey)
	if putErr := w.store.Put("n1", "a/b", nil); !errors.Is(err, nodelock.ErrClosed) ||
		!errors.Is(putErr, nodelock.ErrClosed) {
		t.Errorf("a closed store answered %v, %v", err, putErr)
	}
}

func TestALostLockIsToldAtOnceAndStillToBeEnded(t *testing.T) {
	w := newWorld(t, false, nodelock.Config{})
	lease := w.acquire("n1", "a")
	if lease.LostError() != nil {
		t.Error("it is lost already")
	}
	if err := w.store.Put("n1", nodelock.DefaultKey, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-lease.Lost():
	case <-time.After(patience):
		t.Fatal("nobody told")
	}
	if !errors.Is(lease.LostError(), nodelock.ErrLost) {
		t.Errorf("lost by %v", lease.LostError())
	}
	if err := lease.Check(soon(t)); !errors.Is(err, nodelock.ErrLost) {
		t.Errorf("a check answered %v", err)
	}
	if err := lease.Release(soon(t)); !errors.Is(err, nodelock.ErrLost) {
		t.Errorf("the release answered %v", err)
	}
}

// buffer is a log that several goroutines write.
type buffer struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (b *buffer) Write(line []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(line)
}

func (b *buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

func TestAForgottenLeaseIsReleasedWithAWarning(t *testing.T) {
	var log buffer
	w := newWorld(t, false, nodelock.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_ = w.acquire("n1", "a")
	isFree := eventually(func() bool {
		runtime.GC()
		return w.lock("n1") == ""
	})
	if !isFree {
		t.Fatal("the node is still locked")
	}
	if !strings.Contains(log.String(), "without Release or HandOff") ||
		!strings.Contains(log.String(), "pod=a") {
		t.Errorf("the log says %q", log.String())
	}
}

func TestAForgottenManagerIsClosedWithAWarning(t *testing.T) {
	var log buffer
	store, err := nodelock.NewMemory(false)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	before := runtime.NumGoroutine()
	_, err = nodelock.New(nodelock.Config{Transport: store.Transport(),
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	hasEnded := eventually(func() bool {
		runtime.GC()
		return strings.Contains(log.String(), "without Close") && runtime.NumGoroutine() <= before
	})
	if !hasEnded {
		t.Errorf("%d goroutines, %d before; the log says %q", runtime.NumGoroutine(), before,
			log.String())
	}
}

func TestManyGoroutinesTakeFewNodesAndEachGrantIsAlone(t *testing.T) {
	w := newWorld(t, false, nodelock.Config{})
	const workers, rounds = 32, 20
	var inside [4]sync.Mutex // a second owner of a node would not get it
	var wrong sync.Map
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for round := range rounds {
				node := (worker + round) % len(inside)
				lease, err := w.manager.Acquire(soon(t), request("n"+string(rune('0'+node)),
					"p"+string(rune('a'+worker%26))+string(rune('a'+worker/26))))
				if err != nil {
					wrong.Store(err.Error(), true)
					return
				}
				if inside[node].TryLock() {
					runtime.Gosched()
					inside[node].Unlock()
				} else {
					wrong.Store("two owners", true)
				}
				if err := lease.Release(soon(t)); err != nil {
					wrong.Store(err.Error(), true)
				}
			}
		})
	}
	group.Wait()
	wrong.Range(func(text, _ any) bool {
		t.Error(text)
		return true
	})
	stats, err := w.manager.Stats()
	if err != nil || stats.Grants != workers*rounds || stats.Releases != workers*rounds ||
		stats.Leases != 0 || stats.Waiters != 0 {
		t.Errorf("stats %+v, %v", stats, err)
	}
}

func TestAGrantAndACancelAtOneMomentHaveOneOutcome(t *testing.T) {
	w := newWorld(t, false, nodelock.Config{})
	granted := 0
	for i := range 300 {
		lease := w.acquire("n1", "a")
		ctx, cancel := context.WithCancel(soon(t))
		waiting := w.begin(ctx, request("n1", "b"))
		first, second := cancel, func() { _ = lease.Release(soon(t)) }
		if i%2 == 0 {
			first, second = second, first
		}
		var group sync.WaitGroup
		group.Go(first)
		second()
		group.Wait()
		if found := <-waiting; found.err == nil {
			granted++
			w.release(found.lease)
		} else if !errors.Is(found.err, nodelock.ErrCanceled) {
			t.Fatal(found.err)
		}
		cancel()
	}
	if !eventually(func() bool { return w.lock("n1") == "" }) {
		t.Errorf("the lock is %q", w.lock("n1"))
	}
	t.Logf("%d of 300 granted", granted)
	if granted == 0 || granted == 300 {
		t.Error("only one of the two ever won")
	}
}
