// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// Command reference does what HAMi's extender and device plugin do around the node lock, call
// by call and with the same limit on calls, so that a bench has something to be compared with:
//
//	reference extender --kubeconfig FILE --address-file FILE [--qps N --burst N] [--poll TIME]
//	reference plugin --kubeconfig FILE --node NAME --socket PATH [--qps N --burst N]
//
// It is written from the protocol as it can be seen on the wire, and shares nothing with hamid.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

func listen(network, address, addressFile string) (net.Listener, error) {
	listener, err := net.Listen(network, address)
	if err != nil || addressFile == "" {
		return listener, err
	}
	// Whoever waits for the file must find all of it there.
	if err := os.WriteFile(addressFile+".new", []byte(listener.Addr().String()+"\n"), 0o600); err != nil {
		return nil, err
	}
	return listener, os.Rename(addressFile+".new", addressFile)
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("usage: reference extender|plugin OPTIONS")
	}
	role := arguments[0]
	flags := flag.NewFlagSet("reference", flag.ContinueOnError)
	config := flags.String("kubeconfig", "", "how to reach the API server")
	addressFile := flags.String("address-file", "", "extender: gets the address it listens on")
	node := flags.String("node", "", "plugin: its node")
	socket := flags.String("socket", "", "plugin: where the kubelet finds it")
	perSecond := flags.Float64("qps", 5, "requests a second; 0: no limit")
	burst := flags.Int("burst", 10, "requests at once")
	poll := flags.Duration("poll", 0, "extender: how long to ask again for a lock; 0: not at all")
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	c, err := newClient(*config, "reference-"+role, *perSecond, *burst)
	if err != nil {
		return err
	}
	network, address := "tcp", "127.0.0.1:0"
	var handler http.Handler
	switch role {
	case "extender":
		handler = (&extender{c, newLocks(c), newRecorder(c), *poll}).handler()
	case "plugin":
		network, address = "unix", *socket
		handler = (&plugin{client: c, locks: newLocks(c), node: *node, open: map[string]meta{}}).handler()
	default:
		return fmt.Errorf("no such role: %s", role)
	}
	listener, err := listen(network, address, *addressFile)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 15 * time.Second}
	return server.Serve(listener)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}
