package accounts_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// adminHash returns the stored hash of admin's password.
func (w *world) adminHash() string {
	w.t.Helper()
	return w.text(`SELECT password_hash FROM users WHERE username = 'admin'`)
}

// firstPassword sets the first password as a master does at its start.
func (w *world) firstPassword(db *database.DB, hash string) bool {
	w.t.Helper()
	done, err := accounts.SetFirstPassword(w.t.Context(), db, hash)
	if err != nil {
		w.t.Error(err)
	}
	return done
}

func (w *world) needsFirstPassword() bool {
	w.t.Helper()
	needed, err := accounts.NeedsFirstPassword(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	return needed
}

// hashOf returns the hash that is stored for a password.
func hashOf(t *testing.T, password string) string {
	t.Helper()
	return auth.HashPassword(password)
}

// The first start of a master sets the password of admin and determined; no later start changes it.
func TestFirstPasswordIsSetOnce(t *testing.T) {
	w := newWorld(t)
	if !w.needsFirstPassword() {
		t.Fatal("a new cluster's admin has a password")
	}
	first, changed := hashOf(t, "the first one"), hashOf(t, "the changed one")
	carol := w.int(`INSERT INTO users (username) VALUES ('carol') RETURNING id`)
	_, blank := auth.NewToken()
	_, second := auth.NewToken()
	_, others := auth.NewToken()
	for user, token := range map[int][]byte{1: blank, 2: second, carol: others} {
		if _, err := accounts.NewSession(t.Context(), w.db, w.user(user), token, time.Hour, accounts.Place{}); err != nil {
			t.Fatal(err)
		}
	}
	if !w.firstPassword(w.db, first) || w.adminHash() != first {
		t.Fatalf("the first start left %q", w.adminHash())
	}
	if n := w.int(`SELECT count(*) FROM sessions WHERE user_id IN (1, 2)`); n != 0 {
		t.Error("a session without a password outlives the first one")
	}
	if n := w.int(`SELECT count(*) FROM sessions WHERE user_id = $1`, carol); n != 1 {
		t.Error("another user's session is ended")
	}
	if w.needsFirstPassword() || w.firstPassword(w.db, first) {
		t.Error("the second start sets it again")
	}
	if _, err := accounts.ChangeUser(t.Context(), w.db, false, 1, accounts.UserChange{PasswordHash: &changed}, 0); err != nil {
		t.Fatal(err)
	}
	if w.needsFirstPassword() || w.firstPassword(w.db, first) || w.adminHash() != changed {
		t.Error("a start resets a changed password")
	}
	if got := w.text(`SELECT password_hash FROM users WHERE username = 'determined'`); got != first {
		t.Errorf("determined has %q", got)
	}
	if n := w.int(`SELECT count(*) FROM users WHERE username NOT IN ('admin', 'determined') AND password_hash <> ''`); n != 0 {
		t.Errorf("%d other users have a password", n)
	}
}

// A password that determined has already stays.
func TestFirstPasswordLeavesOneThatIsThere(t *testing.T) {
	w := newWorld(t)
	own := hashOf(t, "one of its own")
	w.exec(`UPDATE users SET password_hash = $1 WHERE username = 'determined'`, own)
	if first := hashOf(t, "the first one"); !w.firstPassword(w.db, first) || w.adminHash() != first || w.text(`SELECT password_hash FROM users WHERE username = 'determined'`) != own {
		t.Error("the first password of admin takes that of determined")
	}
}

// An admin of an external identity provider never gets a password.
func TestFirstPasswordIsNotForRemoteUsers(t *testing.T) {
	w := newWorld(t)
	w.exec(`UPDATE users SET remote = true WHERE username = 'admin'`)
	if w.needsFirstPassword() || w.firstPassword(w.db, hashOf(t, "the first one")) || w.adminHash() != "" {
		t.Error("a remote user has a password")
	}
}

// A blank initial password sets nothing, and a later start can set the first password.
func TestBlankFirstPasswordIsNone(t *testing.T) {
	w := newWorld(t)
	if w.firstPassword(w.db, hashOf(t, "")) || !w.needsFirstPassword() || w.adminHash() != "" {
		t.Errorf("a blank password counts as one: %q", w.adminHash())
	}
	if first := hashOf(t, "the first one"); !w.firstPassword(w.db, first) || w.adminHash() != first {
		t.Error("a blank password keeps the first one out")
	}
}

// bcrypt fails on more than 72 bytes. All bytes of a longer password count: another password
// that differs in the last byte is wrong.
func TestLongFirstPassword(t *testing.T) {
	w := newWorld(t)
	for _, length := range []int{72, 73, 1024, 1 << 20} {
		w.exec(`UPDATE users SET password_hash = ''`)
		password := strings.Repeat("p", length)
		if !w.firstPassword(w.db, hashOf(t, password)) {
			t.Fatalf("%d bytes are not set", length)
		}
		if stored := w.adminHash(); !auth.CheckPassword(stored, password) || auth.CheckPassword(stored, password[:length-1]+"q") || auth.CheckPassword(stored, password[:length-1]) {
			t.Errorf("a password of %d bytes equals one that differs", length)
		}
	}
}

// If several masters start at once, one sets the password and the others do not change it, even if
// they had read that there is none.
func TestFirstPasswordOfTwoMasters(t *testing.T) {
	w := newWorld(t)
	const masters, rounds = 4, 8
	dbs := make([]*database.DB, masters)
	for i := range dbs {
		dbs[i] = openTest(t, w.dsn, 2)
	}
	for round := range rounds {
		w.exec(`UPDATE users SET password_hash = ''`)
		var done atomic.Int32
		var winner atomic.Value
		var all sync.WaitGroup
		asked := make(chan struct{}) // closed when all masters have found no password
		var waiting sync.WaitGroup
		waiting.Add(masters)
		for i, db := range dbs {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				needed, err := accounts.NeedsFirstPassword(ctx, db)
				waiting.Done()
				<-asked
				if err != nil || !needed {
					t.Errorf("round %d: master %d: needed %v, %v", round, i, needed, err)
				}
				hash := strings.Repeat("x", 10) + string(rune('a'+i)) // a different hash for each master, so that a second write is visible
				if w.firstPassword(db, hash) {
					done.Add(1)
					winner.Store(hash)
				}
			})
		}
		waiting.Wait()
		close(asked)
		all.Wait()
		if n := done.Load(); n != 1 {
			t.Fatalf("round %d: %d masters have set the password", round, n)
		}
		if got := w.adminHash(); got != winner.Load() {
			t.Fatalf("round %d: %q is stored, but %q was reported as stored", round, got, winner.Load())
		}
	}
}
