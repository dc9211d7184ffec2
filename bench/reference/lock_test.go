// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestParseTellsOwnersFromBareTimes(t *testing.T) {
	for _, one := range []struct {
		value           string
		isGood, isKnown bool
	}{
		{"2025-08-06T05:51:42Z,default,workload", true, true},
		{"2025-08-06T05:51:42+08:00", true, false},
		{"2025-08-06T05:51:42Z,,", true, false},
		{"2025-08-06T05:51:42Z,default", false, false},
		{"soon,default,workload", false, false},
		{"", false, false},
	} {
		found, err := parse(one.value)
		if (err == nil) != one.isGood || found.known != one.isKnown {
			t.Errorf("%q: %+v, %v", one.value, found, err)
		}
	}
}

func TestPausesGrow(t *testing.T) {
	for try := 0; try < tries; try++ {
		whole := firstPause << try
		if got := pause(try); got < whole || got > whole+whole/2 {
			t.Errorf("try %d: %v", try, got)
		}
	}
}

func TestOwnerIsTheWholeName(t *testing.T) {
	if isOwn("2025-08-06T05:51:42Z,default,abc-123", "default", "abc") ||
		!isOwn("2025-08-06T05:51:42Z,default,abc", "default", "abc") {
		t.Error("an owner is compared by its namespace and its whole name")
	}
}
