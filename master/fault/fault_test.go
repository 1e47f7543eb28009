package fault

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestFaults(t *testing.T) {
	f := New(NotFound, "experiment %d: %w", 7, io.EOF)
	wrapped := fmt.Errorf("reading: %w", f)
	if CodeOf(wrapped) != NotFound || !Is(wrapped, NotFound) || !errors.Is(wrapped, io.EOF) {
		t.Errorf("%v lost its code or its cause", wrapped)
	}
	if f.Error() != "experiment 7: EOF" {
		t.Errorf("the error is %q", f)
	}
	hidden := Wrap(Unavailable, io.EOF, "try again")
	if hidden.Error() != "try again" || !errors.Is(hidden, io.EOF) {
		t.Errorf("%v", hidden)
	}
	if CodeOf(io.EOF) != Internal || Is(nil, Internal) || Is(io.EOF, Internal) {
		t.Error("an error that is no fault has no code but Internal")
	}
	for c := Internal; c <= Unimplemented; c++ {
		if c.String() == "" {
			t.Errorf("code %d has no name", c)
		}
	}
}
