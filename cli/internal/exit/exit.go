// Package exit maps errors to exit statuses of det.
//
// Determined's client exits with 1 for all failures, 2 for a wrong command line and 3 after an
// interrupt; det keeps these. For scripts that need to distinguish failures, there are further
// statuses from 4.
package exit

import (
	"context"
	"errors"

	"github.com/detent-ml/detent/master/fault"
)

// The exit statuses of det.
const (
	OK          = 0
	Failed      = 1 // the command failed
	Usage       = 2 // the command line is wrong
	Interrupted = 3 // by Ctrl-C or a signal
	SignIn      = 4 // not signed in, or wrong password
	NotFound    = 5
	Conflict    = 6 // conflict with the current state
	Forbidden   = 7
	Unavailable = 8 // the master cannot be reached or cannot answer now; a later try may succeed
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

// A UsageError is an error in the command line.
type UsageError struct {
	Message string
	Hint    string // what to do
}

// Error describes the mistake.
func (e *UsageError) Error() string { return e.Message }

// A Status is an exit status whose reason has already been printed, or needs no message.
type Status int

// Error is never printed.
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
