// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock

// #include <stdlib.h>
// #include "native.h"
import "C"

import (
	"strings"
	"time"
	"unsafe"
)

// texts is C memory for one call's arguments. One goroutine at a time.
type texts struct {
	parts []unsafe.Pointer
}

func (t *texts) text(text string) *C.char {
	// C would see the part before the NUL only, which is another text.
	made := C.CString(strings.ReplaceAll(text, "\x00", "\uFFFD"))
	t.parts = append(t.parts, unsafe.Pointer(made))
	return made
}

// optional gives NULL for the empty text.
func (t *texts) optional(text string) *C.char {
	if text == "" {
		return nil
	}
	return t.text(text)
}

func (t *texts) pointer(text *string) *C.char {
	if text == nil {
		return nil
	}
	return t.text(*text)
}

func (t *texts) memory(count int, size uintptr) unsafe.Pointer {
	made := C.calloc(C.size_t(max(count, 1)), C.size_t(size))
	t.parts = append(t.parts, made)
	return made
}

// list gives an array of texts; NULL if there are none.
func (t *texts) list(all []string) **C.char {
	if len(all) == 0 {
		return nil
	}
	made := (**C.char)(t.memory(len(all), unsafe.Sizeof((*C.char)(nil))))
	for i, one := range all {
		unsafe.Slice(made, len(all))[i] = t.text(one)
	}
	return made
}

func (t *texts) owner(owner Owner) C.struct_hami_owner {
	return C.struct_hami_owner{
		namespace_name: t.text(owner.Namespace),
		name:           t.text(owner.Name),
		uid:            t.text(owner.UID),
	}
}

func (t *texts) free() {
	for _, part := range t.parts {
		C.free(part)
	}
	t.parts = nil
}

// goText gives nil for NULL.
func goText(text *C.char) *string {
	if text == nil {
		return nil
	}
	made := C.GoString(text)
	return &made
}

func goOwner(owner *C.struct_hami_owner) Owner {
	return Owner{
		Namespace: C.GoString(owner.namespace_name),
		Name:      C.GoString(owner.name),
		UID:       C.GoString(owner.uid),
	}
}

// milliseconds rounds up: a limit that was asked for is not none.
func milliseconds(duration time.Duration) C.uint64_t {
	return C.uint64_t((duration + time.Millisecond - 1) / time.Millisecond)
}
