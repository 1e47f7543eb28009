// Package sleep waits for a time or for the end of a context, whichever is first.
package sleep

import (
	"context"
	"time"
)

// For waits for a while, or until ctx ends, whose cause it returns.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// UntilWoken waits for a wake-up, but no longer than d.
func UntilWoken(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-t.C:
	}
}
