// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

// #include "native.h"
import "C"

import (
	"unsafe"

	"haminodelock.test/nodelock"
)

// TransportConfig says how locks are kept as annotations of Nodes.
type TransportConfig struct {
	// NoWatch: nodes are not watched; for tools that look once.
	NoWatch bool
	// SchedulerNames: unbound pods of these are watched, so that owners are known without a read.
	SchedulerNames []string
}

// NewTransport makes a transport that keeps locks as annotations of Node objects: guarded JSON
// Patches, one metadata-only watch of all nodes, inspection and revocation of pods. Close it.
func (c *Client) NewTransport(config TransportConfig) (*nodelock.Transport, error) {
	var t texts
	defer t.free()
	settings := C.struct_hami_kubernetes_transport_config{
		scheduler_names:      t.list(config.SchedulerNames),
		scheduler_name_count: C.size_t(len(config.SchedulerNames)),
	}
	settings.size = C.size_t(unsafe.Sizeof(settings))
	if config.NoWatch {
		settings.flags = C.HAMI_KUBERNETES_NO_WATCH
	}
	return c.newTransport(func(client *C.hami_kubernetes, made **C.struct_hami_transport,
		detail *C.struct_hami_error) C.int {
		return C.hami_kubernetes_transport_new(client, &settings, made, detail)
	})
}

// LeaseTransportConfig says how locks are kept as annotations of Lease objects.
type LeaseTransportConfig struct {
	Namespace      string // of the Lease objects; it must exist and be used for nothing else
	NoWatch        bool
	SchedulerNames []string
	Mirror         bool     // the lock stands on the Node as well, for device plugins that read it there
	MirrorKeys     []string // with Mirror: lock keys that are mirrored; nodelock.DefaultKey
}

// NewLeaseTransport makes a transport that keeps locks as annotations of one Lease object a node.
// Without a mirror nobody else reads the locks, and several permits a node are allowed. Close it.
func (c *Client) NewLeaseTransport(config LeaseTransportConfig) (*nodelock.Transport, error) {
	var t texts
	defer t.free()
	settings := C.struct_hami_kubernetes_lease_transport_config{
		namespace_name:       t.text(config.Namespace),
		scheduler_names:      t.list(config.SchedulerNames),
		scheduler_name_count: C.size_t(len(config.SchedulerNames)),
		mirror_keys:          t.list(config.MirrorKeys),
		mirror_key_count:     C.size_t(len(config.MirrorKeys)),
	}
	settings.size = C.size_t(unsafe.Sizeof(settings))
	if config.NoWatch {
		settings.flags |= C.HAMI_KUBERNETES_NO_WATCH
	}
	if config.Mirror {
		settings.flags |= C.HAMI_KUBERNETES_LEASE_MIRROR
	}
	return c.newTransport(func(client *C.hami_kubernetes, made **C.struct_hami_transport,
		detail *C.struct_hami_error) C.int {
		return C.hami_kubernetes_lease_transport_new(client, &settings, made, detail)
	})
}

func (c *Client) newTransport(construct func(*C.hami_kubernetes, **C.struct_hami_transport,
	*C.struct_hami_error) C.int) (*nodelock.Transport, error) {
	client, done, err := c.use("new transport")
	if err != nil {
		return nil, err
	}
	defer done()
	var made *C.struct_hami_transport
	detail := newDetail()
	if code := construct(client, &made, &detail); code != 0 {
		return nil, failure("new transport", code, &detail)
	}
	return nodelock.NewNativeTransport(unsafe.Pointer(made), c.object, func(pointer unsafe.Pointer) {
		C.hami_kubernetes_transport_free((*C.struct_hami_transport)(pointer))
	}), nil
}

// IsSynced tells whether the transport's watch is in step with the server: its first list is complete
// and the watch stands. Always true without a watch. For transports of this package only.
func IsSynced(transport *nodelock.Transport) bool {
	pointer, done := transport.Use()
	if pointer == nil {
		return false
	}
	defer done()
	return bool(C.hami_kubernetes_transport_is_synced((*C.struct_hami_transport)(pointer)))
}
