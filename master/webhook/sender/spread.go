package sender

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/webhook"
)

// The sender spreads the events of all owners together, many in one transaction. If such a transaction fails or takes
// too long, it is unknown whose events are the cause. Then the sender spreads the events of each of these owners in
// separate transactions, until those of the owner succeed. So the events of one owner delay those of other owners
// only once.

const (
	apartFor   = 10 * time.Minute // that an owner stays apart after a failure of their own
	pauseShare = 3                // the pause of an owner who is apart is so many times as long as their transaction took
)

// apart is an owner whose events are spread in transactions of their own.
type apart struct {
	events int       // in the next one
	due    time.Time // not before
	failed time.Time // the last failure of their own; zero: none
}

// spread gives the next events to their webhooks. If there are many, requests begin meanwhile.
func (t *term) spread(ctx context.Context) {
	const most = 20
	for range most {
		n, owners, err := t.round(ctx, webhook.Round{Most: t.spreads, Except: slices.Collect(maps.Keys(t.apart))})
		if err != nil {
			t.spreads = max(1, t.spreads/2)
			for _, owner := range owners {
				t.apart[owner] = &apart{events: t.spreads}
			}
			return
		}
		if n < t.spreads {
			return
		}
		t.spreads = min(together, 2*t.spreads)
	}
	t.wake() // there are more
}

// spreadApart does the same for each owner who is apart and whose time has come, up to the first failure, so that requests begin.
func (t *term) spreadApart(ctx context.Context) {
	now := time.Now()
	owners := slices.DeleteFunc(slices.Collect(maps.Keys(t.apart)), func(owner int) bool { return now.Before(t.apart[owner].due) })
	slices.SortFunc(owners, func(a, b int) int { return cmp.Or(t.apart[a].due.Compare(t.apart[b].due), cmp.Compare(a, b)) })
	for _, owner := range owners {
		a, began := t.apart[owner], time.Now()
		n, _, err := t.round(ctx, webhook.Round{Most: a.events, Owner: &owner})
		now := time.Now()
		pause := pauseShare * now.Sub(began)
		if err != nil || n < a.events {
			pause = max(pause, lookEvery)
		}
		a.due = now.Add(pause)
		switch {
		case err != nil:
			a.events, a.failed = max(1, a.events/2), now
			t.wake()
			return
		case now.Sub(a.failed) > apartFor:
			delete(t.apart, owner)
			t.wake()
		case n == a.events: // there may be more
			a.events = min(together, 2*a.events)
			time.AfterFunc(pause, t.wake)
		}
	}
}

// round spreads events in one transaction.
func (t *term) round(ctx context.Context, r webhook.Round) (n int, owners []int, err error) {
	err = t.db.Fenced(ctx, t.number, func(tx *database.DB) (err error) {
		n, owners, err = webhook.SpreadEvents(ctx, tx, r)
		return err
	})
	if err != nil && ctx.Err() == nil {
		t.log.Error("could not give events to their webhooks; the next try takes fewer", "term", t.number, "events", r.Most, "owners", owners, "error", err)
	}
	return n, owners, err
}

// wake makes Run look again at once.
func (t *term) wake() {
	select {
	case t.freed <- struct{}{}:
	default:
	}
}
