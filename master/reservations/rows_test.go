package reservations

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

func anything([]Reservation) error { return nil }

// lasting is a reservation of slots of a pool for workspace 1, from now on.
func lasting(pool string, slots int, length time.Duration) Reservation {
	one, now := 1, time.Now()
	return Reservation{Pool: pool, WorkspaceID: &one, Slots: slots, BeginsAt: now, EndsAt: now.Add(length), CreatorID: &one}
}

// TestReservationsOfTheLoop: the loop reads what has not ended, with the names of owners; a maintenance is in all pools.
func TestReservationsOfTheLoop(t *testing.T) {
	w := rowtest.New(t)
	ctx := t.Context()
	w.Exec(`INSERT INTO nodes (id, name, status, eligible, draining, inventory) VALUES ('a', 'first', 'ready', true, false, '{}')`)
	two := 2
	of, err := insert(ctx, w.DB, func() Reservation { v := lasting("gpu", 3, time.Hour); v.UserID = &two; return v }(), anything)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	maintenance, err := insert(ctx, w.DB, Reservation{Pool: "other", Nodes: []string{"a", "gone"}, BeginsAt: now.Add(time.Hour), EndsAt: now.Add(2 * time.Hour)}, anything)
	if err != nil || !slices.Equal(maintenance.NodeNames, []string{"first", "gone"}) {
		t.Fatalf("%+v, %v", maintenance, err)
	}
	w.Exec(`INSERT INTO reservations (pool, user_id, slots, begins_at, ends_at) VALUES ('gpu', 1, 1, now() - interval '2 hours', now() - interval '1 hour')`)
	w.Exec(`INSERT INTO reservations (pool, user_id, slots, begins_at, ends_at, cancelled_at) VALUES ('gpu', 1, 1, now() - interval '1 hour', now() + interval '1 hour', now())`)
	live, err := LoadLive(ctx, w.DB)
	if err != nil || len(live) != 2 {
		t.Fatalf("%+v, %v", live, err)
	}
	in := live.In("gpu")
	if len(in) != 2 || in[0].ID != of.ID || in[0].Workspace != "Uncategorized" || in[0].User == "" || in[0].Slots != 3 || !slices.Equal(in[1].Nodes, []string{"a", "gone"}) {
		t.Errorf("%+v", in)
	}
	if in := live.In("third"); len(in) != 1 || in[0].ID != maintenance.ID {
		t.Errorf("%+v", in)
	}
	if err := cancel(ctx, w.DB, of.ID); err != nil {
		t.Fatal(err)
	}
	if err := cancel(ctx, w.DB, of.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("canceled twice: %v", err)
	}
	w.Exec(`UPDATE reservations SET cancelled_at = now() - interval '93 days' WHERE id = $1`, of.ID)
	if _, err := insert(ctx, w.DB, lasting("gpu", 1, time.Hour), anything); err != nil {
		t.Fatal(err)
	}
	if n := w.Int(`SELECT count(*) FROM reservations WHERE id = $1`, of.ID); n != 0 {
		t.Error("a reservation that ended 93 days ago is still there")
	}
}

// TestTwoDoNotGetTheSameSlots: of requests at the same time, only so many succeed as there is room for.
func TestTwoDoNotGetTheSameSlots(t *testing.T) {
	w := rowtest.New(t)
	on := site{pool: "gpu", slots: map[string]int{"a": 4, "b": 4}}
	var wait sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wait.Go(func() {
			v := lasting("gpu", 3, time.Hour)
			_, errs[i] = insert(t.Context(), w.DB, v, func(others []Reservation) error { return v.fits(on, others) })
		})
	}
	wait.Wait()
	made := 0
	for _, err := range errs {
		switch {
		case err == nil:
			made++
		case !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "of the 8 slots of pool gpu, 6 are reserved"):
			t.Error(err)
		}
	}
	if made != 2 {
		t.Errorf("%d of 3 slots each were made in a pool of 8", made)
	}
}
