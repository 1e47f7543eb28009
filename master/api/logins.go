package api

import (
	"sync"
	"time"
)

const (
	loginTries  = 10 // wrong passwords that a name may have within loginWindow
	loginWindow = time.Minute
	loginNames  = 10_000 // names that are remembered at once
)

// loginLimiter slows guessing: after loginTries wrong passwords for a name, more
// are refused until the window is over. It counts names whether they exist or
// not, so that its answers do not tell which do.
type loginLimiter struct {
	mu    sync.Mutex
	tries map[string]loginTally
}

type loginTally struct {
	wrong int
	since time.Time
}

func newLoginLimiter() *loginLimiter { return &loginLimiter{tries: map[string]loginTally{}} }

// blocked says for how long a name has to wait; 0 when it may try.
func (l *loginLimiter) blocked(name string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.tries[name]
	if !ok || t.wrong < loginTries {
		return 0
	}
	return max(0, t.since.Add(loginWindow).Sub(now))
}

// failed counts a wrong password.
func (l *loginLimiter) failed(name string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.tries[name]
	if !ok || now.Sub(t.since) >= loginWindow {
		l.makeRoom(now)
		t = loginTally{since: now}
	}
	t.wrong++
	l.tries[name] = t
}

// succeeded forgets the wrong ones.
func (l *loginLimiter) succeeded(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.tries, name)
}

// makeRoom needs the lock.
func (l *loginLimiter) makeRoom(now time.Time) {
	if len(l.tries) < loginNames {
		return
	}
	for name, t := range l.tries {
		if now.Sub(t.since) >= loginWindow {
			delete(l.tries, name)
		}
	}
	if len(l.tries) >= loginNames {
		clear(l.tries)
	}
}
