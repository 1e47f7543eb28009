package api

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

// TestStrangersDelayNobody: look-ups of random tokens use a part of the connections to the database, and callers who are known need no
// place among them. A stranger waits, and is not refused.
func TestStrangersDelayNobody(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	me.get("/api/v1/me").ok()
	x := r.api.auth
	if _, _, conns := r.db.Conns(); cap(x.strangers) != int(conns)/strangersPart {
		t.Errorf("%d of %d connections are for strangers", cap(x.strangers), conns)
	}
	for range cap(x.strangers) {
		x.strangers <- struct{}{}
	}
	mine := [32]byte(auth.HashToken(strings.TrimPrefix(me.token, "Bearer ")))
	x.known.Stale(mine) // whoever was known a moment ago needs a look-up, and no place
	me.get("/api/v1/me").ok()

	random, _ := auth.NewToken()
	ask := func(ctx context.Context) error {
		_, err := x.byToken(ctx, rest.Credential{Token: random})
		return err
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(ended); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a stranger without a place: %v", err)
	}
	answer := make(chan error, 1)
	go func() { answer <- ask(t.Context()) }()
	<-x.strangers
	if err := <-answer; !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a stranger with a place: %v", err)
	}

	// A session that has ended gets one more look-up; then its token is that of a stranger.
	r.exec(`DELETE FROM sessions WHERE token_hash = $1`, mine[:])
	x.known.Stale(mine)
	me.get("/api/v1/me").is(401)
	if _, _, known := x.known.Get(mine, time.Now()); known {
		t.Error("the token of an ended session is still known")
	}
	if got := len(x.strangers); got != cap(x.strangers)-1 {
		t.Errorf("%d places are taken, want %d", got, cap(x.strangers)-1)
	}
}
