package logs

import (
	"sync"
	"time"

	"github.com/detent-ml/detent/master/cache"
)

// A master searches the lines of all tasks itself, so one owner must not keep it busy, with however many tasks and
// triggers: the work is counted for each owner. Lines beyond it are not searched, and the log of the task says so once.
const (
	searchRate   = 20_000_000  // steps (regex.Expression.Work) in a second: about a fifth of the time of a core
	maxSearch    = 100_000_000 // steps at once
	maxSearchers = 5000        // owners that a master keeps
)

// notAllSearched is the line in the log of a task with lines that were not searched.
const notAllSearched = "webhooks do not search all lines of this log: their expressions take too much work for the lines of its owner's tasks; " +
	"make them shorter, or begin them with a word that few lines have"

// A searcher is an owner of tasks with the work that the search of their lines may still do.
type searcher struct {
	mu   sync.Mutex // guards the fields below
	left int64
	at   time.Time // when left was computed
}

// searcher returns the searcher of an owner.
func (w *watch) searcher(owner int, now time.Time) *searcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, _, known := w.searchers.Get(owner, now)
	if !known {
		s = &searcher{left: maxSearch, at: now}
		w.searchers.Put(owner, s, now)
	}
	return s
}

// refill adds the work for the time that has passed.
func (s *searcher) refill(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if passed := now.Sub(s.at); passed > 0 {
		s.left, s.at = min(maxSearch, s.left+int64(min(passed, time.Minute).Seconds()*searchRate)), now
	}
}

// take reports whether there is enough left for some work, and counts it.
func (s *searcher) take(work int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if work > s.left {
		return false
	}
	s.left -= work
	return true
}

// newSearchers makes the memory of searchers. Its values have no age: a searcher that is forgotten begins anew.
func newSearchers() *cache.Cache[int, *searcher] {
	return cache.New[int, *searcher](0, maxSearchers)
}
