// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"haminodelock.test/nodelock"
	"haminodelock.test/nodelock/internal/native"
)

// round is one of each: granted, timed out, cancelled, refused, handed off, and the manager's end.
func round(t *testing.T) {
	carrier := newMapCarrier()
	for _, name := range []string{"a", "b"} {
		carrier.owners[name] = nodelock.OwnerFacts{Exists: true, UID: "uid-" + name}
	}
	transport, err := nodelock.NewTransport(carrier, nodelock.TransportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	manager, err := nodelock.New(nodelock.Config{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := manager.Acquire(soon(t), request("n1", "a"))
	if err != nil {
		t.Fatal(err)
	}
	past, cancel := context.WithTimeout(context.Background(), 0)
	_, _ = manager.Acquire(past, request("n1", "b"))
	cancel()
	gone, cancel := context.WithCancel(context.Background())
	go cancel()
	_, _ = manager.Acquire(gone, request("n1", "b"))
	_, _ = manager.Acquire(context.Background(), request("", ""))
	_, _ = manager.Snapshot("")
	_ = lease.Check(soon(t))
	_ = lease.Release(soon(t))
	if lease, err = manager.Acquire(soon(t), request("n2", "a")); err != nil {
		t.Fatal(err)
	}
	_ = lease.HandOff()
	if err := manager.Close(soon(t)); err != nil {
		t.Fatal(err)
	}
	transport.Close()
}

// What malloc keeps for a thread counts as in use, and threads come and go: it is to keep none.
const withoutKeeping = "glibc.malloc.tcache_count=0"

func TestNothingIsLeftInCMemoryAfterManyRounds(t *testing.T) {
	if os.Getenv("GLIBC_TUNABLES") != withoutKeeping {
		again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		again.Env = append(os.Environ(), "GLIBC_TUNABLES="+withoutKeeping)
		said, err := again.CombinedOutput()
		if t.Logf("%s", said); err != nil {
			t.Error(err)
		}
		return
	}
	const rounds, least = 1000, 16 // bytes that malloc takes at least
	for range rounds / 5 {
		round(t) // what is made once only is made now, and most of the threads
	}
	before, handles := native.MemoryInUse(), native.Handles()
	for range rounds {
		round(t)
	}
	grown := native.MemoryInUse() - before
	t.Logf("%d rounds: %d bytes more", rounds, grown)
	if grown >= rounds*least {
		t.Errorf("%d rounds left %d bytes", rounds, grown)
	}
	if native.Handles() > handles {
		t.Errorf("%d handles, %d before", native.Handles(), handles)
	}
}
