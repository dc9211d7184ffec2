// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock

// #include "native.h"
import "C"

import (
	"context"
	"errors"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"haminodelock.test/nodelock/internal/native"
)

// Carrier is a transport written in Go: compare-and-set on named values of a node. It knows nothing of
// queues, owners' rights or fences; it carries out calls.
//
//   - All edits of a call are applied in one atomic write, or none.
//   - The first duty is to tell apart what is surely not applied (ErrTransport) from what was sent and
//     not answered (ErrInDoubt). A write that may have been sent twice is in doubt whatever the second
//     answer says, unless that answer is success.
//   - A manager never has two calls for one node in flight.
//
// It may implement OwnerCarrier and WatchCarrier as well.
type Carrier interface {
	// Submit begins to carry out a call and returns: it must not block, nor call the manager. If it
	// answers nil, Call.Done follows exactly once, from any goroutine and possibly inside Submit, at
	// the latest when the call's context ends. If it answers an error, the call will not be completed
	// and surely nothing was applied.
	Submit(call *Call) error
}

// OwnerCarrier is a Carrier that knows owners as well. Without it locks are judged by age alone.
type OwnerCarrier interface {
	Carrier
	// Inspect learns facts about the call's owner; as Submit, completed by OwnerCall.Done.
	Inspect(call *OwnerCall) error
	// Revoke makes every Binding of the owner that is on its way fail: it writes call.Revocation onto
	// the owner, guarded by its UID and by its not being bound. Completed with the facts after the
	// write, or with ErrHeld and facts where the guard refused.
	Revoke(call *OwnerCall) error
}

// WatchCarrier is a Carrier that tells what changes. Without it managers read while somebody waits.
type WatchCarrier interface {
	Carrier
	// Watch starts to tell what changes, by news, until Unwatch. It must not block.
	Watch(news *News) error
	// Unwatch ends that. News that comes after it is dropped.
	Unwatch(news *News)
}

// TransportOptions are what others must know of a Carrier.
type TransportOptions struct {
	Name string // for logs; "go"
	// OnePermit: other readers of the store know one lock a node; more permits are refused.
	OnePermit bool
}

// carriage is a Carrier in the hands of C. mutex guards the maps.
type carriage struct {
	carrier Carrier
	mutex   sync.Mutex
	calls   map[*C.hami_call]context.CancelFunc
	news    map[*C.hami_nodelock]*News
}

// NewTransport makes a transport of a Carrier. Close it after use.
func NewTransport(carrier Carrier, options TransportOptions) (*Transport, error) {
	if carrier == nil {
		return nil, refusal("new transport", ErrInvalid, "carrier is required")
	}
	var t texts
	defer t.free()
	var flags, abilities C.uint32_t
	if options.OnePermit {
		flags = C.HAMI_TRANSPORT_ONE_PERMIT
	}
	if _, ok := carrier.(OwnerCarrier); ok {
		abilities |= C.NODELOCK_GO_OWNERS
	}
	if _, ok := carrier.(WatchCarrier); ok {
		abilities |= C.NODELOCK_GO_WATCH
	}
	if options.Name == "" {
		options.Name = "go"
	}
	handle := native.NewHandle(&carriage{
		carrier: carrier,
		calls:   make(map[*C.hami_call]context.CancelFunc),
		news:    make(map[*C.hami_nodelock]*News),
	})
	made := C.nodelock_go_transport_new(t.text(options.Name), flags, abilities, C.uintptr_t(handle))
	if made == nil {
		native.DeleteHandle(handle)
		return nil, &Error{Operation: "new transport", Code: ErrNoMemory}
	}
	return NewNativeTransport(unsafe.Pointer(made), nil, func(pointer unsafe.Pointer) {
		C.nodelock_go_transport_free((*C.struct_hami_transport)(pointer))
		native.DeleteHandle(handle)
	}), nil
}

// task is one call in flight. C's pointer is used up by done.
type task struct {
	pointer *C.hami_call
	owner   *carriage
	ctx     context.Context
	cancel  context.CancelFunc
	node    string
	isDone  atomic.Bool
}

// begin registers a call, so that an abort finds it.
func (c *carriage) begin(pointer *C.hami_call) task {
	left := min(uint64(C.hami_call_remaining(pointer)), uint64(24*time.Hour))
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(left))
	c.mutex.Lock()
	c.calls[pointer] = cancel
	c.mutex.Unlock()
	return task{pointer: pointer, owner: c, ctx: ctx, cancel: cancel,
		node: C.GoString(C.hami_call_node(pointer))}
}

// finish ends our part of a call; its pointer is the caller's to complete, once.
func (t *task) finish() {
	if t.isDone.Swap(true) {
		panic("nodelock: a transport's call was completed twice")
	}
	t.owner.mutex.Lock()
	delete(t.owner.calls, t.pointer)
	t.owner.mutex.Unlock()
	t.cancel()
}

// refused is what C hears of a Submit that answered an error.
func (t *task) refused(err error) C.int {
	t.finish()
	if code := codeOf(err, ErrTransport); code == ErrAccess || code == ErrNoMemory {
		return C.int(code)
	}
	return C.HAMI_E_TRANSPORT
}

// Context ends at the call's deadline, or earlier when nobody wants its answer any more: complete the
// call then, with ErrInDoubt if it was sent.
func (t *task) Context() context.Context { return t.ctx }

// Node is the node's name.
func (t *task) Node() string { return t.node }

// Call asks for edits of one node.
type Call struct {
	task
	edits   []Edit
	version string
}

// Edits are at least one. They are the call's: don't change them.
func (c *Call) Edits() []Edit { return c.edits }

// Version is what the node must still have, else ErrHeld; "" = any.
func (c *Call) Version() string { return c.version }

// IsWrite tells whether any edit is a Test or Put: the call needs the store's write path.
func (c *Call) IsWrite() bool {
	for _, edit := range c.edits {
		if edit.Action != Read {
			return true
		}
	}
	return false
}

// Done completes the call, exactly once and from any goroutine, with no lock held that Submit takes.
func (c *Call) Done(result Result) {
	c.finish()
	var t texts
	defer t.free()
	native := C.struct_hami_transport_result{
		code:    C.int(codeOf(result.Err, ErrInDoubt)),
		version: t.optional(result.Version),
		status:  C.int(result.Status),
	}
	native.size = C.size_t(unsafe.Sizeof(native))
	if result.Err == nil && len(result.Values) != len(c.edits) {
		native.code = C.HAMI_E_PROTO
		result.Err = errors.New("the transport answered another number of values than was asked for")
	}
	if result.Err != nil {
		native.text = t.text(result.Err.Error())
	}
	if len(result.Values) == len(c.edits) {
		values := (**C.char)(t.memory(len(result.Values), unsafe.Sizeof((*C.char)(nil))))
		for i, value := range result.Values {
			unsafe.Slice(values, len(result.Values))[i] = t.pointer(value)
		}
		native.values = values
		native.value_count = C.size_t(len(result.Values))
	}
	if !result.ServerTime.IsZero() {
		native.server_time_us = C.uint64_t(result.ServerTime.UnixMicro())
	}
	C.hami_call_done(c.pointer, &native)
}

// OwnerCall asks about an owner, or for its revocation.
type OwnerCall struct {
	task
	owner      Owner
	wantsRead  bool
	revocation string
}

// Owner is who is asked about.
func (c *OwnerCall) Owner() Owner { return c.owner }

// WantsRead tells Inspect that only a consistent read begun now answers the question.
func (c *OwnerCall) WantsRead() bool { return c.wantsRead }

// Revocation is the text that Revoke is to write; new for each call.
func (c *OwnerCall) Revocation() string { return c.revocation }

// Done completes the call as Call.Done does: nil, or ErrHeld with facts (Revoke only), ErrAccess,
// ErrTransport, ErrProtocol, ErrNoMemory, ErrInDoubt (Revoke only). isRead tells that the facts come
// from a consistent read begun in this call, rather than from a watch.
func (c *OwnerCall) Done(facts OwnerFacts, isRead bool, err error) {
	c.finish()
	var t texts
	defer t.free()
	var native C.struct_hami_owner_facts
	source := uint32(C.HAMI_FACTS_WATCH)
	if isRead {
		source = C.HAMI_FACTS_READ
	}
	facts.fill(&native, source, &t)
	other := ErrTransport // of a read that failed nothing is in doubt
	if c.revocation != "" {
		other = ErrInDoubt
	}
	code := codeOf(err, other)
	pointer, text := &native, (*C.char)(nil)
	if code != 0 && code != ErrHeld {
		pointer = nil
	}
	if err != nil {
		text = t.text(err.Error())
	}
	C.hami_call_done_owner(c.pointer, C.int(code), pointer, text)
}

func carriageOf(handle C.uintptr_t) *carriage {
	return cgo.Handle(handle).Value().(*carriage)
}

//export nodelockGoSubmit
func nodelockGoSubmit(handle C.uintptr_t, pointer *C.hami_call) C.int {
	c := carriageOf(handle)
	call := &Call{task: c.begin(pointer), version: C.GoString(C.hami_call_version(pointer))}
	var count C.size_t
	edits := C.hami_call_edits(pointer, &count)
	for _, edit := range unsafe.Slice(edits, count) {
		call.edits = append(call.edits, Edit{Action: Action(edit.action), Key: C.GoString(edit.key),
			Expect: goText(edit.expect), Value: goText(edit.value)})
	}
	if err := c.carrier.Submit(call); err != nil {
		return call.refused(err)
	}
	return 0
}

//export nodelockGoAbort
func nodelockGoAbort(handle C.uintptr_t, pointer *C.hami_call) {
	c := carriageOf(handle)
	c.mutex.Lock()
	cancel := c.calls[pointer]
	c.mutex.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (c *carriage) beginOwner(pointer *C.hami_call) *OwnerCall {
	return &OwnerCall{
		task:       c.begin(pointer),
		owner:      goOwner(C.hami_call_owner(pointer)),
		wantsRead:  bool(C.hami_call_wants_read(pointer)),
		revocation: C.GoString(C.hami_call_revocation(pointer)),
	}
}

//export nodelockGoInspect
func nodelockGoInspect(handle C.uintptr_t, pointer *C.hami_call) C.int {
	c := carriageOf(handle)
	call := c.beginOwner(pointer)
	if err := c.carrier.(OwnerCarrier).Inspect(call); err != nil {
		return call.refused(err)
	}
	return 0
}

//export nodelockGoRevoke
func nodelockGoRevoke(handle C.uintptr_t, pointer *C.hami_call) C.int {
	c := carriageOf(handle)
	call := c.beginOwner(pointer)
	if err := c.carrier.(OwnerCarrier).Revoke(call); err != nil {
		return call.refused(err)
	}
	return 0
}
