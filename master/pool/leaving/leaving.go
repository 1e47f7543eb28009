// Package leaving is about the notice that a machine goes away: metadata of its node in Nomad, which operators set, and
// det-notice for the notices of clouds. The masters read them, so both sides take the names and the form of the time from
// here.
//
// Everything here is pure.
package leaving

import (
	"strconv"
	"time"
)

// Keys of a node's metadata.
const (
	// Key has the time at which the machine goes away; At parses it. Any other text is a notice without a time.
	Key = "detent.leaving"
	// WhyKey says why in words; it may be missing.
	WhyKey = "detent.leaving.why"
)

// At parses the time in a notice: RFC 3339, or seconds of the Unix epoch. It returns the zero time for another text,
// also for milliseconds, which the bound excludes.
func At(notice string) time.Time {
	if at, err := time.Parse(time.RFC3339, notice); err == nil {
		return at.UTC()
	}
	if seconds, err := strconv.ParseInt(notice, 10, 64); err == nil && seconds > 0 && seconds < 1<<36 {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Time{}
}
