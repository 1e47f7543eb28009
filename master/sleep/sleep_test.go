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
