// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock

// #include "native.h"
import "C"

import "unsafe"

// BindPhase is how far the handshake between scheduler and node side has come.
type BindPhase int

// The phases.
const (
	PhaseNone       BindPhase = C.HAMI_BIND_PHASE_NONE
	PhaseAllocating BindPhase = C.HAMI_BIND_PHASE_ALLOCATING
	PhaseSuccess    BindPhase = C.HAMI_BIND_PHASE_SUCCESS
	PhaseFailed     BindPhase = C.HAMI_BIND_PHASE_FAILED
)

// OwnerFacts is what a store knows about an owner.
type OwnerFacts struct {
	Exists       bool // a pod of that namespace and name exists
	Deleting     bool // it has a deletion timestamp
	Finished     bool // phase Succeeded or Failed
	Started      bool // phase Running: all its Allocates are over
	DevicesLeft  bool // devices-to-allocate annotations still hold a device
	Phase        BindPhase
	UID          string  // of the pod that has the name now
	Node         string  // where it is bound; "" = not bound
	AssignedNode *string // hami.io/vgpu-node; nil = says nothing
	Version      string  // resourceVersion; "" = unknown
	Revoked      string  // hami.io/mutex.revoked; "" = none
	Fence        uint64  // hami.io/mutex.fence; 0 = none
	Done         uint64  // hami.io/mutex.done; 0 = none
}

func (f *OwnerFacts) fill(native *C.struct_hami_owner_facts, source uint32, t *texts) {
	*native = C.struct_hami_owner_facts{
		size:          C.size_t(unsafe.Sizeof(*native)),
		source:        source,
		known:         true,
		exists:        C.bool(f.Exists),
		deleting:      C.bool(f.Deleting),
		finished:      C.bool(f.Finished),
		started:       C.bool(f.Started),
		devices_left:  C.bool(f.DevicesLeft),
		bind_phase:    uint32(f.Phase),
		uid:           t.optional(f.UID),
		node:          t.optional(f.Node),
		assigned_node: t.pointer(f.AssignedNode),
		version:       t.optional(f.Version),
		revoked:       t.optional(f.Revoked),
		fence:         C.uint64_t(f.Fence),
		done:          C.uint64_t(f.Done),
	}
}

func goFacts(native *C.struct_hami_owner_facts) OwnerFacts {
	return OwnerFacts{
		Exists:       bool(native.exists),
		Deleting:     bool(native.deleting),
		Finished:     bool(native.finished),
		Started:      bool(native.started),
		DevicesLeft:  bool(native.devices_left),
		Phase:        BindPhase(native.bind_phase),
		UID:          C.GoString(native.uid),
		Node:         C.GoString(native.node),
		AssignedNode: goText(native.assigned_node),
		Version:      C.GoString(native.version),
		Revoked:      C.GoString(native.revoked),
		Fence:        uint64(native.fence),
		Done:         uint64(native.done),
	}
}
