// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// The consumer in Go: runs the behaviours on one backend, PROGRAM memory|kubesim. Prints TAP.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"haminodelock.test/nodelock"
)

const patience = 20 * time.Second // for what has to happen; nothing waits that long unless it fails

var rows = []struct {
	id           string
	run          func(*world)
	isMemoryOnly bool
}{
	{"deadline-queued", deadlineQueued, false},
	{"deadline-past", deadlinePast, false},
	{"cancel-queued", cancelQueued, false},
	{"cancel-in-flight", cancelInFlight, false},
	{"cancel-after-grant", cancelAfterGrant, false},
	{"grant-cancel-race", grantCancelRace, false},
	{"drop", drop, false},
	{"release", release, false},
	{"hand-off", handOff, false},
	{"order", order, false},
	{"lanes", lanes, false},
	{"limit", limit, false},
	{"try", try, false},
	{"many-nodes", manyNodes, false},
	{"callback-thread", callbackThread, false},
	{"close", closing, false},
	{"fork", fork, false},
	{"lost", lost, false},
	{"re-entry", reEntry, false},
	{"arguments", arguments, false},
	{"transport", ownTransport, true},
	{"look", look, false},
}

// abandoned is thrown by need: the rest of a behaviour makes no sense.
type abandoned struct{}

func (w *world) fail(depth int, text string) {
	_, file, line, _ := runtime.Caller(depth + 1)
	w.isFailed = true
	fmt.Printf("# %s:%d: %s\n", filepath.Base(file), line, text)
}

// check records what is wrong; only the goroutine of the behaviour calls it.
func (w *world) check(holds bool, text string) {
	if !holds {
		w.fail(1, text)
	}
}

// is checks that an error has this code; nil for none.
func (w *world) is(err error, code error) {
	if !errors.Is(err, code) {
		w.fail(1, fmt.Sprintf("it was %v, not %v", err, code))
	}
}

// need ends the behaviour unless there is no error.
func (w *world) need(err error) {
	if err != nil {
		w.fail(2, err.Error())
		panic(abandoned{})
	}
}

// show runs one behaviour; true if it is as the table says.
func (w *world) show(run func(*world)) bool {
	w.isFailed = false
	func() {
		defer func() {
			if thrown := recover(); thrown != nil {
				if _, ok := thrown.(abandoned); !ok {
					panic(thrown)
				}
			}
		}()
		run(w)
	}()
	return !w.isFailed
}

func main() {
	if len(os.Args) != 2 {
		fmt.Println("Bail out! no backend was named")
		os.Exit(1)
	}
	w, err := openWorld(os.Args[1])
	if err != nil {
		fmt.Println("Bail out!", err)
		os.Exit(1)
	}
	number, bad := 0, 0
	for _, row := range rows {
		if row.isMemoryOnly && w.store == nil {
			continue
		}
		number++
		word := "ok"
		if !w.show(row.run) {
			word = "not ok"
			bad++
		}
		fmt.Printf("%s %d - %s %s\n", word, number, os.Args[1], row.id)
	}
	fmt.Printf("1..%d\n", number)
	w.close()
	if bad > 0 {
		os.Exit(1)
	}
}

// code is what kind of error it is; 0 for none.
func code(err error) nodelock.Code {
	var found nodelock.Code
	_ = errors.As(err, &found)
	return found
}
