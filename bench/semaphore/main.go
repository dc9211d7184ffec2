// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// Measures Go's weighted semaphore at the tasks of bench/programs/locks.c, and prints one number:
//
//	semaphore pair go COUNT          ns of one take and give, one goroutine
//	semaphore threads go COUNT N     the same, N goroutines for one semaphore
//
// Another task ends it with code 2.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

func turns(one *semaphore.Weighted, count int) {
	for i := 0; i < count; i++ {
		if err := one.Acquire(context.Background(), 1); err != nil {
			panic(err)
		}
		one.Release(1)
	}
}

func measure(count, workers int) float64 {
	one := semaphore.NewWeighted(1)
	turns(one, count/10+1)
	var ended sync.WaitGroup
	begin := time.Now()
	for i := 0; i < workers; i++ {
		ended.Add(1)
		go func() {
			defer ended.Done()
			turns(one, count/workers+1)
		}()
	}
	ended.Wait()
	return float64(time.Since(begin).Nanoseconds()) / float64((count/workers+1)*workers)
}

func main() {
	workers := 1
	if len(os.Args) < 4 || (os.Args[1] != "pair" && os.Args[1] != "threads") {
		os.Exit(2)
	}
	count, err := strconv.Atoi(os.Args[3])
	if err != nil || count < 2 {
		os.Exit(2)
	}
	if len(os.Args) > 4 {
		if workers, err = strconv.Atoi(os.Args[4]); err != nil || workers < 1 {
			os.Exit(2)
		}
	}
	fmt.Printf("%.1f\n", measure(count, workers))
}
