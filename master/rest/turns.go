package rest

import "sync"

// Turns limit something to one at a time for each user, and to a number for all.
type Turns struct {
	most int

	mu   sync.Mutex
	busy map[int]bool
}

// NewTurns returns turns for at most so many users at once.
func NewTurns(most int) *Turns { return &Turns{most: most, busy: map[int]bool{}} }

// Take reports whether a user may begin; if so, the user must call Free.
func (t *Turns) Take(user int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy[user] || len(t.busy) >= t.most {
		return false
	}
	t.busy[user] = true
	return true
}

// Free ends the turn of a user.
func (t *Turns) Free(user int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.busy, user)
}
