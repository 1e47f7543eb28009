package api

import "sync"

// turns limits something to one at a time for each user, and to a number for all.
type turns struct {
	most int

	mu   sync.Mutex
	busy map[int]bool
}

func newTurns(most int) *turns { return &turns{most: most, busy: map[int]bool{}} }

// take reports whether a user may begin; if so, the user must call free.
func (t *turns) take(user int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy[user] || len(t.busy) >= t.most {
		return false
	}
	t.busy[user] = true
	return true
}

func (t *turns) free(user int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.busy, user)
}
