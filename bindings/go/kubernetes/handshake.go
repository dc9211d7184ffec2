// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

// #include "native.h"
import "C"

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"unsafe"

	"haminodelock.test/nodelock"
	"haminodelock.test/nodelock/internal/native"
)

// Vendor tells which annotation of a pod holds the devices of which resource.
type Vendor struct {
	Resource      string // "nvidia.com/gpu"
	ToAllocateKey string // "hami.io/vgpu-devices-to-allocate"
}

// HandshakeConfig says for whom the node's side serves.
type HandshakeConfig struct {
	Node         string   // required
	Key          string   // lock key; nodelock.DefaultKey
	Vendors      []Vendor // NVIDIA's
	RequireFence bool     // refuse locks without a lease of their own
}

// Handshake is the node's side: what a device plugin asks when the kubelet calls Allocate. Its methods
// may be called from any goroutine. Close it; jobs keep it alive.
type Handshake struct {
	object *native.Object
	once   sync.Once // closed
}

// NewHandshake makes the node's side. Call Recover when it starts.
func (c *Client) NewHandshake(config HandshakeConfig) (*Handshake, error) {
	client, done, err := c.use("new handshake")
	if err != nil {
		return nil, err
	}
	var t texts
	defer t.free()
	settings := C.struct_hami_handshake_config{node: t.text(config.Node), key: t.optional(config.Key),
		vendor_count: C.size_t(len(config.Vendors))}
	settings.size = C.size_t(unsafe.Sizeof(settings))
	if config.RequireFence {
		settings.flags = C.HAMI_HANDSHAKE_REQUIRE_FENCE
	}
	if len(config.Vendors) > 0 {
		settings.vendors = (*C.struct_hami_handshake_vendor)(t.memory(len(config.Vendors),
			unsafe.Sizeof(C.struct_hami_handshake_vendor{})))
		for i, vendor := range config.Vendors {
			unsafe.Slice(settings.vendors, len(config.Vendors))[i] = C.struct_hami_handshake_vendor{
				resource: t.text(vendor.Resource), to_allocate_key: t.text(vendor.ToAllocateKey)}
		}
	}
	var made *C.hami_handshake
	detail := newDetail()
	if code := C.hami_handshake_new(client, &settings, &made, &detail); code != 0 {
		done()
		return nil, failure("new handshake", code, &detail)
	}
	return &Handshake{object: native.NewObject(unsafe.Pointer(made), func(pointer unsafe.Pointer) {
		C.hami_handshake_free((*C.hami_handshake)(pointer))
		done()
	})}, nil
}

// Close gives the node's side up; it goes when the last job of it has ended. Releases that go on behind
// are given up then: their locks are left to the takeover rules.
func (h *Handshake) Close() {
	h.once.Do(h.object.Release)
}

func (h *Handshake) use(operation string) (*C.hami_handshake, error) {
	pointer := h.object.Retain()
	if pointer == nil {
		return nil, &nodelock.Error{Operation: operation, Code: nodelock.ErrClosed}
	}
	return (*C.hami_handshake)(pointer), nil
}

// Recover finishes what a crash cut off: where the node's lock names a pod that was served wholly, it is
// freed, guarded. It changes nothing else.
func (h *Handshake) Recover(ctx context.Context) error {
	handshake, err := h.use("recover")
	if err != nil {
		return err
	}
	defer h.object.Release()
	_, err = ask[nothing]("recover", func(question C.uintptr_t) C.int {
		return C.nodelock_go_handshake_recover(handshake, deadlineOf(ctx), question)
	})
	return err
}

// Device is one device as the scheduler wrote it onto the pod.
type Device struct {
	UUID        string
	Type        string // vendor's word, such as "NVIDIA"
	MemoryMiB   int32
	CorePercent int32
}

// Container is one container of a call, and what it gets.
type Container struct {
	Name    string
	Devices []Device
}

// Job is one Allocate. End it exactly once, by Finish, Fail or Drop; a later one answers
// nodelock.ErrConsumed. One that is garbage collected is dropped, with a warning.
type Job struct {
	state      *jobState
	net        runtime.Cleanup
	owner      nodelock.Owner
	fence      uint64
	containers []Container
}

type jobState struct {
	mutex     sync.Mutex
	handshake *native.Object
	pointer   *C.hami_handshake_job // nil once consumed
}

// Begin finds out whom an Allocate is for: the one pod that can be the caller, by consistent reads begun
// in this call. Each of containers lists the device ids of one, in the call's order. It writes nothing.
//
//   - ErrLost: no pod can be the caller
//   - ErrBusy: several pods can
//   - ErrHeld: the lock names another pod, or lacks the lease that RequireFence asks for
//   - ErrLimit, ErrProtocol: the pod's device string does not fit the call, or is malformed
func (h *Handshake) Begin(ctx context.Context, resource string, containers ...[]string) (*Job, error) {
	handshake, err := h.use("begin")
	if err != nil {
		return nil, err
	}
	var t texts
	defer t.free()
	asked := (*C.struct_hami_handshake_container)(t.memory(len(containers),
		unsafe.Sizeof(C.struct_hami_handshake_container{})))
	for i, ids := range containers {
		unsafe.Slice(asked, len(containers))[i] = C.struct_hami_handshake_container{
			ids: t.list(ids), id_count: C.size_t(len(ids))}
	}
	pointer, err := ask[*C.hami_handshake_job]("begin", func(question C.uintptr_t) C.int {
		return C.nodelock_go_handshake_begin(handshake, t.text(resource), asked,
			C.size_t(len(containers)), deadlineOf(ctx), question)
	})
	if err != nil {
		h.object.Release()
		return nil, err
	}
	state := &jobState{handshake: h.object, pointer: pointer}
	made := describe(pointer)
	made.state = state
	made.net = runtime.AddCleanup(made, (*jobState).forgotten, state)
	return made, nil
}

//export kubernetesGoBegun
func kubernetesGoBegun(handle C.uintptr_t, code C.int, job *C.hami_handshake_job,
	detail *C.struct_hami_error) {
	var err error
	if code != 0 {
		err = failure("", code, detail)
	}
	answer(handle, job, err)
}

func describe(job *C.hami_handshake_job) *Job {
	owner := C.hami_handshake_owner(job)
	made := &Job{
		owner: nodelock.Owner{Namespace: C.GoString(owner.namespace_name), Name: C.GoString(owner.name),
			UID: C.GoString(owner.uid)},
		fence: uint64(C.hami_handshake_fence(job)),
	}
	for i := range C.hami_handshake_container_count(job) {
		one := Container{Name: C.GoString(C.hami_handshake_container_name(job, i))}
		for j := range C.hami_handshake_container_device_count(job, i) {
			device := C.hami_handshake_container_device(job, i, j)
			one.Devices = append(one.Devices, Device{UUID: C.GoString(device.uuid),
				Type: C.GoString(device._type), MemoryMiB: int32(device.memory_mib),
				CorePercent: int32(device.core_percent)})
		}
		made.containers = append(made.containers, one)
	}
	return made
}

// Owner is the pod that the call is for.
func (j *Job) Owner() nodelock.Owner { return j.owner }

// Fence is that of the pod's lock; 0 = a lock without one.
func (j *Job) Fence() uint64 { return j.fence }

// Containers are those of the call, in its order, with what each gets.
func (j *Job) Containers() []Container { return j.containers }

// Finish tells that the devices are handed out: it erases them from the pod's annotation, and after the
// last container writes success and frees the node's lock. Refuse the container on each error: ErrLost
// (the pod is gone or another), ErrAccess, ErrProtocol, ErrTransport, ErrClosed (the pod was not
// written), ErrInDoubt (it may have been). It waits until the context's deadline.
func (j *Job) Finish(ctx context.Context) error {
	return j.end(func(job *C.hami_handshake_job) error {
		_, err := ask[nothing]("finish", func(question C.uintptr_t) C.int {
			return C.nodelock_go_handshake_finish(job, deadlineOf(ctx), question)
		})
		return err
	})
}

// Fail tells that the devices can't be handed out: it writes phase failed onto the pod and frees the
// lock. The reason is for the log. Errors as of Finish.
func (j *Job) Fail(ctx context.Context, reason string) error {
	return j.end(func(job *C.hami_handshake_job) error {
		var t texts
		defer t.free()
		_, err := ask[nothing]("fail", func(question C.uintptr_t) C.int {
			return C.nodelock_go_handshake_fail(job, t.optional(reason), deadlineOf(ctx), question)
		})
		return err
	})
}

// Drop gives the job up and writes nothing: devices and lock stay the pod's, and the same question may
// be asked again.
func (j *Job) Drop() error {
	return j.end(func(job *C.hami_handshake_job) error {
		C.hami_handshake_drop(job)
		return nil
	})
}

func (j *Job) end(how func(*C.hami_handshake_job) error) error {
	state := j.state
	state.mutex.Lock()
	defer state.mutex.Unlock()
	if state.pointer == nil {
		return nodelock.ErrConsumed
	}
	j.net.Stop()
	pointer := state.pointer
	state.pointer = nil
	defer state.handshake.Release()
	return how(pointer)
}

// forgotten is the net below a job that was never ended.
func (s *jobState) forgotten() {
	slog.Default().Warn("a kubernetes.Job was garbage collected without Finish, Fail or Drop")
	C.hami_handshake_drop(s.pointer)
	s.handshake.Release()
}

// HandshakeStats are counts since NewHandshake.
type HandshakeStats struct {
	Begins         uint64 // calls of Begin
	Begun          uint64 // of these, ended with a job
	WithoutFence   uint64 // of these, the lock had no lease of its own
	FenceRose      uint64 // of these, the pod carries a lower fence than its lock
	Nobody         uint64 // ended ErrLost
	Several        uint64 // ended ErrBusy
	Held           uint64 // ended ErrHeld
	Misfits        uint64 // ended ErrLimit or ErrProtocol
	Succeeded      uint64 // pods whose last devices were handed out
	Failed         uint64 // pods that phase failed was written onto
	Released       uint64 // locks removed
	ReleasedBehind uint64 // of these, after the caller was told
	Left           uint64 // locks left to the scheduler side, which frees them
	GivenUp        uint64 // locks left to the takeover rules
	Behind         int    // jobs that go on behind, now
}

// Stats reads the counts.
func (h *Handshake) Stats() (HandshakeStats, error) {
	handshake, err := h.use("stats")
	if err != nil {
		return HandshakeStats{}, err
	}
	defer h.object.Release()
	var found C.struct_hami_handshake_stats
	found.size = C.size_t(unsafe.Sizeof(found))
	if code := C.hami_handshake_stats(handshake, &found); code != 0 {
		return HandshakeStats{}, failure("stats", code, nil)
	}
	return HandshakeStats{
		Begins:         uint64(found.begins),
		Begun:          uint64(found.begun),
		WithoutFence:   uint64(found.without_fence),
		FenceRose:      uint64(found.fence_rose),
		Nobody:         uint64(found.nobody),
		Several:        uint64(found.several),
		Held:           uint64(found.held),
		Misfits:        uint64(found.misfits),
		Succeeded:      uint64(found.succeeded),
		Failed:         uint64(found.failed),
		Released:       uint64(found.released),
		ReleasedBehind: uint64(found.released_behind),
		Left:           uint64(found.left),
		GivenUp:        uint64(found.given_up),
		Behind:         int(found.behind),
	}, nil
}
