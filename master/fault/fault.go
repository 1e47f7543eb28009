// Package fault has the only kind of error that one package returns to another.
//
// A fault has a code out of a small closed set, which decides the HTTP status
// (one table, in rest) and the exit status of det (one table, in cli), and a
// message that a person can act on: what failed, which object, and what to do
// next. An error that is not a fault is internal: the master logs it in full, and
// answers only "Internal error".
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Code says what kind of thing went wrong.
type Code int

// The codes. Their order carries no meaning.
const (
	Internal        Code = iota // a defect of ours
	Invalid                     // the request is wrong; repeating it will not help
	Unauthenticated             // nobody is signed in
	Forbidden                   // somebody is, and may not
	NotFound                    // no such thing
	Conflict                    // it clashes with what is there
	TooLarge                    // over a stated limit
	TooMany                     // over a stated rate or count; later it may go
	Unavailable                 // a part we depend on is away; try again
	Unimplemented               // a call that Determined has and Detent does not
)

var names = [...]string{
	Internal: "Internal", Invalid: "InvalidArgument", Unauthenticated: "Unauthenticated",
	Forbidden: "PermissionDenied", NotFound: "NotFound", Conflict: "AlreadyExists",
	TooLarge: "ResourceExhausted", TooMany: "ResourceExhausted", Unavailable: "Unavailable",
	Unimplemented: "Unimplemented",
}

// String is the code's name on the wire, which is gRPC's.
func (c Code) String() string { return names[c] }

// Fault is an error with a code.
type Fault struct {
	Code    Code
	Message string
	Err     error // the cause, for the log; its text is not shown
}

// Error is the message that users see.
func (f *Fault) Error() string { return f.Message }

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Err }

// New makes a fault. A %w verb keeps the cause, and puts its text in the message.
func New(code Code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Fault{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Wrap gives err a code and a message of its own; err is kept for the log.
func Wrap(code Code, err error, format string, args ...any) error {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

// CodeOf finds the code of an error: Internal where it has none.
func CodeOf(err error) Code {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Code
	}
	return Internal
}

// Is reports whether err is a fault of that code.
func Is(err error, code Code) bool {
	var f *Fault
	return errors.As(err, &f) && f.Code == code
}

// Clip shortens what a client sent for a message.
func Clip(s string) string { return ClipTo(s, 80) }

// ClipTo shortens a text to so many bytes.
func ClipTo(s string, limit int) string {
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// Root is the innermost error: the errors around it often repeat an address.
func Root(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return err
}
