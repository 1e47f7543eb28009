// Package exit is the one table from an error to det's exit status.
//
// Determined's client ends with 1 for whatever went wrong, 2 for a command line
// that makes no sense and 3 when interrupted. Those stay. Scripts that want to
// tell "not there" from "not reachable" have codes of their own from 4 on.
package exit

import (
	"context"
	"errors"

	"github.com/detent-ml/detent/master/fault"
)

// The exit statuses of det.
const (
	OK          = 0
	Failed      = 1 // the command was understood and did not succeed
	Usage       = 2 // the command line makes no sense
	Interrupted = 3 // by the person at the keyboard, or by a signal
	SignIn      = 4 // nobody is signed in, or the password is wrong
	NotFound    = 5
	Conflict    = 6 // it clashes with what is there
	Forbidden   = 7
	Unavailable = 8 // the master cannot be reached or cannot answer now; trying again may help
)

var codes = map[fault.Code]int{
	fault.Internal:        Failed,
	fault.Invalid:         Failed,
	fault.Unauthenticated: SignIn,
	fault.Forbidden:       Forbidden,
	fault.NotFound:        NotFound,
	fault.Conflict:        Conflict,
	fault.TooLarge:        Failed,
	fault.TooMany:         Unavailable,
	fault.Unavailable:     Unavailable,
	fault.Unimplemented:   Failed,
}

// A UsageError is a command line that makes no sense.
type UsageError struct {
	Message string
	Hint    string // what to type, or where to read
}

// Error is what is wrong with the command line.
func (e *UsageError) Error() string { return e.Message }

// A Status is an end that has been explained already, or needs no explanation.
type Status int

// Error never reaches a person.
func (s Status) Error() string { return "exit status set" }

// Code is the exit status for an error.
func Code(err error) int {
	var status Status
	var usage *UsageError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage):
		return Usage
	case errors.Is(err, context.Canceled):
		return Interrupted
	}
	return codes[fault.CodeOf(err)]
}
