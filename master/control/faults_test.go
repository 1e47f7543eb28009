package control

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/nodes"
)

// match reports that a line of an attempt's log matched a policy.
func (b *bench) match(attempt, action string) {
	b.t.Helper()
	fresh, err := logs.RecordMatches(b.t.Context(), b.db, logs.Matches{TaskID: attempt[:strings.LastIndexByte(attempt, '.')],
		AllocationID: attempt, Matches: []logs.Match{{Policy: "ECC", Pattern: "ECC", Action: action, Line: "an ECC error"}}})
	if err != nil || len(fresh) != 1 {
		b.t.Fatalf("%v, %v", fresh, err)
	}
}

// fail runs the experiment's newest attempt until its program fails, and returns its node.
func (b *bench) fail(experiment int, before func(attempt string)) (node string) {
	b.t.Helper()
	b.settle()
	id := b.newest(experiment)
	b.claim(id)
	b.settle()
	if before != nil {
		before(id)
	}
	b.exit(id, 3)
	b.settle()
	return b.text(`SELECT node_name FROM members WHERE allocation_id = $1`, id)
}

func (b *bench) where(experiment int) string {
	b.t.Helper()
	return b.text(`SELECT node_name FROM members WHERE allocation_id = $1`, b.newest(experiment))
}

func TestALineThatCancelsRetries(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.fail(e, func(id string) { b.match(id, "cancel_retries") })
	b.want(e, "ERROR", "ERROR", "TERMINATED failed")
	if n := b.int(`SELECT count(*) FROM allocations`); n != 1 {
		t.Errorf("%d attempts", n)
	}
	if s := b.text(`SELECT error FROM trials`); s != `exit code 3; not retried: log policy "ECC" matched "an ECC error"` {
		t.Errorf("the trial's error is %q", s)
	}
	if s := b.text(`SELECT log_policy_matched FROM trials`); s != "ECC" {
		t.Errorf("the trial is labelled %q", s)
	}
}

func TestALineThatCancelsRetriesOfASuccess(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	id := b.newest(e)
	b.claim(id)
	b.settle()
	b.match(id, "cancel_retries")
	b.exit(id, 0)
	b.settle()
	b.want(e, "COMPLETED", "COMPLETED", "TERMINATED completed")
}

func TestALineThatExcludesANode(t *testing.T) {
	b := newBench(t, "n1", "n2")
	e := b.experiment("")
	if at := b.fail(e, func(id string) { b.match(id, "exclude_node") }); at != "n1" {
		t.Fatalf("the trial began on %s", at)
	}
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
	if at := b.where(e); at != "n2" {
		t.Errorf("the next attempt is on %s", at)
	}
	other := b.experiment("")
	b.settle()
	if at := b.where(other); at != "n2" { // the scheduler prefers the fuller node
		t.Errorf("another experiment runs on %s", at)
	}
}

// TestALineThatComesLate tests a match that arrives after the next attempt was queued, also
// with a new leader.
func TestALineThatComesLate(t *testing.T) {
	b := newBench(t, "n1", "n2")
	big := b.experiment("resources: {slots_per_trial: 2}") // takes all slots of n1
	b.settle()
	e := b.experiment("resources: {slots_per_trial: 2}")
	var first string
	b.settle()
	first = b.newest(e)
	if at := b.where(e); at != "n2" {
		t.Fatalf("the trial began on %s", at)
	}
	b.exec(`UPDATE nodes SET enabled = false WHERE name = 'n2'`)
	b.claim(first)
	b.settle()
	b.exit(first, 3)
	b.settle() // queued: n1 is full and n2 is disabled
	b.match(first, "exclude_node")
	b.exec(`UPDATE nodes SET enabled = true WHERE name = 'n2'`)
	s := &simulation{bench: b}
	s.newLeader()
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "PENDING")
	if why := b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, b.newest(e)); !strings.Contains(why, `it avoids n2, which log policy "ECC" excludes`) {
		t.Errorf("the waiting reason is %q", why)
	}
	id := b.newest(big)
	b.claim(id)
	b.settle()
	b.exit(id, 0)
	b.settle()
	if at := b.where(e); at != "n1" {
		t.Errorf("the next attempt is on %s", at)
	}
}

func TestNoNodeIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []string
		down  bool
		waits bool // launch_error: false
		ends  bool
	}{
		"the only node":                     {nodes: []string{"n1"}, ends: true},
		"the only node, and launch_error":   {nodes: []string{"n1"}, waits: true},
		"the other node is down":            {nodes: []string{"n1", "n2"}, down: true, ends: true},
		"the other node is only out of use": {nodes: []string{"n1", "n2"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.nodes...)
			b.term.cfg.LaunchError = !c.waits
			e := b.experiment("")
			b.fail(e, func(id string) {
				b.match(id, "exclude_node")
				if c.down {
					b.nomad.nodes[1].Status = "down"
				} else {
					b.exec(`UPDATE nodes SET enabled = false WHERE name = 'n2'`)
				}
			})
			if n := b.int(`SELECT restarts FROM trials`); n != 1 {
				t.Errorf("%d restarts: the failure counts", n)
			}
			if !c.ends {
				b.want(e, "ACTIVE", "ACTIVE", "PENDING")
				if why := b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, b.newest(e)); !strings.Contains(why, `n1, which log policy "ECC" excludes`) {
					t.Errorf("the waiting reason is %q", why)
				}
				return
			}
			b.want(e, "ERROR", "ERROR", "TERMINATED failed")
			if s := b.text(`SELECT error FROM trials`); s != `exit code 3; not retried: pool default has no node that could hold it except n1, which log policy "ECC" excludes` {
				t.Errorf("the trial's error is %q", s)
			}
		})
	}
}

// TestWhatIsLeftHasNotTheShape tests a trial of three slots in equal parts, which need one node or
// three: two remaining nodes with two slots each have enough slots, but can never run the trial.
func TestWhatIsLeftHasNotTheShape(t *testing.T) {
	b := newBench(t, "n1", "n2", "n3")
	b.term.cfg.LaunchError = true
	e := b.experiment("resources: {slots_per_trial: 3, equal_parts: true}")
	b.fail(e, func(id string) { b.match(id, "exclude_node") })
	b.want(e, "ERROR", "ERROR", "TERMINATED failed")
	if s := b.text(`SELECT error FROM trials`); !strings.Contains(s, "no node that could hold it except n1") {
		t.Errorf("the trial's error is %q", s)
	}
}

// TestNoNodeIsLeftForWhatWasLost tests that a trial whose attempt was lost is tried again on
// the nodes that it may use, and that it ends instead of waiting forever if there are none.
func TestNoNodeIsLeftForWhatWasLost(t *testing.T) {
	for name, down := range map[string]bool{"no other node": false, "the other is down": true} {
		t.Run(name, func(t *testing.T) {
			nodes := []string{"n1", "n2"}
			if !down {
				nodes = nodes[:1]
			}
			b := newBench(t, nodes...)
			b.term.cfg.LaunchError = true
			e := b.experiment("")
			id := b.start(e, 0)
			b.match(id, "exclude_node")
			if down {
				b.nomad.nodes[1].Status, b.nomad.nodes[1].Schedulable = "down", false
			}
			b.nomad.turn(id, func(f *cluster.TaskFact) { f.Status = "lost" })
			b.settle()
			if down { // the node may return
				b.want(e, "ACTIVE", "ACTIVE", "PENDING")
				return
			}
			b.want(e, "ERROR", "ERROR", "TERMINATED killed")
			if s := b.text(`SELECT error FROM trials`); s != `pool default has no node that could hold it except n1, which log policy "ECC" excludes` {
				t.Errorf("the trial's error is %q", s)
			}
		})
	}
}

// TestTheOnlyNodeIsTriedAgain tests that an attempt avoids the node that prevented the last
// start, but uses it if there is no other node.
func TestTheOnlyNodeIsTriedAgain(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	b.nomad.turn(b.newest(e), func(f *cluster.TaskFact) { f.Status, f.Started, f.Detail = "failed", false, "no space left" })
	b.settle()
	b.exec(`UPDATE allocations SET not_before = NULL WHERE state <> 'TERMINATED'`)
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
	if at := b.where(e); at != "n1" {
		t.Errorf("the next attempt is on %s", at)
	}
}

// TestANodeThatKeepsFailing tests that an experiment avoids a node on which its attempts keep
// failing, until they have failed as often on all nodes or one succeeds there.
func TestANodeThatKeepsFailing(t *testing.T) {
	b := newBench(t, "n1", "n2")
	b.term.cfg.AvoidAfter = 1
	e := b.experiment("")
	if at := b.fail(e, nil); at != "n1" {
		t.Fatalf("the trial began on %s", at)
	}
	if at := b.where(e); at != "n2" {
		t.Errorf("the next attempt is on %s", at)
	}
	avoided, err := nodes.Avoided(t.Context(), b.db, e)
	if err != nil || len(avoided) != 1 || avoided[0].NodeName != "n1" || avoided[0].Failures != 1 {
		t.Errorf("the experiment avoids %+v, %v", avoided, err)
	}
	other := b.experiment("")
	b.settle()
	if at := b.where(other); at != "n2" { // the scheduler prefers the fuller node
		t.Errorf("another experiment runs on %s", at)
	}
	second := b.newest(e)
	b.claim(second)
	b.settle()
	b.exit(second, 0)
	b.settle()
	b.want(e, "COMPLETED", "COMPLETED", "TERMINATED completed")
}

func TestAProgramThatFailsEverywhere(t *testing.T) {
	b := newBench(t, "n1")
	b.term.cfg.AvoidAfter = 1
	e := b.experiment("")
	b.fail(e, nil)
	if at := b.where(e); at != "n1" {
		t.Errorf("the next attempt is on %q", at)
	}
	b.fail(e, nil)
	b.want(e, "ERROR", "ERROR", "TERMINATED failed")
}

// TestWhatSpeaksForANode tests that a success resets a node's failures, and that neither a
// lost node nor a stop of the trial changes them.
func TestWhatSpeaksForANode(t *testing.T) {
	b := newBench(t, "n1")
	b.term.cfg.AvoidAfter = 2
	e := b.experiment("")
	failures := func() string {
		return b.text(`SELECT coalesce(string_agg(format('%s %s %s', node_name, failures, avoided), ', '), '') FROM node_failures WHERE experiment_id = $1`, e)
	}
	b.fail(e, nil)
	if got := failures(); got != "n1 1 f" {
		t.Errorf("after a failure: %s", got)
	}
	b.exec(`UPDATE experiments SET desired = 'paused' WHERE id = $1`, e)
	id := b.newest(e)
	b.claim(id)
	b.settle()
	b.ack(id)
	b.exit(id, 0)
	b.settle()
	if got := failures(); got != "n1 0 f" {
		t.Errorf("after a good end: %s", got)
	}
	b.exec(`UPDATE experiments SET desired = 'canceled' WHERE id = $1`, e)
	b.settle()
	for _, what := range []string{"canceled", "killed"} {
		e = b.experiment("")
		b.settle()
		id := b.newest(e)
		b.claim(id)
		b.settle()
		b.exec(`UPDATE experiments SET desired = $2 WHERE id = $1`, e, what)
		b.settle()
		b.exit(id, 1)
		b.settle()
		if got := failures(); got != "" {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// TestAnotherAvoidAfter tests that a changed avoid_node_after applies to counts in the database.
func TestAnotherAvoidAfter(t *testing.T) {
	b := newBench(t, "n1", "n2")
	e := b.experiment("resources: {slots_per_trial: 2}")
	b.settle()
	b.exec(`INSERT INTO node_failures (experiment_id, node_id, node_name, failures) VALUES ($1, 'id-n1', 'n1', 2)`, e)
	for after, avoided := range map[int]bool{3: false, 2: true, 0: false} {
		b.term.cfg.AvoidAfter = after
		b.settle()
		if got := b.text(`SELECT avoided::text FROM node_failures`); got != fmt.Sprint(avoided) {
			t.Errorf("with avoid_node_after %d it is avoided: %s", after, got)
		}
	}
}

// TestAContinuedTrialForgets tests that a continued trial ignores its earlier matches of log
// policies, and may use the node that they excluded.
func TestAContinuedTrialForgets(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit(oneTrial)
	b.fail(e, func(id string) { b.match(id, "exclude_node"); b.match(id, "cancel_retries") })
	b.want(e, "ERROR", "ERROR", "TERMINATED failed")
	if err := b.goOn(e, true, ""); err != nil {
		t.Fatal(err)
	}
	b.fail(e, nil)
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
	if at := b.where(e); at != "n1" {
		t.Errorf("the next attempt is on %q", at)
	}
}
