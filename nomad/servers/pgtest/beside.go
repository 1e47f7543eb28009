package pgtest

import (
	"strings"
	"sync"
	"testing"
)

// Beside lets a test run beside others of its package: with a database of its own it waits most of its time. Fixtures call
// it; a second call, and one of a part of a test, changes nothing.
func Beside(t testing.TB) {
	own, is := t.(*testing.T)
	if !is || strings.Contains(t.Name(), "/") {
		return // a test runs its parts one after the other
	}
	if _, already := asked.LoadOrStore(own, true); !already {
		own.Parallel()
	}
}

// Alone lets a test run alone, because it measures memory or changes the environment. It comes before Beside.
func Alone(t *testing.T) {
	t.Helper()
	asked.Store(t, true)
}

// asked are the tests for which it is decided.
var asked sync.Map
