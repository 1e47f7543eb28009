// Package sleep waits for a time or for the end of a context, whichever is first.
package sleep

import (
	"context"
	"iter"
	"time"
)

// For waits for a while, or until ctx ends, whose cause it returns.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// UntilWoken waits for a wake-up, but no longer than d.
func UntilWoken(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-wake:
	case <-time.After(d):
	}
}

// Every yields after each d, until ctx ends.
func Every(ctx context.Context, d time.Duration) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if !yield(struct{}{}) {
				return
			}
		}
	}
}

// Wake sends a wake-up into a channel that has a place for one, if none waits there.
func Wake(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
