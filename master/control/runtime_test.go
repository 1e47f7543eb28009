package control

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/pool"
)

// holds lets an attempt hold its slots since so many seconds.
func (b *bench) holds(attempt string, seconds int) {
	b.t.Helper()
	b.exec(`UPDATE allocations SET assigned_at = now() - $2::int * interval '1 second', started_at = coalesce(started_at, now()),
		preempt_at = CASE WHEN preempt_at IS NOT NULL THEN now() END WHERE id = $1`, attempt, seconds)
	b.settle()
}

// TestMaxRuntimeEndsATrial: at the limit a trial is asked to store a checkpoint and to exit, and it is completed when it has; after the grace it
// is killed and canceled. All its attempts count, and the time in the queue does not. The log is told once before.
func TestMaxRuntimeEndsATrial(t *testing.T) {
	const why = "it has run for 1h, which is resources.max_runtime"
	for _, c := range []struct {
		config string
		grace  int // seconds
		saves  bool
	}{{"", 300, true}, {"", 300, false}, {"preemption_timeout: 20\nresume: {path: out}", 20 + 3600, false}} {
		t.Run(c.config, func(t *testing.T) {
			b := newBench(t, "n1")
			e := b.experiment("resources: {max_runtime: 1h}\n" + c.config)
			b.settle()
			first := b.newest(e)
			b.claim(first)
			b.holds(first, 1000)
			b.exec(`UPDATE experiments SET desired = 'paused' WHERE id = $1`, e)
			b.settle()
			b.exec(`UPDATE members SET preempted = 'exited' WHERE allocation_id = $1`, first)
			b.exit(first, 0)
			b.settle()
			b.want(e, "PAUSED", "PAUSED", "TERMINATED preempted")
			if held := b.int(`SELECT round(held_seconds / 10)::int FROM tasks`); held != 100 {
				t.Fatalf("its first attempt held its slots for %d s", 10*held)
			}
			b.exec(`UPDATE experiments SET desired = 'active' WHERE id = $1`, e)
			b.settle()
			id := b.newest(e)
			b.claim(id)
			b.exec(`UPDATE allocations SET preempt_asked_at = now() WHERE id = $1`, id)
			b.holds(id, 2200)
			if n := b.int(`SELECT count(*) FROM allocations WHERE id = $1 AND (warned_at IS NOT NULL OR preempt_at IS NOT NULL)`, id); n != 0 {
				t.Fatal("it is warned early")
			}
			b.holds(id, 2300)
			if got := b.text(`SELECT format('%s %s', warned_at IS NOT NULL, preempt_at IS NOT NULL) FROM allocations WHERE id = '` + id + `'`); got != "t f" {
				t.Fatalf("300 s before the end: warned, preempted: %s", got)
			}
			b.holds(id, 2601)
			if got := b.text(`SELECT format('%s %s', kill_at IS NULL, preempt_reason) FROM allocations WHERE id = '` + id + `'`); got != "t "+why {
				t.Fatalf("at the limit: %s", got)
			}
			b.want(e, "ACTIVE", "STOPPING_COMPLETED", "RUNNING")
			if c.saves {
				b.exec(`UPDATE allocations SET preempt_acked_at = now() WHERE id = $1`, id)
				b.exit(id, 0)
				b.settle()
				b.want(e, "COMPLETED", "COMPLETED", "TERMINATED preempted")
			} else {
				b.holds(id, 2600+c.grace-15)
				if n := b.int(`SELECT count(*) FROM allocations WHERE kill_at IS NOT NULL`); n != 0 {
					t.Errorf("%q: it is killed within its grace", c.config)
				}
				b.holds(id, 2600+c.grace+15)
				b.exit(id, 137)
				b.settle()
				b.want(e, "CANCELED", "CANCELED", "TERMINATED killed")
			}
			if got := b.text(`SELECT error FROM trials`); !strings.HasPrefix(got, why) {
				t.Errorf("the trial says %q", got)
			}
		})
	}
}

// TestMaxRuntimeOfAPool holds for work that sets none, and the shorter one for work that does; a trial that ends by itself has completed.
func TestMaxRuntimeOfAPool(t *testing.T) {
	b := newBench(t, "n1", "n2")
	b.term.cfg.Pools[0].MaxRuntime = 2 * time.Hour
	unset, longer, shorter := b.experiment(""), b.experiment("resources: {max_runtime: 3h}"), b.experiment("resources: {max_runtime: 1h}")
	b.settle()
	for _, e := range []int{unset, longer, shorter} {
		b.claim(b.newest(e))
		b.holds(b.newest(e), 3700)
	}
	b.want(unset, "ACTIVE", "ACTIVE", "RUNNING")
	b.want(longer, "ACTIVE", "ACTIVE", "RUNNING")
	b.want(shorter, "ACTIVE", "STOPPING_COMPLETED", "RUNNING")
	id := b.newest(longer)
	b.holds(b.newest(unset), 7300)
	if got := b.text(`SELECT preempt_reason FROM allocations WHERE id = '` + b.newest(unset) + `'`); got != "it has run for 2h, which is the max_runtime of pool default" {
		t.Error(got)
	}
	b.exit(id, 0)
	b.exec(`UPDATE allocations SET assigned_at = now() - interval '3 hours' WHERE id = $1`, id)
	b.settle()
	b.want(longer, "COMPLETED", "COMPLETED", "TERMINATED completed")
	if got := b.text(`SELECT string_agg(error, '') FROM trials WHERE experiment_id = ` + fmt.Sprint(longer)); got != "" {
		t.Errorf("a trial that had done its work says %q", got)
	}
}

// TestMaxRuntimeEndsATask: a task of another kind is killed at its limit, and its exit status says why.
func TestMaxRuntimeEndsATask(t *testing.T) {
	b := newBench(t, "n1")
	b.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, pool, slots)
		SELECT 'x', 'NOTEBOOK', gen_random_uuid(), u.id, 1, 'x', '{"description": "x", "resources": {"max_runtime": "30m0s"}}', 'default', 0 FROM users u WHERE username = 'determined'`)
	b.settle()
	b.claim("x.1")
	b.settle()
	b.holds("x.1", 29*60)
	if n := b.int(`SELECT count(*) FROM allocations WHERE kill_at IS NULL AND warned_at IS NOT NULL`); n != 1 {
		t.Error("it is killed, or not warned")
	}
	b.holds("x.1", 31*60)
	b.exit("x.1", 143)
	b.settle()
	if s := b.text(`SELECT exit_status FROM tasks WHERE ended_at IS NOT NULL`); s != "it has run for 30m, which is resources.max_runtime" {
		t.Errorf("the exit status is %q", s)
	}
	p := &Snapshot{Pools: pool.Set{{Name: "default", MaxRuntime: time.Hour}}}
	for kind, want := range map[string]time.Duration{"CHECKPOINT_GC": 0, "COMMAND": time.Hour} {
		if got := p.taskLimit(&rows.LiveTask{Type: kind, Pool: "default"}).Limit; got != want {
			t.Errorf("%s: a limit of %v, want %v", kind, got, want)
		}
	}
}

func TestWarning(t *testing.T) {
	b, ok := warning(rows.AllocationChange{ID: "1.t.3", Warn: "soon"})
	if !ok || b.TaskID != "1.t" || b.Origin.AllocationID != "1.t.3" || len(b.Lines) != 1 || b.Lines[0].Text != "soon" || b.Lines[0].Level != warningLevel {
		t.Errorf("%+v", b)
	}
	if b, ok := warning(rows.AllocationChange{ID: "1.t.3"}); ok {
		t.Errorf("%+v", b)
	}
}
