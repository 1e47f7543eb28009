package control

import (
	"context"
	"testing"
	"time"
)

// A request of a user and an event of a search end the pause after a cycle; so do the end of the
// pause and that of the term, which ask for no cycle.
func TestRest(t *testing.T) {
	wake := func() chan struct{} {
		c := make(chan struct{}, 1)
		c <- struct{}{}
		return c
	}
	if !rest(t.Context(), time.Hour, wake(), nil) {
		t.Error("a request of a user did not ask for a cycle")
	}
	if !rest(t.Context(), time.Hour, nil, wake()) {
		t.Error("an event of a search did not ask for a cycle")
	}
	if rest(t.Context(), time.Microsecond, make(chan struct{}), make(chan struct{})) {
		t.Error("the end of the pause asked for a cycle")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if rest(ended, time.Hour, make(chan struct{}), make(chan struct{})) {
		t.Error("the end of the term asked for a cycle")
	}
}
