// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelock

// #include "native.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"syscall"
	"time"
)

// Code is why something failed, and itself an error: compare with errors.Is, or take it out of an
// error with errors.As.
//
//	if errors.Is(err, nodelock.ErrHeld) { .. }
type Code int

// The codes. Their numbers are those of the C library and never change.
const (
	ErrInvalid      Code = C.HAMI_E_INVAL     // an argument is wrong; the text says which
	ErrNoMemory     Code = C.HAMI_E_NOMEM     // out of memory
	ErrTimedOut     Code = C.HAMI_E_TIMEDOUT  // the deadline passed; also context.DeadlineExceeded
	ErrCanceled     Code = C.HAMI_E_CANCELED  // the context was cancelled; also context.Canceled
	ErrBusy         Code = C.HAMI_E_BUSY      // a try: taken in this process, or others wait
	ErrHeld         Code = C.HAMI_E_HELD      // the store names another owner
	ErrLost         Code = C.HAMI_E_LOST      // the lock is not, or no longer, the owner's
	ErrNoNode       Code = C.HAMI_E_NODE      // there is no such node
	ErrAccess       Code = C.HAMI_E_ACCESS    // the store refused access
	ErrInDoubt      Code = C.HAMI_E_IN_DOUBT  // it may have happened; it is being found out
	ErrTransport    Code = C.HAMI_E_TRANSPORT // the store could not be reached; nothing happened
	ErrProtocol     Code = C.HAMI_E_PROTO     // the store answered something that makes no sense
	ErrLimit        Code = C.HAMI_E_LIMIT     // a limit is reached
	ErrClosed       Code = C.HAMI_E_CLOSED    // it is closed, or closing
	ErrForked       Code = C.HAMI_E_FORKED    // called in a forked child
	ErrNotSupported Code = C.HAMI_E_NOTSUP    // this transport can't do that
	ErrABI          Code = C.HAMI_E_ABI       // the installed library is older than its headers were
)

// ErrConsumed is answered by a lease that was released or handed off before.
var ErrConsumed = errors.New("nodelock: the lease was released or handed off before")

// Error gives the meaning of the code.
func (c Code) Error() string {
	return C.GoString(C.hami_strerror(C.int(c)))
}

// Error is one failure. errors.Is sees its code, and the context's error where a context ended it.
type Error struct {
	Operation string        // what was asked: "acquire", "release", ..
	Code      Code          // why it failed
	Text      string        // one line for people; may be empty
	Status    int           // HTTP status where there was one
	Errno     syscall.Errno // where there was one
	Cause     error         // the context's error and cause, or nil

	// Of an acquire that ended with ErrLimit or ErrTimedOut.
	Position int           // waiters that stood before it
	Waiting  int           // waiters of the node
	Expected time.Duration // from then on until its turn, by the node's pace; 0 = not measured
}

// Error gives one line for people.
func (e *Error) Error() string {
	if e.Text == "" || e.Text == e.Code.Error() {
		return fmt.Sprintf("nodelock: %s: %s", e.Operation, e.Code.Error())
	}
	return fmt.Sprintf("nodelock: %s: %s: %s", e.Operation, e.Code.Error(), e.Text)
}

// Unwrap lets errors.Is and errors.As see the code, the errno and the context's error.
func (e *Error) Unwrap() []error {
	inner := []error{e.Code}
	if e.Errno != 0 {
		inner = append(inner, e.Errno)
	}
	if e.Cause != nil {
		inner = append(inner, e.Cause)
	}
	return inner
}

// causeOf is what a context adds to a failure of this code.
func causeOf(ctx context.Context, code Code) error {
	switch {
	case code == ErrTimedOut:
		return context.DeadlineExceeded
	case code != ErrCanceled:
		return nil
	case ctx == nil || ctx.Err() == nil || context.Cause(ctx) == context.Canceled:
		return context.Canceled
	default:
		return errors.Join(context.Canceled, context.Cause(ctx))
	}
}

// failure makes an error of what C said; detail may be nil, ctx too.
func failure(operation string, code C.int, detail *C.struct_hami_error, ctx context.Context) error {
	made := &Error{Operation: operation, Code: Code(code), Cause: causeOf(ctx, Code(code))}
	if detail != nil {
		made.Text = C.GoString(&detail.text[0])
		made.Status = int(detail.status)
		made.Errno = syscall.Errno(detail.system)
		made.Position = int(detail.position)
		made.Waiting = int(detail.waiting)
		made.Expected = time.Duration(min(uint64(detail.expected_ns), math.MaxInt64))
	}
	return made
}

// refusal makes one of our own.
func refusal(operation string, code Code, format string, words ...any) error {
	return &Error{Operation: operation, Code: code, Text: fmt.Sprintf(format, words...)}
}

// codeOf is what a transport's error says; other is for an error without a code.
func codeOf(err error, other Code) Code {
	var code Code
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return code
	default:
		return other
	}
}
