// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// partner PEER: our gRPC against grpc-go, in both directions, as TAP.
//
// PEER is the program grpc-peer. Each test has a folder and a peer of its own.
package main

import (
	"fmt"
	"os"
	"time"
)

const patience = 30 * time.Second

type test struct {
	name string
	run  func(w *world) error
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: partner GRPC-PEER")
		os.Exit(2)
	}
	tests := append(serverTests(), clientTests()...)
	fmt.Printf("1..%d\n", len(tests))
	bad := 0
	for i, t := range tests {
		err := runOne(t, os.Args[1])
		if err != nil {
			bad++
			fmt.Printf("not ok %d - %s\n# %v\n", i+1, t.name, err)
			continue
		}
		fmt.Printf("ok %d - %s\n", i+1, t.name)
	}
	if bad != 0 {
		os.Exit(1)
	}
}

func runOne(t test, peer string) error {
	folder, err := os.MkdirTemp("", "grpc-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	w := &world{program: peer, socket: folder + "/socket"}
	defer w.close()
	done := make(chan error, 1)
	go func() { done <- t.run(w) }()
	select {
	case err = <-done:
		return err
	case <-time.After(2 * patience):
		return fmt.Errorf("it did not end")
	}
}
