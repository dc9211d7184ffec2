// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"

	"haminodelock.test/nodelock"
)

// gate is a transport written in Go that stands before another one and holds its writes up while it is
// shut. The other one has no watch here, so managers read while somebody waits.
type gate struct {
	inner *nodelock.Transport
	mutex sync.Mutex
	open  chan struct{} // closed: writes go on
	held  chan struct{} // a write has come and waits
}

func newGate(inner *nodelock.Transport) *gate {
	made := &gate{inner: inner, open: make(chan struct{}), held: make(chan struct{}, 100)}
	close(made.open)
	return made
}

func (g *gate) shut() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) way() chan struct{} {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.open
}

// Submit hands a call on in a goroutine of its own. It waits for the gate whatever the call's context
// says: a write on its way can't be called back.
func (g *gate) Submit(call *nodelock.Call) error {
	go func() {
		if call.IsWrite() {
			way := g.way()
			select {
			case <-way:
			default:
				g.held <- struct{}{}
				<-way
			}
		}
		call.Done(g.inner.Call(soon(), call.Node(), call.Edits(), call.Version()))
	}()
	return nil
}

func (g *gate) Inspect(call *nodelock.OwnerCall) error {
	go func() {
		facts, err := g.inner.Inspect(soon(), call.Node(), call.Owner())
		call.Done(facts, true, err)
	}()
	return nil
}

func (g *gate) Revoke(call *nodelock.OwnerCall) error {
	go func() {
		facts, err := g.inner.Revoke(soon(), call.Node(), call.Owner(), call.Revocation())
		call.Done(facts, true, err)
	}()
	return nil
}
