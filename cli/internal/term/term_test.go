package term_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/detent-ml/detent/cli/internal/term"
)

func TestQuestions(t *testing.T) {
	tty, _, errs := term.Buffers("maybe\nY\nno\nsecret\r\nlast")
	for i, want := range []bool{true, false} {
		if got, err := tty.Confirm(t.Context(), "Sure?"); err != nil || got != want {
			t.Errorf("answer %d: %v, %v", i, got, err)
		}
	}
	if got, err := tty.Secret(t.Context(), "Password: "); err != nil || got != "secret" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := tty.Line(t.Context(), "Name: "); err != nil || got != "last" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := tty.Confirm(t.Context(), "Sure?"); err == nil {
		t.Error("the end of the input counts as an answer")
	}
	if want := "Sure? [y/n]: Please answer with y or n.\nSure? [y/n]: Sure? [y/n]: Name: Sure? [y/n]: "; errs.String() != want {
		t.Errorf("%q", errs)
	}
}

// An interrupt works without a press of Enter.
func TestInterruptEndsAQuestion(t *testing.T) {
	tty, _, _ := term.Buffers("")
	r, w := io.Pipe()
	defer w.Close()
	tty.In = r
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tty.Line(ctx, "Name: "); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestNothingIsPaintedForPipes(t *testing.T) {
	tty, _, _ := term.Buffers("")
	if got := tty.OutStyle().Red("x") + tty.ErrStyle().Green("y"); got != "xy" {
		t.Errorf("%q", got)
	}
}
