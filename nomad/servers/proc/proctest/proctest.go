// Package proctest has helpers for tests that start servers.
package proctest

import (
	"context"
	"testing"
	"time"
)

const lookEvery = 50 * time.Millisecond

// Until repeats a check until it passes, and fails the test at a time limit.
func Until(t testing.TB, limit time.Duration, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v after %v", what, err, limit)
		}
	}
}
