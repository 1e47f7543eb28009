package exit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/fault"
)

func TestCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything"), 1},
		{fault.New(fault.Internal, "x"), 1},
		{fault.New(fault.Invalid, "x"), 1},
		{fault.New(fault.TooLarge, "x"), 1},
		{fault.New(fault.Unimplemented, "x"), 1},
		{&exit.UsageError{Message: "x"}, 2},
		{context.Canceled, 3},
		{fault.New(fault.Unauthenticated, "x"), 4},
		{fault.New(fault.NotFound, "x"), 5},
		{fmt.Errorf("experiment 3: %w", fault.New(fault.NotFound, "x")), 5},
		{fault.New(fault.Conflict, "x"), 6},
		{fault.New(fault.Forbidden, "x"), 7},
		{fault.New(fault.Unavailable, "x"), 8},
		{fault.New(fault.TooMany, "x"), 8},
		{exit.Status(42), 42},
	} {
		if got := exit.Code(c.err); got != c.want {
			t.Errorf("Code(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

// A code that is added to fault must be decided upon here.
func TestEveryFaultHasACode(t *testing.T) {
	for code := fault.Internal; code <= fault.Unimplemented; code++ {
		if exit.Code(fault.New(code, "x")) == 0 {
			t.Errorf("%v ends as success", code)
		}
	}
}
