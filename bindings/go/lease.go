// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock

// #include "native.h"
import "C"

import (
	"context"
	"runtime"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"haminodelock.test/nodelock/internal/native"
)

// Lease is a lock that is held. End it exactly once, by Release or HandOff; a later one answers
// ErrConsumed, so that `defer lease.Release(ctx)` before a HandOff does no harm.
//
// A lease that is garbage collected without either is released, and a warning is logged. That is a
// net below a mistake: nobody knows when it comes, and the node is locked until then.
//
// Its methods may be called from any goroutine; those that talk to the store wait for each other.
type Lease struct {
	manager *Manager // who holds a lease does not lose the manager
	state   *leaseState
	net     runtime.Cleanup
}

// leaseState is what is left when the program has lost its Lease.
//
// turn holds one word: whoever has taken it out may use pointer, and puts it back. C wants one caller
// at a time, and none consuming while another's answer is on its way. isEnded says that somebody
// consumes it, perhaps when its turn has come.
type leaseState struct {
	core    *manager
	turn    chan struct{}
	pointer *C.hami_lease // nil once consumed
	isEnded atomic.Bool
	node    string
	owner   Owner
	fence   uint64

	lost      chan struct{}
	lostMutex sync.Mutex
	lostError error
}

func newLease(m *Manager, pointer *C.hami_lease, request Request) *Lease {
	state := &leaseState{
		core:    m.core,
		turn:    make(chan struct{}, 1),
		pointer: pointer,
		node:    request.Node,
		owner:   request.Owner,
		fence:   uint64(C.hami_lease_fence(pointer)),
		lost:    make(chan struct{}),
	}
	state.turn <- struct{}{}
	m.core.leasesMutex.Lock()
	m.core.leases[pointer] = state
	m.core.leasesMutex.Unlock()
	made := &Lease{manager: m, state: state}
	made.net = runtime.AddCleanup(made, (*leaseState).forgotten, state)
	return made
}

// Node tells which node is locked.
func (l *Lease) Node() string { return l.state.node }

// Owner tells for whom.
func (l *Lease) Owner() Owner { return l.state.owner }

// Fence tells the grant's number: larger with each grant on the node. What acts for the owner of a
// lower one is too late.
func (l *Lease) Fence() uint64 { return l.state.fence }

// Lost is closed when the lock was seen to stand in the store no longer, though it is still held
// here. The lease is still to be ended.
func (l *Lease) Lost() <-chan struct{} { return l.state.lost }

// LostError tells why, after Lost is closed; nil before.
func (l *Lease) LostError() error {
	l.state.lostMutex.Lock()
	defer l.state.lostMutex.Unlock()
	return l.state.lostError
}

// LeaseFacts is what a lease says of itself.
type LeaseFacts struct {
	Node         string
	Owner        Owner
	Key          string // the first key of the grant
	Value        string // the lock's value as written
	Holder       string // holder id in the lease annotation
	Fence        uint64
	Attempt      uint64 // the writer's attempt number
	OwnerVersion string // the owner's version read before the lock was written; "" = unknown
	OwnerRevoked string // the owner's revocation at that time; "" = none
}

// Facts describes the lease, among it what the take was judged by.
func (l *Lease) Facts() (LeaseFacts, error) {
	state := l.state
	if err := state.take(); err != nil {
		return LeaseFacts{}, err
	}
	defer state.put()
	var view C.struct_hami_lease_view
	view.size = C.size_t(unsafe.Sizeof(view))
	if code := C.hami_lease_facts(state.pointer, &view); code != 0 {
		return LeaseFacts{}, failure("facts", code, nil, nil)
	}
	return LeaseFacts{
		Node:         C.GoString(view.node),
		Owner:        goOwner(&view.owner),
		Key:          C.GoString(view.key),
		Value:        C.GoString(view.value),
		Holder:       C.GoString(view.holder),
		Fence:        uint64(view.fence),
		Attempt:      uint64(view.attempt),
		OwnerVersion: C.GoString(view.owner_version),
		OwnerRevoked: C.GoString(view.owner_revoked),
	}, nil
}

// Release gives the lock back; it ends the lease whatever it answers. Where the owner is not known to
// be bound and the transport can revoke, the owner's pending Binding is revoked first.
//
// It waits until the context ends; the work goes on behind. Answers nil where the lock was removed,
// where another share of the same grant keeps it, or where the owner turned out bound and not yet
// served (that is a hand-off then); else:
//
//   - ErrLost: the lock was another's by now; nothing was touched
//   - ErrNoNode: the node is gone, and the lock with it
//   - ErrInDoubt: not known when the context ended
//   - ErrClosed, ErrForked: counts as handed off
func (l *Lease) Release(ctx context.Context) error {
	return l.end(ctx, "release", func(state *leaseState) error {
		return state.begin(ctx, "release", func(completion C.uintptr_t) C.int {
			return C.nodelock_go_release_start(state.pointer, deadlineOf(ctx), completion)
		}, nil)
	})
}

// HandOff lets go of the lease and leaves the lock standing: the node side removes it when the owner
// has its devices. What to call once the owner is bound, or may be. It does no I/O.
func (l *Lease) HandOff() error {
	return l.end(context.Background(), "hand-off", func(state *leaseState) error {
		if code := C.hami_lease_handoff(state.pointer); code != 0 {
			return failure("hand-off", code, nil, nil)
		}
		return nil
	})
}

// Check reads the store: is the lock still this grant's? Answers nil if it is, by a read begun in this
// call, ErrLost if not, ErrInDoubt where the context ended before an answer came.
func (l *Lease) Check(ctx context.Context) error {
	defer runtime.KeepAlive(l)
	for {
		piece, stop := context.WithTimeout(ctx, checkPiece)
		err := l.state.check(piece)
		stop()
		if codeOf(err, 0) != ErrInDoubt || ctx.Err() != nil {
			return err
		}
	}
}

// checkPiece is how long C may go on with a check whose context was cancelled: whoever wants to end
// the lease waits for it.
const checkPiece = 2 * time.Second

func (s *leaseState) check(ctx context.Context) error {
	if err := s.take(); err != nil {
		return err
	}
	return s.begin(ctx, "check", func(completion C.uintptr_t) C.int {
		return C.nodelock_go_check_start(s.pointer, deadlineOf(ctx), completion)
	}, s.put)
}

// end consumes the lease by what `how` does; behind, where the context ends before its turn has come.
func (l *Lease) end(ctx context.Context, operation string, how func(*leaseState) error) error {
	state := l.state
	if state.isEnded.Swap(true) {
		return ErrConsumed
	}
	l.net.Stop()
	select {
	case <-state.turn:
	default:
		select {
		case <-state.turn:
		case <-ctx.Done():
			go state.releaseBehind()
			return &Error{Operation: operation, Code: ErrInDoubt, Cause: causeOf(ctx, ErrCanceled),
				Text: "the lease is in use; it is given back after that"}
		}
	}
	defer state.put()
	state.forget()
	err := how(state)
	if code := codeOf(err, 0); code == ErrNoMemory {
		C.nodelock_go_release_start(state.pointer, soonEnough(), 0) // needs none
	}
	state.pointer = nil
	return err
}

// forget takes it out of the manager's list, so that no news of its loss finds it.
func (s *leaseState) forget() {
	s.core.leasesMutex.Lock()
	delete(s.core.leases, s.pointer)
	s.core.leasesMutex.Unlock()
}

func (s *leaseState) take() error {
	<-s.turn
	if s.isEnded.Load() {
		s.turn <- struct{}{}
		return ErrConsumed
	}
	return nil
}

func (s *leaseState) put() { s.turn <- struct{}{} }

// completion is told how a release or a check ended.
type completion struct {
	operation string
	ended     chan error
	after     func()
}

// begin starts what completes later and waits for it, or for the context. after is called when it
// has completed, or could not be started.
func (s *leaseState) begin(ctx context.Context, operation string,
	start func(C.uintptr_t) C.int, after func()) error {
	one := &completion{operation: operation, ended: make(chan error, 1), after: after}
	handle := native.NewHandle(one)
	if code := start(C.uintptr_t(handle)); code != 0 {
		native.DeleteHandle(handle)
		if after != nil {
			after()
		}
		return failure(operation, code, nil, nil)
	}
	select {
	case err := <-one.ended:
		return err
	case <-ctx.Done():
	}
	if hasOwnDeadline(ctx) {
		return <-one.ended
	}
	return &Error{Operation: operation, Code: ErrInDoubt, Cause: causeOf(ctx, ErrCanceled),
		Text: "it goes on behind"}
}

//export nodelockGoCompleted
func nodelockGoCompleted(handle C.uintptr_t, code C.int, detail *C.struct_hami_error) {
	one := cgo.Handle(handle).Value().(*completion)
	native.DeleteHandle(cgo.Handle(handle))
	if one.after != nil {
		one.after()
	}
	if code == 0 {
		one.ended <- nil
	} else {
		one.ended <- failure(one.operation, code, detail, nil)
	}
}

// setLost tells the holder, once.
func (s *leaseState) setLost(err error) {
	s.lostMutex.Lock()
	defer s.lostMutex.Unlock()
	if s.lostError == nil {
		s.lostError = err
		close(s.lost)
	}
}

// soonEnough is the deadline of a release that nobody waits for.
func soonEnough() C.uint64_t {
	return monotonic() + C.uint64_t(5*time.Second)
}

// releaseBehind gives back what nobody else will end, when its turn has come.
func (s *leaseState) releaseBehind() {
	<-s.turn
	defer s.put()
	s.forget()
	C.nodelock_go_release_start(s.pointer, soonEnough(), 0)
	s.pointer = nil
}

// forgotten is the net below a lease that was never ended.
func (s *leaseState) forgotten() {
	if s.isEnded.Swap(true) {
		return
	}
	s.core.warn("a nodelock.Lease was garbage collected without Release or HandOff; releasing it now",
		"node", s.node, "namespace", s.owner.Namespace, "pod", s.owner.Name)
	go s.releaseBehind()
}

func init() {
	native.BorrowLease = func(lease any) (unsafe.Pointer, func(), error) {
		held := lease.(*Lease)
		if err := held.state.take(); err != nil {
			return nil, nil, err
		}
		return unsafe.Pointer(held.state.pointer), func() {
			held.state.put()
			runtime.KeepAlive(held)
		}, nil
	}
}
