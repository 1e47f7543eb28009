package attempts_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/rest/resttest"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// A rig serves the room alone, for members with the tokens that their claims got.
type rig struct {
	*rowtest.World
	*resttest.Site
	gathers *attempts.Gathers
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{World: rowtest.New(t)}
	identify := func(ctx context.Context, c rest.Credential) (auth.Who, error) {
		return attempts.Who(ctx, r.DB, false, auth.HashToken(c.Token))
	}
	d := attempts.Deps{Gate: attempts.Gate{DB: r.DB}, Bus: r.Bus, Log: slog.New(slog.DiscardHandler), Reported: func() {}}
	r.Site = resttest.Serve(t, identify, func(router *rest.Router) { r.gathers = attempts.RoutesAndGathers(router, d) })
	return r
}

// An attempt whose members have claimed.
type attempt struct {
	id    string
	ranks []resttest.Client
}

// running is an attempt of a trial with this number of members.
func (r *rig) running(members int) attempt {
	t := r.World.T
	t.Helper()
	a := attempt{id: r.Attempt(r.Trial(r.Experiment(rowtest.LossSearcher), 0, 0), 1, members)}
	for rank := range members {
		token, hash := auth.NewToken()
		c := rowtest.Claim(a.id, rank, "n")
		c.TokenHash = hash
		if _, err := (attempts.Gate{DB: r.DB}).Claim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		a.ranks = append(a.ranks, r.With(token))
	}
	return a
}

func (a attempt) path(verb string) string { return "/api/v1/allocations/" + a.id + verb }

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition never holds")
		}
	}
}
