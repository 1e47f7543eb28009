package rest

import (
	"context"
	"testing"
	"time"
)

// TestAPollThatIsWokenAgainAndAgain looks at once at first, and then with pauses.
func TestAPollThatIsWokenAgainAndAgain(t *testing.T) {
	wake := make(chan struct{}, 1)
	checks, began := 0, time.Now()
	ok, err := Await(t.Context(), wake, time.Minute, func(context.Context) (bool, error) {
		checks++
		select {
		case wake <- struct{}{}:
		default:
		}
		return checks == FreeChecks+5, nil
	})
	if !ok || err != nil || time.Since(began) < 5*pollPause {
		t.Errorf("%v %v: %d checks in %v", ok, err, checks, time.Since(began))
	}
}
