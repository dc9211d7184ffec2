// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

// #include "native.h"
import "C"

import (
	"context"
	"time"
	"unsafe"

	"haminodelock.test/nodelock"
	"haminodelock.test/nodelock/internal/native"
)

// Bind binds a lease's owner to the lease's node: a Binding that carries the pod's uid, the
// resourceVersion read before the lock was written, and the annotations that the node side reads
// (bind-phase, bind-time, fence). nil means bound here; what to do with the lease otherwise:
//
//   - ErrInDoubt: it may be bound; hand the lease off
//   - ErrLost: not bound by us and never will be (gone, another uid, being deleted, bound elsewhere,
//     revoked, assigned to another node); release it
//   - ErrAccess, ErrNoNode, ErrProtocol (the text has the server's reason), ErrTransport, ErrTimedOut
//     (nothing was sent by the context's deadline), ErrClosed and the rest; release it
//
// Its outcome decides what becomes of the lease, so Bind waits for it even if the context is cancelled:
// until the context's deadline, or for 30 s if it has none.
func (c *Client) Bind(ctx context.Context, lease *nodelock.Lease) error {
	client, done, err := c.use("bind")
	if err != nil {
		return err
	}
	defer done()
	pointer, giveBack, err := native.BorrowLease(lease)
	if err != nil {
		return err
	}
	defer giveBack()
	_, err = ask[nothing]("bind", func(question C.uintptr_t) C.int {
		return C.nodelock_go_kubernetes_bind(client, (*C.hami_lease)(pointer), deadlineOf(ctx), question)
	})
	return err
}

// Pod is what a scheduler asks about a pod.
type Pod struct {
	nodelock.OwnerFacts
	SchedulerName string
	Priority      int32
	Group         string   // PodGroup it belongs to; "" = none
	Resources     []string // names of what its containers ask for with a count above 0
}

// ReadPod reads a pod from the API server, consistently. One that does not exist has Exists false.
func (c *Client) ReadPod(ctx context.Context, namespace, name string) (Pod, error) {
	client, done, err := c.use("read pod")
	if err != nil {
		return Pod{}, err
	}
	defer done()
	var t texts
	defer t.free()
	return ask[Pod]("read pod", func(question C.uintptr_t) C.int {
		return C.nodelock_go_kubernetes_read_pod(client, t.text(namespace), t.text(name),
			deadlineOf(ctx), question)
	})
}

//export kubernetesGoPod
func kubernetesGoPod(handle C.uintptr_t, code C.int, pod *C.struct_hami_kubernetes_pod, text *C.char) {
	if code != 0 {
		answer(handle, Pod{}, &nodelock.Error{Code: nodelock.Code(code), Text: C.GoString(text)})
		return
	}
	made := Pod{
		OwnerFacts:    goFacts(&pod.facts),
		SchedulerName: C.GoString(pod.scheduler_name),
		Priority:      int32(pod.priority),
		Group:         C.GoString(pod.group),
	}
	for _, name := range unsafe.Slice(pod.resources, pod.resource_count) {
		made.Resources = append(made.Resources, C.GoString(name))
	}
	answer(handle, made, nil)
}

func goFacts(facts *C.struct_hami_owner_facts) nodelock.OwnerFacts {
	made := nodelock.OwnerFacts{
		Exists:      bool(facts.exists),
		Deleting:    bool(facts.deleting),
		Finished:    bool(facts.finished),
		Started:     bool(facts.started),
		DevicesLeft: bool(facts.devices_left),
		Phase:       nodelock.BindPhase(facts.bind_phase),
		UID:         C.GoString(facts.uid),
		Node:        C.GoString(facts.node),
		Version:     C.GoString(facts.version),
		Revoked:     C.GoString(facts.revoked),
		Fence:       uint64(facts.fence),
		Done:        uint64(facts.done),
	}
	if facts.assigned_node != nil {
		text := C.GoString(facts.assigned_node)
		made.AssignedNode = &text
	}
	return made
}

// Method is an HTTP method.
type Method int

// The methods.
const (
	Get    Method = C.HAMI_KUBERNETES_GET
	Post   Method = C.HAMI_KUBERNETES_POST
	Put    Method = C.HAMI_KUBERNETES_PUT
	Patch  Method = C.HAMI_KUBERNETES_PATCH
	Delete Method = C.HAMI_KUBERNETES_DELETE
)

// Request is any request to the server.
type Request struct {
	Method      Method
	Path        string // from "/" on, query included, escaped by the caller
	Accept      string // application/json
	ContentType string // of the body; application/json
	Body        []byte
}

// Answer is the server's.
type Answer struct {
	Status      int // whatever it is
	Body        []byte
	ServerTime  time.Time // from the Date header; zero = none
	LocalWait   time.Duration
	RetryAfter  time.Duration // of the last answer
	MaybeResent bool          // a write that may have been delivered more than once: only success is believed
}

// Do sends a request and waits; 429 and 503 with Retry-After are waited for and sent again. It waits
// until the context's deadline, or Config.RequestTimeout if that has none; a cancel is not noticed.
// ErrTransport, ErrTimedOut and ErrAccess mean that it was surely not sent; ErrInDoubt, ErrLimit and
// ErrClosed that it may have been carried out.
func (c *Client) Do(ctx context.Context, request Request) (Answer, error) {
	client, done, err := c.use("request")
	if err != nil {
		return Answer{}, err
	}
	defer done()
	var t texts
	defer t.free()
	asked := C.struct_hami_kubernetes_request{
		method:       uint32(request.Method),
		path:         t.text(request.Path),
		accept:       t.optional(request.Accept),
		content_type: t.optional(request.ContentType),
	}
	asked.size = C.size_t(unsafe.Sizeof(asked))
	if _, ok := ctx.Deadline(); ok {
		asked.deadline_ns = deadlineOf(ctx)
	}
	if request.Body != nil {
		body := C.CBytes(request.Body)
		t = append(t, body)
		asked.body, asked.body_length = (*C.char)(body), C.size_t(len(request.Body))
	}
	return ask[Answer]("request", func(question C.uintptr_t) C.int {
		return C.nodelock_go_kubernetes_request(client, &asked, question)
	})
}

//export kubernetesGoAnswer
func kubernetesGoAnswer(handle C.uintptr_t, found *C.struct_hami_kubernetes_answer) {
	made := Answer{
		Status:      int(found.status),
		Body:        C.GoBytes(unsafe.Pointer(found.body), C.int(found.body_length)),
		LocalWait:   time.Duration(found.local_wait_ns),
		RetryAfter:  time.Duration(found.retry_after_ms) * time.Millisecond,
		MaybeResent: bool(found.maybe_resent),
	}
	if found.server_time_us != 0 {
		made.ServerTime = time.UnixMicro(int64(found.server_time_us))
	}
	if found.code == 0 {
		answer(handle, made, nil)
		return
	}
	failed := &nodelock.Error{Code: nodelock.Code(found.code), Text: C.GoString(found.text),
		Status: int(found.status)}
	if failed.Code == nodelock.ErrTimedOut {
		failed.Cause = context.DeadlineExceeded
	}
	answer(handle, made, failed)
}
