package control

import (
	"errors"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
)

// How long the loop waits before it tries a failed bundle again: longer each time.
const (
	staleRetries  = 3 // a stale bundle is tried again in the next cycle this often, without a delay
	minStaleDelay = 100 * time.Millisecond
	maxStaleDelay = 5 * time.Second
	minSlowDelay  = time.Second
	maxSlowDelay  = time.Minute
)

// backoffs is the bundles that could not be stored in this term, by their keys.
type backoffs map[string]*backoff

// A backoff is one of them. Its level rises with every failure that is the bundle's
// own, so that it is tried in a simpler way; tries are the failures in a row that
// may pass by themselves.
type backoff struct {
	level handling
	tries int
	until time.Time // not to be tried before
	slow  bool      // it ran out of time: it is made after the others, alone
	why   string
}

// handling is how each bundle is to be made now.
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
	case errors.Is(cause, store.ErrStale):
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

// made records that a bundle was stored after all. Failures of the bundle itself stay
// known.
func (a backoffs) made(key string) {
	if s := a[key]; s != nil && s.level == handleNormally {
		delete(a, key)
	} else if s != nil {
		s.tries, s.slow, s.until = 0, false, time.Time{}
	}
}

// next is when the first bundle may be tried again; zero for none.
func (a backoffs) next(now time.Time) (first time.Time) {
	for _, s := range a {
		if s.until.After(now) && (first.IsZero() || s.until.Before(first)) {
			first = s.until
		}
	}
	return first
}
