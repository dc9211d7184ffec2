// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock

// #include "native.h"
import "C"

import (
	"context"
	"math"
	"runtime/cgo"
	"sync"
	"time"
	"unsafe"

	"haminodelock.test/nodelock/internal/native"
)

// Owner is who a lock is for: a pod. Without Kubernetes any unique text will do for UID.
type Owner struct {
	Namespace string
	Name      string
	UID       string
}

// Request is what is asked.
type Request struct {
	Node     string
	Owner    Owner
	Keys     []string // all in one grant and one write; the manager's key if empty
	Priority int32    // higher goes first, but a waiter is overtaken Config.OvertakenMax times at most
	Group    string   // its members, of one namespace and priority, are served one after the other
}

// acquisition is one acquire from its start to its callback. mutex guards wait and ended, and keeps
// C from freeing the wait while it is aborted: its callback waits for it.
type acquisition struct {
	manager *Manager
	ctx     context.Context
	request Request
	deliver func(*Lease, error)

	mutex sync.Mutex
	wait  *C.hami_wait
	stop  func() bool
	ended bool
}

// deadlineOf is the context's deadline on C's clock.
func deadlineOf(ctx context.Context) C.uint64_t {
	deadline, ok := ctx.Deadline()
	if !ok {
		return math.MaxUint64
	}
	left := time.Until(deadline)
	if left <= 0 {
		return 0
	}
	return monotonic() + C.uint64_t(left)
}

func monotonic() C.uint64_t {
	return C.nodelock_go_now()
}

// hasOwnDeadline tells whether C ends the call by itself, and says more than the context does.
func hasOwnDeadline(ctx context.Context) bool {
	_, ok := ctx.Deadline()
	return ok && ctx.Err() == context.DeadlineExceeded
}

func (r *Request) fill(native *C.struct_hami_nodelock_request, t *texts) {
	native.size = C.size_t(unsafe.Sizeof(*native))
	native.node = t.text(r.Node)
	native.owner = t.owner(r.Owner)
	native.keys = t.list(r.Keys)
	native.key_count = C.size_t(len(r.Keys))
	native.priority = C.int32_t(r.Priority)
	native.group = t.optional(r.Group)
}

// Acquire takes the node's lock for an owner: it waits in the order of arrival, and for any foreign
// lock to go, until the context ends. The same UID asking again gets a share of the grant that it has.
//
// On success the lock stands in the store and the lease is the caller's, to be ended by Release or
// HandOff. On failure nothing is held; what was in doubt is undone in the background:
//
//   - ErrTimedOut (and context.DeadlineExceeded): the text says behind whom
//   - ErrCanceled (and context.Canceled, and the context's cause)
//   - ErrLost: the owner can't use a lock: gone, another uid, finished, bound already, ..
//   - ErrNoNode, ErrAccess, ErrProtocol, ErrLimit, ErrClosed, ErrInvalid
//
// A cancel that comes after the grant changes nothing.
func (m *Manager) Acquire(ctx context.Context, request Request) (*Lease, error) {
	return m.acquire(ctx, request, false)
}

// TryAcquire takes the lock only if that needs no waiting for others: it never queues. Beside the
// errors of Acquire it answers ErrBusy (taken in this process, or others wait), ErrHeld (the store
// names another owner; the text names it) and ErrTransport. The context limits its round trips.
func (m *Manager) TryAcquire(ctx context.Context, request Request) (*Lease, error) {
	return m.acquire(ctx, request, true)
}

func (m *Manager) acquire(ctx context.Context, request Request, try bool) (*Lease, error) {
	type outcome struct {
		lease *Lease
		err   error
	}
	ended := make(chan outcome, 1)
	err := m.start(ctx, request, try, func(lease *Lease, err error) {
		ended <- outcome{lease, err}
	})
	if err != nil {
		return nil, err
	}
	found := <-ended
	return found.lease, found.err
}

// AcquireFunc starts an Acquire and returns. If it answers nil, done is called exactly once, on the
// manager's goroutine and nowhere else, with what Acquire would have answered; done must not block,
// so it may start further calls but wait for none. If it answers an error, done is not called.
func (m *Manager) AcquireFunc(ctx context.Context, request Request,
	done func(*Lease, error)) error {
	return m.start(ctx, request, false, done)
}

func (m *Manager) start(ctx context.Context, request Request, try bool,
	deliver func(*Lease, error)) error {
	if !m.core.enter() {
		return &Error{Operation: "acquire", Code: ErrClosed}
	}
	defer m.core.leave()
	var t texts
	defer t.free()
	var asked C.struct_hami_nodelock_request
	request.fill(&asked, &t)
	asked.deadline_ns = deadlineOf(ctx)
	if ctx.Err() == context.Canceled {
		return &Error{Operation: "acquire", Code: ErrCanceled, Cause: causeOf(ctx, ErrCanceled)}
	}
	one := &acquisition{manager: m, ctx: ctx, request: request, deliver: deliver}
	handle := native.NewHandle(one)
	one.mutex.Lock()
	defer one.mutex.Unlock()
	var detail C.struct_hami_error
	detail.size = C.size_t(unsafe.Sizeof(detail))
	code := C.nodelock_go_acquire_start(m.core.lock, &asked, C.bool(try), C.uintptr_t(handle),
		&one.wait, &detail)
	if code != 0 {
		native.DeleteHandle(handle)
		return failure("acquire", code, &detail, nil)
	}
	if ctx.Done() != nil {
		one.stop = context.AfterFunc(ctx, one.abort)
	}
	return nil
}

// abort ends the wait of a cancelled context.
func (a *acquisition) abort() {
	core := a.manager.core
	if hasOwnDeadline(a.ctx) || !core.enter() {
		return
	}
	defer core.leave()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if !a.ended {
		C.hami_wait_abort(a.wait)
	}
}

//export nodelockGoAcquired
func nodelockGoAcquired(handle C.uintptr_t, code C.int, lease *C.hami_lease,
	detail *C.struct_hami_error) {
	a := cgo.Handle(handle).Value().(*acquisition)
	native.DeleteHandle(cgo.Handle(handle))
	a.mutex.Lock()
	a.ended = true
	a.mutex.Unlock()
	if a.stop != nil {
		a.stop()
	}
	if code != 0 {
		a.deliver(nil, failure("acquire", code, detail, a.ctx))
		return
	}
	a.deliver(newLease(a.manager, lease, a.request), nil)
}
