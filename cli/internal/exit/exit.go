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
	"github.com/detent-ml/detent/master/v1"
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
	Canceled    = 9 // the experiment was canceled or killed
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

// Of is the exit status of a command that has waited for an experiment; an experiment that has not ended is no failure.
func Of(state v1.ExperimentState) error {
	switch state {
	case v1.ExperimentStateError, v1.ExperimentStateDeleting, v1.ExperimentStateDeleted, v1.ExperimentStateDeleteFailed:
		return Status(Failed)
	case v1.ExperimentStateCanceled:
		return Status(Canceled)
	}
	return nil
}

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
