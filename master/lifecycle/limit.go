package lifecycle

import (
	"fmt"
	"strings"
	"time"
)

// A TimeLimit is for how long a trial or a task may hold its place, over all its attempts: since its beginning, or its last
// continuation. The time in the queue does not count.
//
// At the limit a trial is preempted as at a pause: its program stores a checkpoint and exits. It is killed if it has not exited
// after the grace. Other tasks are killed at the limit: by a signal first, as at every kill. The log gets a line before.
type TimeLimit struct {
	Limit time.Duration // 0: there is none
	Held  time.Duration // by attempts that have ended
	Since *time.Time    // when the running attempt got its place; nil: there is none
	Grace time.Duration
	Of    string // whose limit it is, as part of a sentence
}

const (
	// maxWarning is how long before the limit the log gets a line at the earliest; it gets one after nine tenths of the time.
	maxWarning = 10 * time.Minute
	// killMargin is the time that a kill takes, with the cycles of the loop.
	killMargin = time.Minute
)

// Left is for how long the place may still be held until the limit; false if there is no limit.
func (l TimeLimit) Left(now time.Time) (time.Duration, bool) {
	left := l.Limit - l.Held
	if l.Since != nil {
		left -= now.Sub(*l.Since)
	}
	return left, l.Limit > 0
}

// Reached says that the limit is reached; "" if it is not.
func (l TimeLimit) Reached(now time.Time) string {
	if left, limited := l.Left(now); limited && left <= 0 {
		return fmt.Sprintf("it has run for %s, which is %s", span(l.Limit), l.Of)
	}
	return ""
}

// Overdue reports whether the grace after the limit is over, too.
func (l TimeLimit) Overdue(now time.Time) bool {
	left, limited := l.Left(now)
	return limited && left+l.Grace <= 0
}

// Bound is the time after the start of the next attempt at which it has certainly ended; 0 if there is no limit. No attempt runs.
func (l TimeLimit) Bound() time.Duration {
	left, limited := l.Left(time.Time{})
	if !limited {
		return 0
	}
	return max(left, 0) + l.Grace + killMargin
}

// Warning is the line for the log of an attempt if the limit is near, and "" otherwise. then is what happens at the limit.
func (l TimeLimit) Warning(now time.Time, then string) string {
	left, limited := l.Left(now)
	if !limited || left <= 0 || left > min(maxWarning, l.Limit/10) {
		return ""
	}
	return fmt.Sprintf("%s at %s UTC, in %s: by then it has run for %s, which is %s", then, now.Add(left).UTC().Format(time.TimeOnly), span(left.Round(time.Second)), span(l.Limit), l.Of)
}

// span writes a time span without units of zero: 4h and not 4h0m0s.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Longest is how long the next attempt runs at most, with this limit and as long as others like it took; 0: nobody knows.
func (l TimeLimit) Longest(took time.Duration) time.Duration {
	bound := l.Bound()
	if took > 0 && (bound == 0 || took < bound) {
		return took
	}
	return bound
}
