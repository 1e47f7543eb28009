package control

import (
	"fmt"
	"testing"
)

// TestHowLongAPreemptedProgramRuns: the master waits an hour for a program that asked the preemption API, the grace and a
// margin for one that knows only signals, and for both what the configuration says.
func TestHowLongAPreemptedProgramRuns(t *testing.T) {
	for _, c := range []struct {
		config  string
		asked   bool
		seconds int // after which the master kills it
	}{
		{"", true, 3600},
		{"", false, 60 + 30},
		{"preemption_timeout: 10", true, 10},
		{"preemption_timeout: 10", false, 10 + 30},
		{"preemption: {signal: SIGUSR1, grace: 5m}", true, 300 + 30},
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
	}{{0, "exited", "preempted"}, {143, "exited", "preempted"}, {137, "killed", "killed"}} {
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
