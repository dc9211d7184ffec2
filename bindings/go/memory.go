// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock

// #include <stdlib.h>
// #include "native.h"
import "C"

import (
	"sync"
	"unsafe"

	"haminodelock.test/nodelock/internal/native"
)

// Memory is a store in memory: for programs without Kubernetes, and for tests. Several managers may
// share one; each change is told to all of them.
type Memory struct {
	object    *native.Object
	transport *Transport
	once      sync.Once // closed
}

// NewMemory makes an empty store. A node exists from its first value on; a lock that is taken makes
// one too. With owners the store knows pods as well (PutOwner), and locks are judged by them; without,
// by age alone.
func NewMemory(owners bool) (*Memory, error) {
	var flags C.uint32_t
	var memory *C.hami_memory
	if owners {
		flags = C.HAMI_MEMORY_OWNERS
	}
	if code := C.hami_memory_new(flags, &memory); code != 0 {
		return nil, failure("new memory", code, nil, nil)
	}
	object := native.NewObject(unsafe.Pointer(memory), func(pointer unsafe.Pointer) {
		C.hami_memory_free((*C.hami_memory)(pointer))
	})
	transport := NewNativeTransport(unsafe.Pointer(C.hami_memory_transport(memory)), object, nil)
	return &Memory{object: object, transport: transport}, nil
}

// Close gives the store up; it goes when the last manager on it is closed too.
func (m *Memory) Close() {
	m.transport.Close()
	m.once.Do(m.object.Release)
}

// Transport is what goes into Config. It is closed with the store.
func (m *Memory) Transport() *Transport {
	return m.transport
}

// Put writes one value of a node as another writer would, without looking; nil removes it.
func (m *Memory) Put(node, key string, value *string) error {
	var t texts
	defer t.free()
	return m.call("put", func(memory *C.hami_memory) C.int {
		return C.hami_memory_put(memory, t.text(node), t.text(key), t.pointer(value))
	})
}

// Get reads one value of a node; nil if there is no such value, ErrNoNode if no such node.
func (m *Memory) Get(node, key string) (*string, error) {
	var t texts
	defer t.free()
	for size := 4096; ; size *= 4 {
		buffer := (*C.char)(t.memory(size, 1))
		err := m.call("get", func(memory *C.hami_memory) C.int {
			return C.hami_memory_get(memory, t.text(node), t.text(key), buffer, C.size_t(size))
		})
		switch codeOf(err, 0) {
		case ErrLimit:
			continue
		case ErrLost:
			return nil, nil
		default:
			if err != nil {
				return nil, err
			}
			return goText(buffer), nil
		}
	}
}

// Delete removes a node with all its values.
func (m *Memory) Delete(node string) error {
	var t texts
	defer t.free()
	return m.call("delete", func(memory *C.hami_memory) C.int {
		return C.hami_memory_delete(memory, t.text(node))
	})
}

// PutOwner says what is so of an owner, replacing what was said before; Exists false removes it. Its
// uid is facts.UID.
func (m *Memory) PutOwner(namespace, name string, facts OwnerFacts) error {
	var t texts
	defer t.free()
	owner := t.owner(Owner{namespace, name, facts.UID})
	var native C.struct_hami_owner_facts
	facts.fill(&native, C.HAMI_FACTS_READ, &t)
	return m.call("put owner", func(memory *C.hami_memory) C.int {
		return C.hami_memory_put_owner(memory, &owner, &native)
	})
}

// BindOwner binds an owner to a node as an API server does: ErrLost unless it exists with that UID, is
// not bound, not being deleted, and has the version ("" = any).
func (m *Memory) BindOwner(owner Owner, node, version string) error {
	var t texts
	defer t.free()
	asked := t.owner(owner)
	return m.call("bind owner", func(memory *C.hami_memory) C.int {
		return C.hami_memory_bind_owner(memory, &asked, t.text(node), t.optional(version))
	})
}

func (m *Memory) call(operation string, do func(*C.hami_memory) C.int) error {
	pointer := m.object.Retain()
	if pointer == nil {
		return &Error{Operation: operation, Code: ErrClosed}
	}
	defer m.object.Release()
	if code := do((*C.hami_memory)(pointer)); code != 0 {
		return failure(operation, code, nil, nil)
	}
	return nil
}
