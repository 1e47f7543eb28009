package accounts_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

// TestStrangersDelayNobody: look-ups of random tokens use a part of the connections to the database, and callers who are known need no
// place among them. A stranger waits, and is not refused.
func TestStrangersDelayNobody(t *testing.T) {
	w := newWorld(t)
	x := accounts.NewAuthenticator(w.db, false, database.NewBus(w.dsn, slog.New(slog.DiscardHandler)), func(ctx context.Context, hash []byte) (auth.Who, error) {
		return attempts.Who(ctx, w.db, false, hash)
	})
	token, hash := auth.NewToken()
	if _, err := accounts.NewSession(t.Context(), w.db, w.user(2), hash, time.Hour, accounts.Place{}); err != nil {
		t.Fatal(err)
	}
	asMe := func() error {
		_, err := x.ByToken(t.Context(), rest.Credential{Token: token})
		return err
	}
	if err := asMe(); err != nil {
		t.Fatal(err)
	}
	strangers := x.Strangers()
	if _, _, conns := w.db.Conns(); cap(strangers) != int(conns)/accounts.StrangersPart {
		t.Errorf("%d of %d connections are for strangers", cap(strangers), conns)
	}
	for range cap(strangers) {
		strangers <- struct{}{}
	}
	mine := [32]byte(hash)
	x.Known.Stale(mine) // whoever was known a moment ago needs a look-up, and no place
	if err := asMe(); err != nil {
		t.Fatal(err)
	}

	random, _ := auth.NewToken()
	ask := func(ctx context.Context) error {
		_, err := x.ByToken(ctx, rest.Credential{Token: random})
		return err
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(ended); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a stranger without a place: %v", err)
	}
	answer := make(chan error, 1)
	go func() { answer <- ask(t.Context()) }()
	<-strangers
	if err := <-answer; !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a stranger with a place: %v", err)
	}

	// A session that has ended gets one more look-up; then its token is that of a stranger.
	w.exec(`DELETE FROM sessions WHERE token_hash = $1`, mine[:])
	x.Known.Stale(mine)
	if err := asMe(); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a session that has ended: %v", err)
	}
	if _, _, known := x.Known.Get(mine, time.Now()); known {
		t.Error("the token of an ended session is still known")
	}
	if got := len(strangers); got != cap(strangers)-1 {
		t.Errorf("%d places are taken, want %d", got, cap(strangers)-1)
	}
}
