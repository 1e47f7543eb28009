package sleep

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestFor(t *testing.T) {
	if err := For(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := For(ctx, time.Hour); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}

func TestUntilWoken(t *testing.T) {
	wake := make(chan struct{}, 1)
	wake <- struct{}{}
	UntilWoken(t.Context(), wake, time.Hour)
	if len(wake) != 0 {
		t.Error("the wake-up is still there")
	}
	UntilWoken(t.Context(), wake, time.Nanosecond)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	UntilWoken(ctx, wake, time.Hour)
}
