// Package cloud asks the metadata service of a cloud whether it takes this machine back.
//
// Each cloud answers at the same address, which only its own machines can reach, in its own way: aws.go, google.go and
// azure.go have a pure function each, which turns an answer into a Notice, and the requests around it. detect.go finds out
// which cloud answers. service.go sends the requests. Whoever controls the network of the machine can answer in
// the place of the cloud, so an answer is bounded in size and time, no redirect is followed, and nothing of its text
// reaches a Notice: a Notice has words of this package and a time.
package cloud

import (
	"context"
	"time"
)

// A Notice says that a cloud takes a machine away.
type Notice struct {
	At time.Time // when it does; zero if the cloud says no time
	// Counted: the cloud says only that it is about to, and At was counted from the moment when this process first saw
	// the notice. A process that starts later counts from a later moment.
	Counted bool
	Why     string // in words
}

// A Cloud is asked again and again. It is used by one goroutine.
type Cloud interface {
	Name() string
	// Look returns the notice that the cloud has now; nil if it has none. It may wait a while for a change.
	Look(ctx context.Context) (*Notice, error)
	// Pause is how long to wait between two looks.
	Pause() time.Duration
}

// Options select which notices count.
type Options struct {
	// Rebalance: AWS's recommendations to leave a machine count too. They say no time, and are not withdrawn.
	Rebalance bool
	// Maintenance: events that end the tasks of a machine which is no spot machine count too.
	Maintenance bool
}

// farAway bounds the times of notices: a time beyond is an error of the answer.
const farAway = 30 * 24 * time.Hour

// plausible returns a time of an answer, or the zero time for one that cannot be meant.
func plausible(at, now time.Time) time.Time {
	if d := at.Sub(now); d < -farAway || d > farAway {
		return time.Time{}
	}
	return at.UTC()
}

// sooner returns the notice that leaves less time; a notice without a time only if there is no other.
func sooner(a, b *Notice) *Notice {
	switch {
	case a == nil:
		return b
	case b == nil, b.At.IsZero():
		return a
	case a.At.IsZero(), b.At.Before(a.At):
		return b
	}
	return a
}
