package control

import (
	"errors"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
)

// How long a bundle that could not be made is left alone: longer each time.
const (
	staleAtOnce  = 3 // so often a stale bundle is tried again in the next cycle
	staleAgain   = 100 * time.Millisecond
	longestStale = 5 * time.Second
	slowAgain    = time.Second
	longestSlow  = time.Minute
)

// aside is what a term remembers of bundles that could not be made, by their keys.
type aside map[string]*setback

// A setback is one of them. Its level rises with every failure that is the bundle's
// own, so that it is tried in a simpler way; tries are the failures in a row that
// may pass by themselves.
type setback struct {
	level handling
	tries int
	until time.Time // not to be tried before
	slow  bool      // it ran out of time: it is made after the others, alone
	why   string
}

// handling is how each bundle is to be made now.
func (a aside) handling(now time.Time) map[string]handling {
	m := make(map[string]handling, len(a))
	for key, s := range a {
		m[key] = s.level
		if now.Before(s.until) {
			m[key] = notAtAll
		}
	}
	return m
}

// failed takes down that a bundle could not be made.
func (a aside) failed(key string, cause error, now time.Time) *setback {
	s := a[key]
	if s == nil {
		s = &setback{}
		a[key] = s
	}
	s.why = cause.Error()
	s.tries++
	switch {
	case errors.Is(cause, store.ErrStale):
		if s.tries > staleAtOnce {
			s.until = now.Add(min(staleAgain<<min(s.tries-staleAtOnce, 10), longestStale))
		}
	case fault.Is(cause, fault.Unavailable):
		s.slow = true
		s.until = now.Add(min(slowAgain<<min(s.tries-1, 10), longestSlow))
	case s.level < bluntly:
		s.level++
	default:
		s.until = now.Add(min(slowAgain<<min(s.tries-1, 10), longestSlow))
	}
	return s
}

// made takes down that it was made after all. What is wrong with it itself stays
// known.
func (a aside) made(key string) {
	if s := a[key]; s != nil && s.level == asUsual {
		delete(a, key)
	} else if s != nil {
		s.tries, s.slow, s.until = 0, false, time.Time{}
	}
}

// next is when the first of them may be tried again; zero for none.
func (a aside) next(now time.Time) (first time.Time) {
	for _, s := range a {
		if s.until.After(now) && (first.IsZero() || s.until.Before(first)) {
			first = s.until
		}
	}
	return first
}
