package control

import (
	"errors"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// How long the loop waits before it tries a failed bundle again: longer each time.
const (
	staleRetries  = 3  // a stale bundle is tried again in the next cycle this often, without a delay
	staleForLong  = 10 // the log has a line when a bundle has been stale this often in a row: nothing changes a row so often
	minStaleDelay = 100 * time.Millisecond
	maxStaleDelay = 5 * time.Second
	minSlowDelay  = time.Second
	maxSlowDelay  = time.Minute
)

// backoffs has the bundles that could not be stored in this term, by their keys.
type backoffs map[string]*backoff

// A backoff is a bundle that could not be stored.
type backoff struct {
	level handling  // rises with each failure that the bundle itself causes: Decide then tries a simpler way
	tries int       // failures in a row
	until time.Time // the loop does not try the bundle before
	slow  bool      // it exceeded its time limit: the loop stores it after the others, in its own transaction
	why   string    // the last cause
}

// handling returns how Decide must handle each bundle now.
func (a backoffs) handling(now time.Time) map[string]handling {
	m := make(map[string]handling, len(a))
	for key, s := range a {
		m[key] = s.level
		if now.Before(s.until) {
			m[key] = handleLater
		}
	}
	return m
}

// failed records that a bundle could not be stored.
func (a backoffs) failed(key string, cause error, now time.Time) *backoff {
	s := a[key]
	if s == nil {
		s = &backoff{}
		a[key] = s
	}
	s.why = cause.Error()
	s.tries++
	switch {
	case errors.Is(cause, database.ErrStale):
		if s.tries > staleRetries {
			s.until = now.Add(min(minStaleDelay<<min(s.tries-staleRetries, 10), maxStaleDelay))
		}
	case fault.Is(cause, fault.Unavailable):
		s.slow = true
		s.until = now.Add(min(minSlowDelay<<min(s.tries-1, 10), maxSlowDelay))
	case s.level < handleByKilling:
		s.level++
	default:
		s.until = now.Add(min(minSlowDelay<<min(s.tries-1, 10), maxSlowDelay))
	}
	return s
}

// stored records that a bundle was stored. It keeps the level: the bundle's own failures
// would occur again.
func (a backoffs) stored(key string) {
	if s := a[key]; s != nil && s.level == handleNormally {
		delete(a, key)
	} else if s != nil {
		s.tries, s.slow, s.until = 0, false, time.Time{}
	}
}

// next is the time when the first waiting bundle may be tried again; zero if none waits.
func (a backoffs) next(now time.Time) (first time.Time) {
	for _, s := range a {
		if s.until.After(now) && (first.IsZero() || s.until.Before(first)) {
			first = s.until
		}
	}
	return first
}
