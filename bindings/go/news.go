// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock

// #include "native.h"
import "C"

import (
	"sync"
	"unsafe"
)

// News is how a WatchCarrier tells one manager what changes. Its methods may be called from any
// goroutine; stale or repeated news is harmless.
type News struct {
	mutex sync.RWMutex
	lock  *C.hami_nodelock // nil after Unwatch
}

// tell runs do unless the watch is over; then it answers ErrClosed.
func (n *News) tell(do func(*C.hami_nodelock) C.int) error {
	n.mutex.RLock()
	defer n.mutex.RUnlock()
	if n.lock == nil {
		return &Error{Operation: "observe", Code: ErrClosed}
	}
	if code := do(n.lock); code != 0 {
		return failure("observe", code, nil, nil)
	}
	return nil
}

// Observe tells how a node was seen: all its annotations (others than locks and leases are ignored)
// and its version, "" if unknown.
func (n *News) Observe(node, version string, annotations map[string]string) error {
	var t texts
	defer t.free()
	first := (*C.struct_hami_annotation)(t.memory(len(annotations),
		unsafe.Sizeof(C.struct_hami_annotation{})))
	all, i := unsafe.Slice(first, len(annotations)), 0
	for key, value := range annotations {
		all[i] = C.struct_hami_annotation{key: t.text(key), value: t.text(value)}
		i++
	}
	record := C.struct_hami_node_record{version: t.optional(version), annotations: first,
		annotation_count: C.size_t(len(annotations))}
	record.size = C.size_t(unsafe.Sizeof(record))
	return n.tell(func(lock *C.hami_nodelock) C.int {
		return C.hami_nodelock_observe(lock, t.text(node), &record)
	})
}

// ObserveOwner tells what was seen of an owner.
func (n *News) ObserveOwner(namespace, name string, facts OwnerFacts) error {
	var t texts
	defer t.free()
	owner := t.owner(Owner{namespace, name, facts.UID})
	var native C.struct_hami_owner_facts
	facts.fill(&native, C.HAMI_FACTS_WATCH, &t)
	return n.tell(func(lock *C.hami_nodelock) C.int {
		return C.hami_nodelock_observe_owner(lock, &owner, &native)
	})
}

// Forget tells that a node is gone.
func (n *News) Forget(node string) error {
	var t texts
	defer t.free()
	return n.tell(func(lock *C.hami_nodelock) C.int {
		return C.hami_nodelock_forget(lock, t.text(node))
	})
}

//export nodelockGoWatch
func nodelockGoWatch(handle C.uintptr_t, lock *C.hami_nodelock) C.int {
	c := carriageOf(handle)
	news := &News{lock: lock}
	if err := c.carrier.(WatchCarrier).Watch(news); err != nil {
		news.lock = nil
		return C.int(codeOf(err, ErrTransport))
	}
	c.mutex.Lock()
	c.news[lock] = news
	c.mutex.Unlock()
	return 0
}

//export nodelockGoUnwatch
func nodelockGoUnwatch(handle C.uintptr_t, lock *C.hami_nodelock) {
	c := carriageOf(handle)
	c.mutex.Lock()
	news := c.news[lock]
	delete(c.news, lock)
	c.mutex.Unlock()
	c.carrier.(WatchCarrier).Unwatch(news)
	news.mutex.Lock()
	news.lock = nil
	news.mutex.Unlock()
}
