// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes keeps node locks on an API server: a client, the transports that keep locks as
// annotations of Nodes or of Lease objects, the Binding, and the node side's handshake.
//
//	client, err := kubernetes.New(kubernetes.Config{Kubeconfig: path})
//	transport, err := client.NewTransport(kubernetes.TransportConfig{})
//	manager, err := nodelock.New(nodelock.Config{Transport: transport})
//
// The client has a thread of its own in C, for the network; calls of this package wait as goroutines.
package kubernetes

// #include <stdlib.h>
// #include "native.h"
import "C"

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime/cgo"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"haminodelock.test/nodelock"
	"haminodelock.test/nodelock/internal/native"
)

// Config says how to reach and to log in to the API server. Looked at in this order: Server if set;
// the files of Kubeconfig; HomeDirectory/.kube/config if that exists; in-cluster, by ServiceHost and
// ServicePort with the service account's files.
type Config struct {
	Server          string // https://host:port; http:// on loopback only
	CAFile          string // with Server: PEM file; the system's
	Token           string // with Server: bearer token
	TokenFile       string // with Server: read again when it changes
	CertificateFile string // with Server: client certificate and key, PEM
	KeyFile         string
	Insecure        bool   // verify no server certificate
	Kubeconfig      string // list of paths separated by ':'; merged as kubectl does
	Context         string // current-context
	HomeDirectory   string
	ServiceHost     string
	ServicePort     string
	// ServiceAccountDirectory is /var/run/secrets/kubernetes.io/serviceaccount if left empty.
	ServiceAccountDirectory string

	UserAgent      string        // libhaminodelock/VERSION
	InFlight       int           // requests at a time, watches not counted; 64
	RequestTimeout time.Duration // of requests whose context has no deadline; 5 s
	AnswerBytes    int64         // most of one answer's body; 64 MiB
	Logger         *slog.Logger  // without one the client is silent
}

// FromEnvironment is what KUBECONFIG, HOME and the variables of a pod say: the login of kubectl.
func FromEnvironment() Config {
	return Config{
		Kubeconfig:    os.Getenv("KUBECONFIG"),
		HomeDirectory: os.Getenv("HOME"),
		ServiceHost:   os.Getenv("KUBERNETES_SERVICE_HOST"),
		ServicePort:   os.Getenv("KUBERNETES_SERVICE_PORT"),
	}
}

// Client talks to one API server. Its methods may be called from any goroutine. Close it; what was
// made from it keeps it alive until it is closed too.
type Client struct {
	object *native.Object
	once   sync.Once // closed
}

// texts is C memory for the arguments of one call.
type texts []unsafe.Pointer

func (t *texts) text(text string) *C.char {
	made := C.CString(text)
	*t = append(*t, unsafe.Pointer(made))
	return made
}

func (t *texts) optional(text string) *C.char {
	if text == "" {
		return nil
	}
	return t.text(text)
}

func (t *texts) list(all []string) **C.char {
	if len(all) == 0 {
		return nil
	}
	made := (**C.char)(t.memory(len(all), unsafe.Sizeof((*C.char)(nil))))
	for i, one := range all {
		unsafe.Slice(made, len(all))[i] = t.text(one)
	}
	return made
}

func (t *texts) memory(count int, size uintptr) unsafe.Pointer {
	made := C.calloc(C.size_t(max(count, 1)), C.size_t(size))
	*t = append(*t, made)
	return made
}

func (t *texts) free() {
	for _, part := range *t {
		C.free(part)
	}
}

// failure makes an error of what C said.
func failure(operation string, code C.int, detail *C.struct_hami_error) error {
	made := &nodelock.Error{Operation: operation, Code: nodelock.Code(code)}
	if detail != nil {
		made.Text = C.GoString(&detail.text[0])
		made.Status = int(detail.status)
		made.Errno = syscall.Errno(detail.system)
	}
	if made.Code == nodelock.ErrTimedOut {
		made.Cause = context.DeadlineExceeded
	}
	return made
}

func newDetail() C.struct_hami_error {
	var detail C.struct_hami_error
	detail.size = C.size_t(unsafe.Sizeof(detail))
	return detail
}

func (c *Config) fill(to *C.struct_hami_kubernetes_config, t *texts) error {
	if c.InFlight < 0 || int64(c.InFlight) > math.MaxUint32 || c.RequestTimeout < 0 || c.AnswerBytes < 0 {
		return &nodelock.Error{Operation: "new client", Code: nodelock.ErrInvalid,
			Text: "a limit is out of range"}
	}
	*to = C.struct_hami_kubernetes_config{
		size:                      C.size_t(unsafe.Sizeof(*to)),
		server:                    t.optional(c.Server),
		ca_file:                   t.optional(c.CAFile),
		token:                     t.optional(c.Token),
		token_file:                t.optional(c.TokenFile),
		certificate_file:          t.optional(c.CertificateFile),
		key_file:                  t.optional(c.KeyFile),
		kubeconfig:                t.optional(c.Kubeconfig),
		context:                   t.optional(c.Context),
		home_directory:            t.optional(c.HomeDirectory),
		service_host:              t.optional(c.ServiceHost),
		service_port:              t.optional(c.ServicePort),
		service_account_directory: t.optional(c.ServiceAccountDirectory),
		user_agent:                t.optional(c.UserAgent),
		in_flight_max:             C.uint32_t(c.InFlight),
		request_timeout_ms:        C.uint64_t((c.RequestTimeout + time.Millisecond - 1) / time.Millisecond),
		answer_bytes_max:          C.uint64_t(c.AnswerBytes),
	}
	if c.Insecure {
		to.flags = C.HAMI_KUBERNETES_INSECURE
	}
	return nil
}

// New makes a client: it reads the login and connects with the first request. ErrInvalid, ErrAccess
// and ErrNotSupported name file and field that are wrong.
func New(config Config) (*Client, error) {
	var t texts
	defer t.free()
	var settings C.struct_hami_kubernetes_config
	if err := config.fill(&settings, &t); err != nil {
		return nil, err
	}
	var handle cgo.Handle
	if config.Logger != nil {
		handle = native.NewHandle(config.Logger)
	}
	var client *C.hami_kubernetes
	detail := newDetail()
	code := C.nodelock_go_kubernetes_new(&settings, C.uintptr_t(handle), &client, &detail)
	if code != 0 {
		if handle != 0 {
			native.DeleteHandle(handle)
		}
		return nil, failure("new client", code, &detail)
	}
	return &Client{object: native.NewObject(unsafe.Pointer(client), func(pointer unsafe.Pointer) {
		C.hami_kubernetes_free((*C.hami_kubernetes)(pointer))
		if handle != 0 {
			native.DeleteHandle(handle)
		}
	})}, nil
}

//export kubernetesGoLog
func kubernetesGoLog(handle C.uintptr_t, level C.int, line *C.char) {
	levels := [...]slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo, slog.LevelDebug}
	logger := cgo.Handle(handle).Value().(*slog.Logger)
	logger.Log(context.Background(), levels[min(int(level), len(levels)-1)], C.GoString(line))
}

// Close gives the client up. It goes when the transports and handshakes made from it have gone too,
// and the requests in flight, which end by their deadlines.
func (c *Client) Close() {
	c.once.Do(c.object.Release)
}

// use lends the C client until done is called.
func (c *Client) use(operation string) (client *C.hami_kubernetes, done func(), err error) {
	pointer := c.object.Retain()
	if pointer == nil {
		return nil, nil, &nodelock.Error{Operation: operation, Code: nodelock.ErrClosed}
	}
	return (*C.hami_kubernetes)(pointer), c.object.Release, nil
}

// Server is the server's URL.
func (c *Client) Server() string {
	client, done, err := c.use("server")
	if err != nil {
		return ""
	}
	defer done()
	return C.GoString(C.hami_kubernetes_server(client))
}

// Stats are counts since New.
type Stats struct {
	Requests      uint64        // sent, by first try
	Retries       uint64        // sent again after 429 or 503
	Answers       [6]uint64     // by class: [0] none, [1] 1xx .. [5] 5xx
	Connections   uint64        // opened
	WatchRestarts uint64        //
	LocalWait     time.Duration // total of waiting here before sending
	InFlight      int           // now
	Waiting       int           // now, for a place below Config.InFlight
}

// Stats reads the counts.
func (c *Client) Stats() (Stats, error) {
	client, done, err := c.use("stats")
	if err != nil {
		return Stats{}, err
	}
	defer done()
	var found C.struct_hami_kubernetes_stats
	found.size = C.size_t(unsafe.Sizeof(found))
	if code := C.hami_kubernetes_stats(client, &found); code != 0 {
		return Stats{}, failure("stats", code, nil)
	}
	made := Stats{
		Requests:      uint64(found.requests),
		Retries:       uint64(found.retries),
		Connections:   uint64(found.connections),
		WatchRestarts: uint64(found.watch_restarts),
		LocalWait:     time.Duration(found.local_wait_ns),
		InFlight:      int(found.in_flight),
		Waiting:       int(found.waiting),
	}
	for i := range made.Answers {
		made.Answers[i] = uint64(found.answers[i])
	}
	return made, nil
}

// ---- questions: what C answers later, on the client's thread ----

// question is one call that C completes.
type question[Answer any] struct {
	ended chan answered[Answer]
}

type answered[Answer any] struct {
	value Answer
	err   error
}

const defaultPatience = 30 * time.Second

// deadlineOf is the context's on C's clock; defaultPatience where it has none.
func deadlineOf(ctx context.Context) C.uint64_t {
	left := defaultPatience
	if deadline, ok := ctx.Deadline(); ok {
		left = max(time.Until(deadline), 0)
	}
	return C.hami_kubernetes_now() + C.uint64_t(left)
}

// ask starts a call and waits for its end, which comes by its deadline.
func ask[Answer any](operation string, start func(C.uintptr_t) C.int) (Answer, error) {
	one := &question[Answer]{ended: make(chan answered[Answer], 1)}
	handle := native.NewHandle(one)
	if code := start(C.uintptr_t(handle)); code != 0 {
		native.DeleteHandle(handle)
		var none Answer
		return none, failure(operation, code, nil)
	}
	found := <-one.ended
	var detail *nodelock.Error
	if errors.As(found.err, &detail) {
		detail.Operation = operation
	}
	return found.value, found.err
}

// answer ends a question, from C's thread.
func answer[Answer any](handle C.uintptr_t, value Answer, err error) {
	one := cgo.Handle(handle).Value().(*question[Answer])
	native.DeleteHandle(cgo.Handle(handle))
	one.ended <- answered[Answer]{value, err}
}

// nothing is the answer of what has none but its code.
type nothing struct{}

//export kubernetesGoDone
func kubernetesGoDone(handle C.uintptr_t, code C.int, detail *C.struct_hami_error) {
	var err error
	if code != 0 {
		err = failure("", code, detail)
	}
	answer(handle, nothing{}, err)
}
