// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock

// #include "native.h"
import "C"

import (
	"context"
	"runtime/cgo"
	"sync"
	"time"
	"unsafe"

	"haminodelock.test/nodelock/internal/native"
)

// Transport is where a manager keeps its locks: a store's (Memory.Transport), Kubernetes'
// (kubernetes.Client.NewTransport), or one written in Go (NewTransport).
type Transport struct {
	object *native.Object
	once   sync.Once // closed
}

// NewNativeTransport wraps a C transport; for the packages of this module. While it lives it uses
// parent, which may be nil, and in the end it is freed by free, which may be nil too.
func NewNativeTransport(pointer unsafe.Pointer, parent *native.Object,
	free func(unsafe.Pointer)) *Transport {
	if parent != nil {
		parent.Retain()
	}
	return &Transport{object: native.NewObject(pointer, func(pointer unsafe.Pointer) {
		if free != nil {
			free(pointer)
		}
		if parent != nil {
			parent.Release()
		}
	})}
}

// Close gives the transport up; it goes when the last manager on it is closed too.
func (t *Transport) Close() {
	t.once.Do(t.object.Release)
}

// Use lends the C transport until done is called; nil once it is closed. For the packages of this
// module.
func (t *Transport) Use() (pointer unsafe.Pointer, done func()) {
	return t.object.Retain(), t.object.Release
}

// Action is what an Edit does.
type Action int

// The actions.
const (
	Read Action = C.HAMI_EDIT_READ // tell the value; change nothing
	Test Action = C.HAMI_EDIT_TEST // the whole call is refused (ErrHeld) unless the value is Expect
	Put  Action = C.HAMI_EDIT_PUT  // like Test, then set it to Value (nil = remove it)
)

// Edit is one named value of a node, and what is to happen with it. A nil text means absent; the
// empty one is a value.
type Edit struct {
	Action Action
	Key    string
	Expect *string
	Value  *string
}

// Result is how a call ended.
type Result struct {
	// Err is nil, or ErrHeld (an expectation failed), ErrNoNode, ErrAccess, ErrInDoubt (sent, and no
	// answer), ErrTransport and ErrNoMemory (surely not applied), ErrProtocol; an error without a
	// code counts as ErrInDoubt. Its text is shown to people.
	Err error
	// Values has one entry an edit, in their order, as they are now. It may be nil with an error.
	Values     []*string
	Version    string    // of the node now; "" = unknown
	ServerTime time.Time // the store's clock; zero = unknown
	Status     int       // HTTP status where there was one
}

const defaultCallTimeout = 5 * time.Second

// timeoutOf is the context's as milliseconds, which C wants to be 1 to 600000.
func timeoutOf(ctx context.Context) C.uint64_t {
	left := defaultCallTimeout
	if deadline, ok := ctx.Deadline(); ok {
		left = max(time.Until(deadline), time.Millisecond)
	}
	return milliseconds(min(left, 10*time.Minute))
}

// Call carries out one call without a manager, as another writer would: for tools and tests. version
// is what the node must still have, "" any. It keeps a thread until the store has answered; the
// context limits it to its deadline (5 s without one), and a cancel before is not noticed.
func (t *Transport) Call(ctx context.Context, node string, edits []Edit, version string) Result {
	if ctx.Err() != nil {
		return Result{Err: &Error{Operation: "call", Code: ErrTransport, Cause: context.Cause(ctx)}}
	}
	pointer, done := t.Use()
	if pointer == nil {
		return Result{Err: &Error{Operation: "call", Code: ErrClosed}}
	}
	defer done()
	var memory texts
	defer memory.free()
	first := (*C.struct_hami_transport_edit)(memory.memory(len(edits),
		unsafe.Sizeof(C.struct_hami_transport_edit{})))
	for i, edit := range edits {
		unsafe.Slice(first, len(edits))[i] = C.struct_hami_transport_edit{
			action: uint32(edit.Action),
			key:    memory.text(edit.Key),
			expect: memory.pointer(edit.Expect),
			value:  memory.pointer(edit.Value),
		}
	}
	var found Result
	handle := native.NewHandle(&found)
	defer native.DeleteHandle(handle)
	code := C.nodelock_go_transport_call((*C.struct_hami_transport)(pointer), memory.text(node), first,
		C.size_t(len(edits)), memory.optional(version), timeoutOf(ctx), C.uintptr_t(handle))
	if code != 0 && found.Err == nil {
		found.Err = failure("call", code, nil, nil)
	}
	return found
}

//export nodelockGoReceived
func nodelockGoReceived(handle C.uintptr_t, result *C.struct_hami_transport_result) {
	found := cgo.Handle(handle).Value().(*Result)
	if result.code != 0 {
		found.Err = &Error{Operation: "call", Code: Code(result.code), Status: int(result.status),
			Text: C.GoString(result.text)}
	}
	if result.values != nil {
		for _, value := range unsafe.Slice(result.values, result.value_count) {
			found.Values = append(found.Values, goText(value))
		}
	}
	found.Version = C.GoString(result.version)
	if result.server_time_us != 0 {
		found.ServerTime = time.UnixMicro(int64(result.server_time_us))
	}
	found.Status = int(result.status)
}

// Inspect asks for facts about an owner, by a consistent read; Revoke makes its pending Bindings fail
// and needs the text to write (node,fence,holder,attempt). Both as Call; ErrNotSupported where the
// transport can't.
func (t *Transport) Inspect(ctx context.Context, node string, owner Owner) (OwnerFacts, error) {
	return t.callOwner(ctx, "inspect", node, owner, "")
}

// Revoke is described at Inspect.
func (t *Transport) Revoke(ctx context.Context, node string, owner Owner,
	revocation string) (OwnerFacts, error) {
	return t.callOwner(ctx, "revoke", node, owner, revocation)
}

func (t *Transport) callOwner(ctx context.Context, operation, node string, owner Owner,
	revocation string) (OwnerFacts, error) {
	if ctx.Err() != nil {
		return OwnerFacts{}, &Error{Operation: operation, Code: ErrTransport,
			Cause: context.Cause(ctx)}
	}
	pointer, done := t.Use()
	if pointer == nil {
		return OwnerFacts{}, &Error{Operation: operation, Code: ErrClosed}
	}
	defer done()
	var memory texts
	defer memory.free()
	asked := memory.owner(owner)
	var found OwnerFacts
	handle := native.NewHandle(&found)
	defer native.DeleteHandle(handle)
	code := C.nodelock_go_transport_call_owner((*C.struct_hami_transport)(pointer), memory.text(node),
		&asked, memory.optional(revocation), timeoutOf(ctx), C.uintptr_t(handle))
	if code != 0 {
		return found, failure(operation, code, nil, nil)
	}
	return found, nil
}

//export nodelockGoReceivedOwner
func nodelockGoReceivedOwner(handle C.uintptr_t, _ C.int, facts *C.struct_hami_owner_facts) {
	if facts != nil {
		*cgo.Handle(handle).Value().(*OwnerFacts) = goFacts(facts)
	}
}
