package control

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// A day simulates a day in virtual time: the function now of its database reads a clock that the test moves. The defaults of
// columns still have the real time, so the day is in the future, and what is due by default is due at once. Nomad's history
// is kept beside it.
type day struct {
	*simulation
	now     time.Time
	history map[string]*nomadSpan // by attempt
}

// A nomadSpan is what Nomad's history says of the allocation of an attempt.
type nomadSpan struct {
	from, to time.Time // to is zero while it runs
	slots    int
	lost     bool
	claimed  bool // its program has started
	reported bool // its runner has reported the end
}

func newDay(t *testing.T, begin time.Time) *day {
	dsn := pgtest.New(t, schema.Hash(), schema.Migrate)
	prepare, err := database.Open(t.Context(), dsn, database.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"CREATE TABLE public.clock (at timestamptz)", "INSERT INTO public.clock VALUES ('2026-01-01')",
		"CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM public.clock'"} {
		if err := prepare.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	prepare.Close()
	separator := "?"
	if strings.Contains(dsn, "?") {
		separator = "&"
	}
	d := &day{simulation: &simulation{bench: newBenchOn(t, dsn+separator+"search_path=public,pg_catalog", "n1", "n2", "n3"), rng: rand.New(rand.NewPCG(1, 2))},
		now: begin, history: map[string]*nomadSpan{}}
	d.nomad.seen = d.saw
	d.to(begin)
	d.exec("UPDATE leader SET expires_at = '2100-01-01'")
	return d
}

// to sets the clock.
func (d *day) to(at time.Time) {
	d.now = at
	d.exec("UPDATE clock SET at = $1", at)
}

// saw writes Nomad's history.
func (d *day) saw(f cluster.TaskFact, job jobspecs.Task) {
	h := d.history[f.AllocationID]
	if h == nil {
		h = &nomadSpan{from: d.now}
		for _, m := range job.Members {
			h.slots += len(m.SlotIDs)
		}
		d.history[f.AllocationID] = h
	}
	if f.Status != "running" && h.to.IsZero() {
		h.to, h.lost = d.now, f.Status == lifecycle.NomadLost
	}
}

// live lists the attempts whose programs run, or with claimed = false those that have not begun, in the same order in every
// run of the test.
func (d *day) live(claimed bool) (ids []string) {
	list, err := database.Scalars[string](d.t.Context(), d.db, `SELECT a.id FROM allocations a JOIN members m ON m.allocation_id = a.id
		WHERE a.state IN ('STARTING', 'RUNNING') AND m.exited_at IS NULL AND (m.claimed_at IS NOT NULL) = $1 ORDER BY a.queued_at, a.id`, claimed)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, id := range list {
		if h := d.history[id]; h != nil && h.to.IsZero() {
			ids = append(ids, id)
		}
	}
	return ids
}

// report lets the runner of an attempt report the end of its program.
func (d *day) report(id string, code int) {
	d.history[id].reported = true
	d.exit(id, code)
}

// happen causes one random event of a cluster.
func (d *day) happen() {
	running := d.live(true)
	who := ""
	if len(running) > 0 {
		who = running[d.rng.IntN(len(running))]
	}
	desire := func(what string) {
		d.exec(`UPDATE experiments SET desired = $1 WHERE id = (SELECT id FROM experiments WHERE desired IN ('active', 'paused') AND ended_at IS NULL
			ORDER BY md5(id::text || $2::int::text) LIMIT 1)`, what, d.rng.IntN(1000))
	}
	switch n := d.rng.IntN(16); {
	case n < 5:
		d.experiment(fmt.Sprintf("resources: {slots_per_trial: %d}", d.rng.IntN(3)))
	case n < 9 && who != "": // a program ends well or badly; Nomad sees that too
		d.report(who, []int{0, 0, 1}[d.rng.IntN(3)])
		d.nomad.turn(who, func(f *cluster.TaskFact) { f.Status = "complete" })
	case n == 9:
		desire("killed")
	case n == 10:
		desire("canceled")
	case n == 11:
		desire("paused")
	case n == 12:
		desire("active")
	case n == 13 && who != "":
		d.nomad.turn(who, func(f *cluster.TaskFact) { f.Status = lifecycle.NomadLost })
	case n == 14 && who != "": // memory runs out: the runner is killed and reports nothing
		d.nomad.turn(who, func(f *cluster.TaskFact) { f.Status = lifecycle.NomadFailed })
	case n == 15:
		d.newLeader()
		d.exec("UPDATE leader SET expires_at = '2100-01-01'")
	}
}

// react is what programs and runners do at once: they begin, leave when they are preempted, and report that they were stopped.
func (d *day) react() {
	for _, id := range d.live(false) {
		if !d.one(4) { // else it begins later
			d.claim(id)
			d.history[id].claimed = true
		}
	}
	d.settle()
	for _, id := range d.live(true) {
		if d.int(`SELECT count(*) FROM allocations WHERE id = $1 AND preempt_at IS NOT NULL`, id) > 0 {
			d.ack(id)
			d.report(id, 0)
			d.nomad.turn(id, func(f *cluster.TaskFact) { f.Status = "complete" })
		}
	}
	d.settle()
	// Of those that Nomad has stopped, some reported that, and for the others the master waits.
	for _, id := range slices.Sorted(maps.Keys(d.history)) {
		h := d.history[id]
		if h.claimed && !h.reported && !h.lost && h.to.Equal(d.now) && d.one(2) && d.int(`SELECT count(*) FROM allocations WHERE id = $1 AND state <> 'TERMINATED'`, id) > 0 {
			d.report(id, 137)
		}
	}
	d.settle()
	if d.int(`SELECT count(*) FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.state <> 'TERMINATED' AND m.nomad_ended_at IS NOT NULL`) > 0 {
		d.to(d.now.Add(lifecycle.DefaultTiming().Report))
		d.settle()
	}
}

// TestADayOfAccounting compares a day of accounting with a second count that is made from Nomad's history alone: an attempt
// holds its slots from when Nomad has its job until Nomad says that its allocation has ended. If the runner of a program that
// ran has not reported the end by then, the slots stay held for as long as the master waits for this report.
func TestADayOfAccounting(t *testing.T) {
	begin := time.Date(2040, 6, 1, 18, 0, 0, 0, time.UTC)
	end := begin.Add(24 * time.Hour)
	d := newDay(t, begin)
	for d.now.Before(end) {
		d.to(d.now.Add(time.Duration(5_000+d.rng.IntN(1_200_000)) * time.Millisecond))
		d.happen()
		d.settle()
		d.react()
	}
	d.check()
	d.to(d.now.Add(time.Second))

	want := map[string]float64{} // by day
	kinds := map[string]int{}
	worst := 0.0
	list, err := queue.Usages(context.Background(), d.db, auth.Everywhere(), begin, d.now, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(d.history) {
		t.Errorf("accounting has %d attempts, Nomad's history %d", len(list), len(d.history))
	}
	for _, u := range list {
		h := d.history[u.AllocationID]
		if h == nil {
			t.Errorf("%s is not in Nomad's history", u.AllocationID)
			continue
		}
		to := h.to
		switch {
		case to.IsZero():
			to = d.now
			kinds["run on"]++
		case h.lost:
			kinds["were lost"]++
		case h.claimed && !h.reported:
			to = to.Add(lifecycle.DefaultTiming().Report)
			kinds["ended without a report"]++
		case !h.claimed:
			kinds["never began"]++
		default:
			kinds["reported their end"]++
		}
		if u.Slots != h.slots {
			t.Errorf("%s: %d slots, and Nomad's job has %d", u.AllocationID, u.Slots, h.slots)
		}
		worst = max(worst, math.Abs(u.Seconds-to.Sub(h.from).Seconds()))
		if math.Abs(u.Seconds-to.Sub(h.from).Seconds()) >= 1 {
			t.Errorf("%s: %.3f s, and %.3f s by Nomad's history (%+v)", u.AllocationID, u.Seconds, to.Sub(h.from).Seconds(), *h)
		}
		for from := h.from; from.Before(to); {
			next := from.Truncate(24 * time.Hour).Add(24 * time.Hour)
			if next.After(to) {
				next = to
			}
			want[from.Format(time.DateOnly)] += float64(h.slots) * next.Sub(from).Seconds()
			from = next
		}
	}
	sums, err := queue.UsageSums(context.Background(), d.db, auth.Everywhere(), begin, d.now, false)
	if err != nil {
		t.Fatal(err)
	}
	days := 0
	for _, s := range sums {
		if s.Kind != queue.UsageTotal {
			continue
		}
		days++
		on := s.Period.UTC().Format(time.DateOnly)
		if math.Abs(s.Seconds-want[on]) >= 1 {
			t.Errorf("%s: %.3f slot-seconds, and %.3f by Nomad's history", on, s.Seconds, want[on])
		}
		t.Logf("%s: %.3f slot-seconds", on, s.Seconds)
	}
	if days != 2 {
		t.Errorf("%d days", days)
	}
	for _, kind := range []string{"were lost", "ended without a report", "reported their end", "never began"} {
		if kinds[kind] == 0 {
			t.Errorf("no attempts that %s", kind)
		}
	}
	t.Logf("%d attempts: %v; the largest difference is %.6f s", len(list), kinds, worst)
}
