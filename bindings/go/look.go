// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock

// #include "native.h"
import "C"

import (
	"runtime/cgo"
	"time"
	"unsafe"

	"haminodelock.test/nodelock/internal/native"
)

// Stats are totals since New, and gauges.
type Stats struct {
	Grants      uint64 // leases given, shares included
	Timeouts    uint64 // acquires that ended ErrTimedOut
	Cancels     uint64
	Refusals    uint64 // acquires that ended otherwise
	HandOffs    uint64
	Releases    uint64 // locks removed or handed over by us
	HandOvers   uint64 // of these, in one write to the next waiter
	Takeovers   uint64 // locks taken from an owner on proof or age
	Revocations uint64
	Lost        uint64 // held leases that vanished from the store
	InDoubt     uint64 // writes whose answer was not believed or did not come
	Undone      uint64 // takes that nobody wanted any more
	Alarms      uint64 // expired owners that still wait for Allocate
	Calls       uint64 // transport calls submitted
	Waiters     int    // waiting now
	Leases      int    // not consumed yet
	Nodes       int    // known now

	RefusedFull      uint64 // of the refusals: the node's queue was full
	RefusedNamespace uint64 // the namespace's part of it was full
	RefusedEarly     uint64 // the turn could not come before the deadline
	RefusedStalled   uint64 // the holder stalled

	Beside uint64 // of the grants: given while another pod had a permit of the node
}

// Stats reads totals and gauges.
func (m *Manager) Stats() (Stats, error) {
	if !m.core.enter() {
		return Stats{}, &Error{Operation: "stats", Code: ErrClosed}
	}
	defer m.core.leave()
	var found C.struct_hami_nodelock_stats
	found.size = C.size_t(unsafe.Sizeof(found))
	if code := C.hami_nodelock_stats(m.core.lock, &found); code != 0 {
		return Stats{}, failure("stats", code, nil, nil)
	}
	return Stats{
		Grants:      uint64(found.grants),
		Timeouts:    uint64(found.timeouts),
		Cancels:     uint64(found.cancels),
		Refusals:    uint64(found.refusals),
		HandOffs:    uint64(found.handoffs),
		Releases:    uint64(found.releases),
		HandOvers:   uint64(found.hand_overs),
		Takeovers:   uint64(found.takeovers),
		Revocations: uint64(found.revocations),
		Lost:        uint64(found.lost),
		InDoubt:     uint64(found.in_doubt),
		Undone:      uint64(found.undone),
		Alarms:      uint64(found.alarms),
		Calls:       uint64(found.calls),
		Waiters:     int(found.waiters),
		Leases:      int(found.leases),
		Nodes:       int(found.nodes),

		RefusedFull:      uint64(found.refused_full),
		RefusedNamespace: uint64(found.refused_namespace),
		RefusedEarly:     uint64(found.refused_early),
		RefusedStalled:   uint64(found.refused_stalled),
		Beside:           uint64(found.beside),
	}, nil
}

// SlotState is how a lock stands.
type SlotState int

// The states.
const (
	SlotUnknown   SlotState = C.HAMI_SLOT_UNKNOWN    // the store was not read yet
	SlotFree      SlotState = C.HAMI_SLOT_FREE       //
	SlotAcquiring SlotState = C.HAMI_SLOT_ACQUIRING  // our write is in flight or in doubt
	SlotHeld      SlotState = C.HAMI_SLOT_HELD       // a lease of this process stands
	SlotHandedOff SlotState = C.HAMI_SLOT_HANDED_OFF // ours, waiting for the node side
	SlotReleasing SlotState = C.HAMI_SLOT_RELEASING  //
	SlotForeign   SlotState = C.HAMI_SLOT_FOREIGN    // another writer's
)

// String gives a word for people.
func (s SlotState) String() string {
	words := [...]string{"unknown", "free", "acquiring", "held", "handed off", "releasing", "foreign"}
	if s < 0 || int(s) >= len(words) {
		return "?"
	}
	return words[s]
}

// Slot is one lock of a node.
type Slot struct {
	Key    string
	State  SlotState
	Value  *string // lock annotation as last seen
	Lease  *string // lease annotation as last seen
	Owner  Owner   // empty where unknown
	Holder string
	Fence  uint64
	Age    time.Duration // since this very pair is seen
	Alarm  bool          // stands past its age while its owner still waits for Allocate
	Reason string        // why it is not free, or what would free it
}

// Waiter is one who waits. Position counts from 0 in the order in which they would be served now.
type Waiter struct {
	Owner    Owner
	Position int
	Priority int32
	Waited   time.Duration
	Left     time.Duration // until its deadline; huge if it has none

	Group     string        // empty = none
	Overtaken int           // times that somebody who came later was put before it
	Expected  time.Duration // until its turn, by the node's pace; 0 = next, or not measured
}

// HandOverKind is how a lock came to its owner.
type HandOverKind int

// The kinds.
const (
	HandOverTake     HandOverKind = C.HAMI_HAND_OVER_TAKE     // it was free
	HandOverDirect   HandOverKind = C.HAMI_HAND_OVER_DIRECT   // released to this waiter, in one write
	HandOverTakeover HandOverKind = C.HAMI_HAND_OVER_TAKEOVER // taken from its owner on proof or age
	HandOverOwn      HandOverKind = C.HAMI_HAND_OVER_OWN      // the owner's own lock, taken again
	HandOverForeign  HandOverKind = C.HAMI_HAND_OVER_FOREIGN  // another writer's doing
)

// HandOver is one hand-over of a lock.
type HandOver struct {
	Key    string
	Kind   HandOverKind
	Reason string        // the proof of a takeover
	From   Owner         // empty where unknown
	To     Owner         //
	Held   time.Duration // how long From was seen to hold it
	Ago    time.Duration
	Fence  uint64
}

// Node is a consistent picture of one node.
type Node struct {
	Name    string
	Slots   []Slot
	Waiters []Waiter

	HandOvers []HandOver    // the newest first
	Pace      time.Duration // how long a lock is held here, of late; 0 = not measured
	Refusals  uint64        // acquires that ended with ErrLimit
}

// Snapshot shows each node that is known, or the one that is named: ErrNoNode if it is not known.
func (m *Manager) Snapshot(node string) ([]Node, error) {
	if !m.core.enter() {
		return nil, &Error{Operation: "snapshot", Code: ErrClosed}
	}
	defer m.core.leave()
	var t texts
	defer t.free()
	var found []Node
	handle := native.NewHandle(&found)
	defer native.DeleteHandle(handle)
	code := C.nodelock_go_snapshot(m.core.lock, t.optional(node), C.uintptr_t(handle))
	if code != 0 {
		return nil, failure("snapshot", code, nil, nil)
	}
	return found, nil
}

func between(from, to C.uint64_t) time.Duration {
	if from == 0 || to <= from {
		return 0
	}
	return time.Duration(min(uint64(to-from), 1<<62))
}

//export nodelockGoVisit
func nodelockGoVisit(handle C.uintptr_t, view *C.struct_hami_node_view) {
	found := cgo.Handle(handle).Value().(*[]Node)
	now := monotonic()
	node := Node{Name: C.GoString(view.node)}
	for _, slot := range unsafe.Slice(view.slots, view.slot_count) {
		node.Slots = append(node.Slots, Slot{
			Key:    C.GoString(slot.key),
			State:  SlotState(slot.state),
			Value:  goText(slot.value),
			Lease:  goText(slot.lease),
			Owner:  goOwner(&slot.owner),
			Holder: C.GoString(slot.holder),
			Fence:  uint64(slot.fence),
			Age:    between(slot.since_ns, now),
			Alarm:  bool(slot.alarm),
			Reason: C.GoString(slot.reason),
		})
	}
	for _, waiter := range unsafe.Slice(view.waiters, view.waiter_count) {
		node.Waiters = append(node.Waiters, Waiter{
			Owner:    goOwner(&waiter.owner),
			Position: int(waiter.position),
			Priority: int32(waiter.priority),
			Waited:   between(waiter.since_ns, now),
			Left:     between(now, waiter.deadline_ns),

			Group:     C.GoString(waiter.group),
			Overtaken: int(waiter.overtaken),
			Expected:  between(1, waiter.expected_ns+1),
		})
	}
	for _, one := range unsafe.Slice(view.hand_overs, view.hand_over_count) {
		node.HandOvers = append(node.HandOvers, HandOver{
			Key:    C.GoString(one.key),
			Kind:   HandOverKind(one.how),
			Reason: C.GoString(one.reason),
			From:   goOwner(&one.from),
			To:     goOwner(&one.to),
			Held:   between(1, one.held_ns+1),
			Ago:    between(one.at_ns, now),
			Fence:  uint64(one.fence),
		})
	}
	node.Pace = between(1, view.pace_ns+1)
	node.Refusals = uint64(view.refusals)
	*found = append(*found, node)
}
