// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// Command client-go sends guarded patches with client-go's metadata client, without its limit on
// calls: what a Go program would use to do what the node-annotation transport does.
//
//	client-go --kubeconfig FILE --calls N NODE...
//
// Each node has one patch under way at a time. Prints one JSON object, as the programs do that it
// is compared with; shares nothing with them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	lockPath    = "/metadata/annotations/floor.example~1mutex.lock"
	leasePath   = "/metadata/annotations/floor.example~1mutex.lease"
	warmUpCalls = 3
)

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value"`
}

// lane patches one node, one call after the other.
type lane struct {
	nodes       metadata.ResourceInterface
	node        string
	fence       uint64
	lock, lease string
	took        []time.Duration
}

func (l *lane) patch(operations []operation) error {
	body, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	_, err = l.nodes.Patch(context.Background(), l.node, types.JSONPatchType, body,
		metav1.PatchOptions{})
	return err
}

func (l *lane) begin() error {
	l.lock, l.lease = "none", "none"
	return l.patch([]operation{{"add", lockPath, l.lock}, {"add", leasePath, l.lease}})
}

// next tests the pair that stands there and sets another one, as long as those of a real lock.
func (l *lane) next() error {
	l.fence++
	lock := time.Now().UTC().Format(time.RFC3339) + ",default," + l.node
	lease := fmt.Sprintf(`{"version":1,"lock":"%s","uid":"%s","fence":"%d","holder":"%s",`+
		`"attempt":"%d","hold_ms":15000,"free":"node"}`, lock,
		"00000000-0000-0000-0000-000000000000", l.fence,
		"floor_0123456789abcdef0123456789abcdef", l.fence)
	err := l.patch([]operation{{"test", lockPath, l.lock}, {"test", leasePath, l.lease},
		{"add", lockPath, lock}, {"add", leasePath, lease}})
	l.lock, l.lease = lock, lease
	return err
}

// round has each lane patch until so many calls have been begun in all.
func round(lanes []*lane, calls int) error {
	var left atomic.Int64
	left.Store(int64(calls))
	failures := make(chan error, len(lanes))
	var group sync.WaitGroup
	for _, one := range lanes {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				begin := time.Now()
				if err := one.next(); err != nil {
					failures <- err
					return
				}
				one.took = append(one.took, time.Since(begin))
			}
		})
	}
	group.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func open(kubeconfig string, names []string) ([]*lane, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	nodes := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
	lanes := make([]*lane, 0, len(names))
	for _, name := range names {
		one := &lane{nodes: nodes, node: name}
		if err := one.begin(); err != nil {
			return nil, err
		}
		lanes = append(lanes, one)
	}
	return lanes, round(lanes, warmUpCalls*len(lanes))
}

func run() error {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	calls := flag.Int("calls", 0, "patches in all")
	flag.Parse()
	if *kubeconfig == "" || *calls <= 0 || flag.NArg() == 0 {
		return fmt.Errorf("usage: client-go --kubeconfig FILE --calls N NODE...")
	}
	lanes, err := open(*kubeconfig, flag.Args())
	if err != nil {
		return err
	}
	for _, one := range lanes {
		one.took = make([]time.Duration, 0, *calls)
	}
	used, begin := processorTime(), time.Now()
	if err := round(lanes, *calls); err != nil {
		return err
	}
	whole, busy := time.Since(begin), processorTime()-used
	var took []time.Duration
	for _, one := range lanes {
		took = append(took, one.took...)
	}
	slices.Sort(took)
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"calls": len(took), "calls_per_second": float64(len(took)) / whole.Seconds(),
		"median_us": took[len(took)/2].Microseconds(),
		"p99_us":    took[len(took)*99/100].Microseconds(),
		"cpu_us":    float64(busy.Microseconds()) / float64(len(took)),
	})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "client-go:", err)
		os.Exit(1)
	}
}
