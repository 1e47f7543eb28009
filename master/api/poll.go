package api

import (
	"context"
	"errors"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// maxPoll is the longest time that a request waits for an event.
const maxPoll = 60 * time.Second

// await calls check at once and after each wake-up, until check is satisfied or the time has
// passed; it returns whether check was satisfied.
func await(ctx context.Context, wake <-chan struct{}, timeout time.Duration, check func(ctx context.Context) (bool, error)) (satisfied bool, err error) {
	t := time.NewTimer(timeout)
	defer t.Stop()
	for {
		ok, err := check(ctx)
		if ok || err != nil {
			return ok, err
		}
		select {
		case <-wake:
		case <-t.C:
			return false, nil
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return false, fault.New(fault.Unavailable, "the master is stopping; try again")
			}
			return false, nil
		}
	}
}
