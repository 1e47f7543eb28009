package recent

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

const life = 24 * time.Hour

func remembering() pool.Set {
	return pool.Set{{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare, HalfLife: life}}, {Name: "cpu"}}
}

// An attempt is a row of usage in a test.
type attempt struct {
	owner, slots int
	pool         string
	from         time.Time
	to           *time.Time
}

// worth is what an attempt counts at a time, summed up in steps of a thousandth of the half-life.
func (a attempt) worth(at time.Time) (hours float64) {
	end := at
	if a.to != nil {
		end = *a.to
	}
	const step = life / 1000
	for x := a.from; x.Before(end); x = x.Add(step) {
		span := min(step, end.Sub(x))
		hours += float64(a.slots) * span.Hours() * math.Exp2(-at.Sub(x.Add(span/2)).Hours()/life.Hours())
	}
	return hours
}

// TestWhatWasUsedCountsExactly compares the ledger with a second count, over counts of one term in which attempts begin and end, and with the
// count of a new leader.
func TestWhatWasUsedCountsExactly(t *testing.T) {
	w := rowtest.New(t)
	random := rand.New(rand.NewPCG(3, 4))
	const name = "research"
	workspace := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ($1, 1) RETURNING id`, name)
	ann, bob := w.Int(`INSERT INTO users (username) VALUES ('ann') RETURNING id`), w.Int(`INSERT INTO users (username) VALUES ('bob') RETURNING id`)
	var all []attempt
	insert := func(a attempt) {
		w.Exec(`INSERT INTO usage (allocation_id, task_type, owner_id, username, workspace_id, workspace, pool, slots, queued_at, started_at, ended_at)
			VALUES ($1, 'TRIAL', $2, 'old', $3, 'old', $4, $5, $6, $6, $7)`, fmt.Sprint(len(all)), a.owner, workspace, a.pool, a.slots, a.from, a.to)
		all = append(all, a)
	}
	now := time.Now()
	for range 60 {
		a := attempt{owner: []int{ann, bob}[random.IntN(2)], slots: random.IntN(9), pool: []string{"gpu", "gpu", "cpu"}[random.IntN(3)], from: now.Add(-time.Duration(random.Int64N(int64(4 * life))))}
		if to := a.from.Add(time.Duration(random.Int64N(int64(life)))); to.Before(now) {
			a.to = &to
		}
		insert(a)
	}
	right := func(l *Ledger) {
		t.Helper()
		if err := l.Count(t.Context(), w.DB); err != nil {
			t.Fatal(err)
		}
		at, sums := l.pools[0].until.Add(settles), map[int]float64{} // the database's time
		for _, a := range all {
			if a.pool == "gpu" {
				sums[a.owner] += a.worth(at)
			}
		}
		for owner, username := range map[int]string{ann: "ann", bob: "bob"} {
			got := l.Use().Of("gpu", name, username)
			if math.Abs(got.User-sums[owner]) > 0.001 || math.Abs(got.Workspace-sums[ann]-sums[bob]) > 0.002 {
				t.Errorf("%s: %+v, and the second count has %v", username, got, sums)
			}
		}
		if got := l.Use().Of("cpu", name, "ann"); got.Workspace != 0 {
			t.Errorf("a pool without a half-life remembers %+v", got)
		}
	}
	term := NewLedger(remembering())
	right(term)
	for i := range 4 { // attempts end meanwhile, some so long ago that they settle at once, and others begin
		ended := now.Add(-time.Duration(i) * time.Minute)
		for j := range all {
			if all[j].to == nil {
				all[j].to = &ended
				w.Exec(`UPDATE usage SET ended_at = greatest($2, started_at) WHERE allocation_id = $1`, fmt.Sprint(j), ended)
				break
			}
		}
		insert(attempt{owner: ann, slots: 3, pool: "gpu", from: now.Add(-time.Minute)})
		right(term)
	}
	right(NewLedger(remembering())) // a new leader
	if term.pools[0].settled == nil || len(term.pools[0].settled) > 2 {
		t.Errorf("it keeps %d sums of 2 users", len(term.pools[0].settled))
	}

	// A new name hides nothing, and a count that fails leaves the numbers as they are.
	w.Exec(`UPDATE users SET username = 'anna' WHERE id = $1`, ann)
	before := term.Use().Of("gpu", name, "ann")
	if err := term.Count(t.Context(), w.DB); err != nil {
		t.Fatal(err)
	}
	after := term.Use().Of("gpu", name, "anna")
	if math.Abs(after.User-before.User) > 0.01 || after.User == 0 {
		t.Errorf("ann used %g, and anna %g", before.User, after.User)
	}
	w.Exec(`ALTER TABLE usage RENAME TO elsewhere`)
	if err := term.Count(t.Context(), w.DB); err == nil {
		t.Error("no error without the table")
	}
	if got := term.Use().Of("gpu", name, "anna"); got != after {
		t.Errorf("after a failed count: %+v, not %+v", got, after)
	}
}

// TestLittleIsForgotten: what a pool remembers is bounded, and those who used most stay.
func TestLittleIsForgotten(t *testing.T) {
	settled := map[who]float64{}
	for i := range maxKept + 10 {
		settled[who{1, i}] = float64(i)
	}
	trim(settled)
	if _, least := settled[who{1, 9}]; least || len(settled) != maxKept || settled[who{1, maxKept + 9}] == 0 {
		t.Errorf("%d are remembered, the least of them too: %v", len(settled), least)
	}
	var none *Ledger
	if NewLedger(pool.Set{{Name: "cpu"}}) != nil || none.Use().Of("cpu", "w", "u").User != 0 {
		t.Error("pools without a half-life have a ledger")
	}
}
