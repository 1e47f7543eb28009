package control

import (
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/lifecycle"
)

// TestHowLongAPreemptedProgramRuns: the master waits an hour for a program that asked the preemption API, the grace and a
// margin for one that knows only signals, and for both what the configuration says.
func TestHowLongAPreemptedProgramRuns(t *testing.T) {
	for _, c := range []struct {
		config  string
		asked   bool
		seconds int // after which the master kills it
	}{
		{"preemption: {signal: SIGUSR1, grace: 5m, always: true}", true, 300 + 30},
		{"", true, 3600},
		{"", false, 60 + 30},
		{"preemption_timeout: 10", true, 10},
		{"preemption_timeout: 10", false, 10 + 30},
		{"preemption: {signal: SIGUSR1, grace: 5m}", true, 3600},
		{"preemption: {signal: SIGUSR1, grace: 5m}", false, 300 + 30},
		{"preemption: {grace: 5m}\npreemption_timeout: 10", true, 10},
		{"preemption: {grace: 5m}\npreemption_timeout: 10", false, 300 + 30},
		{"resume: {path: out}", false, 60 + 30 + 3600},
		{"resume: {path: out}", true, 3600 + 3600},
	} {
		b := newBench(t, "n1")
		e := b.experiment(c.config)
		b.settle()
		id := b.newest(e)
		b.claim(id)
		b.exec(`UPDATE allocations SET preempt_asked_at = CASE WHEN $2 THEN now() END WHERE id = $1`, id, c.asked)
		b.exec(`UPDATE experiments SET desired = 'paused' WHERE id = $1`, e)
		b.settle()
		for _, since := range []int{c.seconds - 5, c.seconds + 1} {
			b.exec(`UPDATE allocations SET preempt_at = now() - $2::int * interval '1 second' WHERE id = $1`, id, since)
			b.settle()
			if killed := b.int(`SELECT count(*) FROM allocations WHERE id = $1 AND kill_at IS NOT NULL`, id) == 1; killed != (since > c.seconds) {
				t.Errorf("%q, asked %v: killed after %d s: %v", c.config, c.asked, since, killed)
			}
		}
	}
}

// TestASignalPreemptsATrial: a trial whose program exited at the signal of a preemption, or was killed after the grace,
// continues without a restart, and is not completed by exit code 0.
func TestASignalPreemptsATrial(t *testing.T) {
	for _, c := range []struct {
		code    int
		how     string
		outcome string
	}{{0, "exited", "preempted"}, {143, "exited", "preempted"}, {137, "killed", "killed"}, {0, "killed", "killed"}} {
		b := newBench(t, "n1")
		e := b.experiment("")
		b.settle()
		id := b.newest(e)
		b.claim(id)
		b.settle()
		b.exec(`UPDATE experiments SET desired = 'paused' WHERE id = $1`, e)
		b.settle()
		b.exec(`UPDATE members SET preempted = $2 WHERE allocation_id = $1`, id, c.how)
		b.exit(id, c.code)
		b.settle()
		b.want(e, "PAUSED", "PAUSED", "TERMINATED "+c.outcome)
		b.exec(`UPDATE experiments SET desired = 'active' WHERE id = $1`, e)
		b.settle()
		b.want(e, "ACTIVE", "ACTIVE", "STARTING")
		if got := b.text(`SELECT format('%s restarts, run %s', restarts, run_id) FROM trials`); got != "0 restarts, run 2" {
			t.Errorf("%s: the trial has %s", fmt.Sprint(c), got)
		}
	}
}

// TestASignalThatIsDecidedHolds: from the decision that a signal preempts an attempt, its grace counts, although a program asks later; and
// a trial that has trained to the end gets the time of the preemption API.
func TestASignalThatIsDecidedHolds(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	id := b.newest(e)
	b.claim(id)
	b.exec(`UPDATE experiments SET desired = 'paused' WHERE id = $1`, e)
	b.settle()
	killed := func() bool {
		b.settle()
		return b.int(`SELECT count(*) FROM allocations WHERE id = $1 AND kill_at IS NOT NULL`, id) == 1
	}
	b.exec(`UPDATE allocations SET preempt_at = now() - interval '200 s', preempt_reason = $2 WHERE id = $1`, id, lifecycle.WhyTrained)
	if killed() {
		t.Error("it is killed although it has trained to the end")
	}
	b.exec(`UPDATE allocations SET preempt_asked_at = now(), preempt_signalled_at = now() - interval '85 s' WHERE id = $1`, id)
	if killed() {
		t.Error("it is killed within its grace")
	}
	b.exec(`UPDATE allocations SET preempt_signalled_at = now() - interval '95 s' WHERE id = $1`, id)
	if !killed() {
		t.Error("it runs on after its grace")
	}
}

// TestPreemptionOfAnUnreadExperiment: the loop knows the preemption and the kept folder of an experiment whose configuration it has not
// read, and waits as long as any of them allows.
func TestPreemptionOfAnUnreadExperiment(t *testing.T) {
	at := time.Now()
	for config, want := range map[string]preemption{
		`{"max_restarts": 5, "preemption_timeout": null}`:                                         {wait: time.Hour},
		`{"preemption": {"signal": "SIGUSR1", "grace": "12h0m0s"}, "resume": {"path": "out"}}`:    {wait: 13*time.Hour + signalMargin},
		`{"preemption": {"always": true}, "preemption_timeout": 7200, "resume": {"path": "out"}}`: {wait: 3*time.Hour + signalMargin, bySignal: true},
	} {
		e := &Experiment{}
		e.Unread, e.Config = true, runningConfig([]byte(config))
		for _, a := range []rows.LiveAllocation{{}, {PreemptAskedAt: &at}} {
			if got := preemptionOf(e, &a); got != want {
				t.Errorf("%s: %+v, want %+v", config, got, want)
			}
		}
	}
	b := newBench(t, "n1")
	id := b.experiment("preemption: {grace: 12h}\nresume: {path: out}")
	if got := b.text(`SELECT jsonb_build_object('preemption', preemption, 'resume', resume)::text FROM experiments WHERE id = $1`, id); got != `{"resume": {"path": "out"}, "preemption": {"grace": "12h0m0s"}}` {
		t.Error(got)
	}
}

// TestAPreemptionIsNoSuccessOfItsNode: only a program that exits with code 0 proves that its node works.
func TestAPreemptionIsNoSuccessOfItsNode(t *testing.T) {
	for code, want := range map[int]int{0: 0, 1: 2, 143: 2} {
		b := newBench(t, "n1")
		e := b.experiment("")
		b.settle()
		id := b.newest(e)
		b.claim(id)
		b.settle()
		b.exec(`INSERT INTO node_failures (experiment_id, node_id, node_name, failures, avoided) SELECT $1, node_id, node_name, 2, false FROM members WHERE allocation_id = $2`, e, id)
		b.exec(`UPDATE experiments SET desired = 'paused' WHERE id = $1`, e)
		b.settle()
		b.exec(`UPDATE members SET preempted = 'exited' WHERE allocation_id = $1`, id)
		b.exit(id, code)
		b.settle()
		b.want(e, "PAUSED", "PAUSED", "TERMINATED preempted")
		if got := b.int(`SELECT failures FROM node_failures`); got != want {
			t.Errorf("exit code %d: the node has %d failures, want %d", code, got, want)
		}
	}
}

// TestAPreemptionLosesLeastWork: of equals, the trial leaves that would do least work again: the youngest if nothing is known, one that has just stored a
// checkpoint before it, and one that stores a checkpoint when it is asked before one whose last checkpoint is older than this takes.
func TestAPreemptionLosesLeastWork(t *testing.T) {
	for name, c := range map[string]struct {
		config string // of the old trial
		saved  string // how long ago the old trial stored a checkpoint; "" for never
		asks   bool   // the old trial asks the preemption API
		leaves string
	}{
		"nothing is known":            {leaves: "young"},
		"the old one saved":           {saved: "10 minutes", leaves: "old"},
		"the old one saved long ago":  {saved: "3 hours", leaves: "young"},
		"the old one saves if asked":  {saved: "3 hours", asks: true, leaves: "old"},
		"the old one saves at SIGINT": {config: "preemption: {signal: SIGINT}\n", leaves: "old"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "n1")
			b.term.cfg.Pools[0].Preemption = true
			old := b.experiment(c.config)
			b.settle()
			young := b.experiment("")
			b.settle()
			b.exec(`UPDATE allocations SET assigned_at = now() - interval '5 hours', preempt_asked_at = CASE WHEN $2 THEN now() END WHERE id = $1`, b.newest(old), c.asks)
			b.exec(`UPDATE allocations SET assigned_at = now() - interval '2 hours' WHERE id = $1`, b.newest(young))
			if c.saved != "" {
				b.checkpoint(old, 1, 5, 0.5)
				b.exec(`UPDATE checkpoints SET reported_at = now() - $1::text::interval`, c.saved)
			}
			if err := b.term.folds.saves.Read(t.Context(), b.db); err != nil {
				t.Fatal(err)
			}
			urgent := b.experiment("")
			b.exec(`UPDATE experiments SET priority = 1 WHERE id = $1`, urgent)
			b.settle()
			want := fmt.Sprint(map[string]int{"old": old, "young": young}[c.leaves])
			if got := b.text(`SELECT coalesce(string_agg(split_part(id, '.', 1), ' '), 'none') FROM allocations WHERE preempt_at IS NOT NULL`); got != want {
				t.Errorf("of experiments %d and %d, %s was preempted, and not %s", old, young, got, want)
			}
		})
	}
}
