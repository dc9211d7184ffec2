// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock

// #include <unistd.h>
// #include "native.h"
import "C"

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"haminodelock.test/nodelock/internal/native"
)

// The lock keys that are in use: HAMi's own, and Cambricon's.
const (
	DefaultKey   = C.HAMI_NODELOCK_KEY
	CambriconKey = C.HAMI_NODELOCK_CAMBRICON_KEY
)

// Config says how a manager works. Only Transport is required; what is left zero has the default
// that is named.
type Config struct {
	Transport *Transport // where the locks are kept

	Key     string // annotation key of the lock; DefaultKey
	Holder  string // prefix of the holder id in each lease, an RFC 1123 subdomain; the host's name
	Permits int    // owners a node at a time; 1

	// ExpireBoundOwners takes over by age a lock whose owner is bound and still waits for Allocate.
	// That is how two pods got each other's devices in the field; leave it off.
	ExpireBoundOwners bool

	HoldLimit   time.Duration // how long an owner may stay unbound; 15 s
	ExpireAfter time.Duration // age that decides where an owner can't be judged; 5 minutes
	CallTimeout time.Duration // of one call to the store; 5 s
	StallLimit  time.Duration // waiters behind a holder without progress get ErrLimit; they wait on

	WaitersPerNode int // one more gets ErrLimit; 100000
	// Waiters of one namespace on one node; one more gets ErrLimit, also where the node has room; 0 = no
	// bound of its own.
	WaitersPerNamespace int
	OvertakenMax        int    // how often one waiter may be overtaken by others that came later; 4
	RefuseEarly         bool   // ErrLimit at once for what can't be served in time by the node's pace
	Nodes               int    // nodes known at a time; 65536
	RandomSeed          uint64 // for tests: holder id and jitter repeat

	// Logger gets the library's lines. Without one the library is silent, and warnings of this
	// package (a lease that was forgotten) go to slog.Default().
	Logger *slog.Logger
}

// Manager takes and keeps the locks of one process. Its methods may be called from any goroutine.
// Close it.
type Manager struct {
	core *manager
	net  runtime.Cleanup
}

// manager is what is left when the program has lost its Manager: the loop and the C object.
//
// gate is held shared during each call on lock, and exclusively while lock is freed; whoever wants
// it looks at closed first, because callbacks run while it is held for good.
type manager struct {
	lock      *C.hami_nodelock
	transport *native.Object
	logger    *slog.Logger
	handle    cgo.Handle
	holder    string

	event int      // what C signals
	wake  *os.File // the same descriptor, for Go's poller

	gate   sync.RWMutex
	closed atomic.Bool

	stage   atomic.Int32 // stageOpen, then up
	ended   chan struct{}
	isClean bool // nothing was in flight any more; read after ended

	leasesMutex sync.Mutex
	leases      map[*C.hami_lease]*leaseState // not consumed yet
}

const (
	stageOpen     int32 = iota
	stageClosing        // what is in flight is finished first
	stageGivingUp       // it is not waited for any longer
)

// While it closes the loop looks this often: the end of the last call wakes nobody.
const closingTick = 10 * time.Millisecond

func (c *Config) fill(native *C.struct_hami_nodelock_config, t *texts) error {
	for _, one := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"Permits", int64(c.Permits), C.HAMI_NODELOCK_PERMITS_MAX},
		{"WaitersPerNode", int64(c.WaitersPerNode), math.MaxUint32},
		{"WaitersPerNamespace", int64(c.WaitersPerNamespace), math.MaxUint32},
		{"OvertakenMax", int64(c.OvertakenMax), math.MaxUint32},
		{"Nodes", int64(c.Nodes), math.MaxUint32},
		{"HoldLimit", int64(c.HoldLimit), math.MaxInt64},
		{"ExpireAfter", int64(c.ExpireAfter), math.MaxInt64},
		{"CallTimeout", int64(c.CallTimeout), math.MaxInt64},
		{"StallLimit", int64(c.StallLimit), math.MaxInt64},
	} {
		if one.value < 0 || one.value > one.most {
			return refusal("new", ErrInvalid, "%s is out of range", one.name)
		}
	}
	native.size = C.size_t(unsafe.Sizeof(*native))
	native.key = t.optional(c.Key)
	native.holder = t.optional(c.Holder)
	native.permits = C.uint32_t(c.Permits)
	if c.ExpireBoundOwners {
		native.flags = C.HAMI_NODELOCK_EXPIRE_BOUND_OWNERS
	}
	native.hold_limit_ms = milliseconds(c.HoldLimit)
	native.expire_ms = milliseconds(c.ExpireAfter)
	native.call_timeout_ms = milliseconds(c.CallTimeout)
	native.stall_limit_ms = milliseconds(c.StallLimit)
	native.waiters_per_node_max = C.uint32_t(c.WaitersPerNode)
	native.nodes_max = C.uint32_t(c.Nodes)
	native.waiters_per_namespace_max = C.uint32_t(c.WaitersPerNamespace)
	native.overtaken_max = C.uint32_t(c.OvertakenMax)
	if c.RefuseEarly {
		native.flags |= C.HAMI_NODELOCK_REFUSE_EARLY
	}
	native.random_seed = C.uint64_t(c.RandomSeed)
	return nil
}

// New makes a manager and starts its goroutine; it reads and writes nothing by itself. The transport
// may be closed any time after: it lives until the manager is closed too.
func New(config Config) (*Manager, error) {
	var t texts
	defer t.free()
	var settings C.struct_hami_nodelock_config
	if err := config.fill(&settings, &t); err != nil {
		return nil, err
	}
	if config.Transport == nil {
		return nil, refusal("new", ErrInvalid, "Transport is required")
	}
	pointer := config.Transport.object.Retain()
	if pointer == nil {
		return nil, refusal("new", ErrClosed, "the transport is closed")
	}
	settings.transport = (*C.struct_hami_transport)(pointer)
	core := &manager{
		transport: config.Transport.object,
		logger:    config.Logger,
		ended:     make(chan struct{}),
		leases:    make(map[*C.hami_lease]*leaseState),
	}
	if err := core.open(&settings); err != nil {
		core.transport.Release()
		return nil, err
	}
	go core.run()
	made := &Manager{core: core}
	made.net = runtime.AddCleanup(made, (*manager).forgotten, core)
	return made, nil
}

func (m *manager) open(settings *C.struct_hami_nodelock_config) error {
	event, err := C.nodelock_go_event_open()
	if event < 0 {
		return &Error{Operation: "new", Code: ErrNoMemory, Text: fmt.Sprintf("eventfd: %v", err)}
	}
	m.event = int(event)
	m.wake = os.NewFile(uintptr(event), "nodelock-wakeup")
	m.handle = native.NewHandle(m)
	var detail C.struct_hami_error
	detail.size = C.size_t(unsafe.Sizeof(detail))
	code := C.nodelock_go_new(settings, event, C.uintptr_t(m.handle), C.bool(m.logger != nil),
		&m.lock, &detail)
	if code != 0 {
		native.DeleteHandle(m.handle)
		_ = m.wake.Close()
		return failure("new", code, &detail, nil)
	}
	m.holder = C.GoString(C.hami_nodelock_holder(m.lock))
	return nil
}

// Holder tells the holder id that this manager writes into its leases.
func (m *Manager) Holder() string {
	return m.core.holder
}

// Close ends the service in order: waiters get ErrClosed at once, a lock being taken is undone, and
// releases in progress are finished; all that until the context ends. Leases stay what they are: each
// counts as handed off, and its methods answer ErrClosed.
//
// Answers nil if nothing is in flight any more. Else the context ended first, and another manager
// takes over what is left by the rules. Either way the manager is closed. Not from a callback.
func (m *Manager) Close(ctx context.Context) error {
	m.net.Stop()
	return m.core.close(ctx)
}

func (m *manager) close(ctx context.Context) error {
	m.advance(stageClosing)
	select {
	case <-m.ended:
		return nil
	case <-ctx.Done():
	}
	m.advance(stageGivingUp)
	<-m.ended
	if m.isClean {
		return nil
	}
	return &Error{Operation: "close", Code: ErrTimedOut, Cause: context.Cause(ctx),
		Text: "something is still in doubt"}
}

func (m *manager) advance(stage int32) {
	for {
		now := m.stage.Load()
		if now >= stage || m.stage.CompareAndSwap(now, stage) {
			break
		}
	}
	// A deadline in the past wakes the loop, and does nothing to a closed file.
	_ = m.wake.SetReadDeadline(time.Unix(1, 0))
}

// forgotten is the net below a Manager that was never closed.
func (m *manager) forgotten() {
	m.warn("a nodelock.Manager was garbage collected without Close; closing it now")
	m.advance(stageClosing)
}

func (m *manager) warn(text string, words ...any) {
	logger := m.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Warn(text, words...)
}

// ---- the loop: the only goroutine that dispatches ----

func (m *manager) run() {
	for !m.turn() {
		m.sleep()
	}
	m.free()
	close(m.ended)
}

// turn does what is due; true if it was the last one.
func (m *manager) turn() bool {
	stage := m.stage.Load()
	if stage == stageOpen {
		C.hami_nodelock_dispatch(m.lock)
		return false
	}
	// A deadline that is past: begins to shut down, does what is due and waits for nothing.
	m.isClean = C.hami_nodelock_shutdown(m.lock, 0) == 0
	return m.isClean || stage == stageGivingUp
}

func (m *manager) sleep() {
	var until time.Time
	next := uint64(C.hami_nodelock_next_deadline(m.lock))
	now := uint64(C.hami_nodelock_now(m.lock))
	if next <= now {
		return
	}
	if next != math.MaxUint64 {
		until = time.Now().Add(time.Duration(min(next-now, uint64(time.Hour))))
	}
	_ = m.wake.SetReadDeadline(until)
	// Whoever advanced the stage just before lost his deadline to ours.
	if m.stage.Load() != stageOpen {
		_ = m.wake.SetReadDeadline(time.Now().Add(closingTick))
	}
	var counter [8]byte
	_, _ = m.wake.Read(counter[:])
}

// free ends the C object. What has not ended gets ErrClosed, from in here.
func (m *manager) free() {
	m.closed.Store(true)
	m.gate.Lock()
	C.hami_nodelock_free(m.lock)
	m.gate.Unlock()
	_ = m.wake.Close()
	native.DeleteHandle(m.handle)
	m.transport.Release()
}

// enter lends the C object until leave; false once it is closed.
func (m *manager) enter() bool {
	if m.closed.Load() {
		return false
	}
	m.gate.RLock()
	if m.closed.Load() {
		m.gate.RUnlock()
		return false
	}
	return true
}

func (m *manager) leave() {
	m.gate.RUnlock()
}

// ---- what C tells ----

//export nodelockGoLog
func nodelockGoLog(handle C.uintptr_t, level C.int, line *C.char) {
	m := cgo.Handle(handle).Value().(*manager)
	levels := [...]slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo, slog.LevelDebug}
	m.logger.Log(context.Background(), levels[min(int(level), len(levels)-1)], C.GoString(line))
}

//export nodelockGoLost
func nodelockGoLost(handle C.uintptr_t, lease *C.hami_lease, detail *C.struct_hami_error) {
	m := cgo.Handle(handle).Value().(*manager)
	m.leasesMutex.Lock()
	state := m.leases[lease]
	m.leasesMutex.Unlock()
	if state != nil {
		state.setLost(failure("hold", detail.code, detail, nil))
	}
}
