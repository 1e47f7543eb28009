package scim

import (
	"testing"
	"time"
)

// TestCallsOfAMinute: a client may send so many calls in a minute.
func TestCallsOfAMinute(t *testing.T) {
	calls := newCalls()
	now := time.Now()
	for range maxPerMinute {
		if !calls.count(now) {
			t.Fatal("rejected too early")
		}
	}
	if calls.count(now) || !calls.count(now.Add(time.Minute)) {
		t.Error("the calls of a minute are not counted")
	}
}
