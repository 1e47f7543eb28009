package control

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/store"
)

// match reports a line of an attempt's log.
func (b *bench) match(attempt, action string) {
	b.t.Helper()
	fresh, err := b.db.RecordLogMatches(b.t.Context(), store.LogMatches{TaskID: attempt[:strings.LastIndexByte(attempt, '.')],
		AllocationID: attempt, Matches: []store.LogMatch{{Policy: "ECC", Pattern: "ECC", Action: action, Line: "an ECC error"}}})
	if err != nil || len(fresh) != 1 {
		b.t.Fatalf("%v, %v", fresh, err)
	}
}

// fail runs the experiment's newest attempt until its program fails, and tells
// where that was.
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
		t.Errorf("the trial says %q", s)
	}
	if s := b.text(`SELECT log_policy_matched FROM trials`); s != "ECC" {
		t.Errorf("it is labelled %q", s)
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
		t.Fatalf("it began on %s", at)
	}
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
	if at := b.where(e); at != "n2" {
		t.Errorf("it is tried again on %s", at)
	}
	other := b.experiment("")
	b.settle()
	if at := b.where(other); at != "n2" { // n2 is the fuller one
		t.Errorf("another experiment runs on %s", at)
	}
}

// TestALineThatComesLate: the next attempt is queued when the match arrives, and a
// new leader has to know of it.
func TestALineThatComesLate(t *testing.T) {
	b := newBench(t, "n1", "n2")
	big := b.experiment("resources: {slots_per_trial: 2}") // all of n1
	b.settle()
	e := b.experiment("resources: {slots_per_trial: 2}")
	var first string
	b.settle()
	first = b.newest(e)
	if at := b.where(e); at != "n2" {
		t.Fatalf("it began on %s", at)
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
		t.Errorf("it waits because it %q", why)
	}
	id := b.newest(big)
	b.claim(id)
	b.settle()
	b.exit(id, 0)
	b.settle()
	if at := b.where(e); at != "n1" {
		t.Errorf("it is tried again on %s", at)
	}
}

func TestNoNodeIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []string
		down  bool
		ends  bool
	}{
		"the only node":                 {[]string{"n1"}, false, true},
		"the other node is down":        {[]string{"n1", "n2"}, true, true},
		"the other node is only in use": {[]string{"n1", "n2"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.nodes...)
			e := b.experiment("")
			b.fail(e, func(id string) {
				b.match(id, "exclude_node")
				if c.down {
					b.nomad.nodes[1].Status = "down"
				} else {
					b.exec(`UPDATE nodes SET enabled = false WHERE name = 'n2'`)
				}
			})
			if !c.ends {
				b.want(e, "ACTIVE", "ACTIVE", "PENDING")
				return
			}
			b.want(e, "ERROR", "ERROR", "TERMINATED failed")
			if s := b.text(`SELECT error FROM trials`); s != `exit code 3; not retried: pool default has no node that could hold it except n1, which log policy "ECC" excludes` {
				t.Errorf("the trial says %q", s)
			}
		})
	}
}

// TestWhatIsLeftHasNotTheShape: three slots go on one node or on three; two nodes of
// two have enough of them, and can never hold the trial.
func TestWhatIsLeftHasNotTheShape(t *testing.T) {
	b := newBench(t, "n1", "n2", "n3")
	e := b.experiment("resources: {slots_per_trial: 3}")
	b.fail(e, func(id string) { b.match(id, "exclude_node") })
	b.want(e, "ERROR", "ERROR", "TERMINATED failed")
	if s := b.text(`SELECT error FROM trials`); !strings.Contains(s, "no node that could hold it except n1") {
		t.Errorf("the trial says %q", s)
	}
}

// TestNoNodeIsLeftForWhatWasLost: an attempt that did not fail is tried again
// wherever it may; a trial that may go nowhere any more does not wait for good.
func TestNoNodeIsLeftForWhatWasLost(t *testing.T) {
	for name, down := range map[string]bool{"no other node": false, "the other is down": true} {
		t.Run(name, func(t *testing.T) {
			nodes := []string{"n1", "n2"}
			if !down {
				nodes = nodes[:1]
			}
			b := newBench(t, nodes...)
			e := b.experiment("")
			id := b.start(e, 0)
			b.match(id, "exclude_node")
			if down {
				b.nomad.nodes[1].Status, b.nomad.nodes[1].Schedulable = "down", false
			}
			b.nomad.turn(id, func(f *cluster.TaskFact) { f.Status = "lost" })
			b.settle()
			if down { // it may come back
				b.want(e, "ACTIVE", "ACTIVE", "PENDING")
				return
			}
			b.want(e, "ERROR", "ERROR", "TERMINATED killed")
			if s := b.text(`SELECT error FROM trials`); s != `pool default has no node that could hold it except n1, which log policy "ECC" excludes` {
				t.Errorf("the trial says %q", s)
			}
		})
	}
}

// TestTheOnlyNodeIsTriedAgain: a start that its node prevented goes elsewhere next,
// where there is an elsewhere.
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
		t.Errorf("it is tried again on %s", at)
	}
}

// TestANodeThatKeepsFailing: attempts of the experiment's trials go elsewhere, until
// it has failed as often everywhere or has a success there.
func TestANodeThatKeepsFailing(t *testing.T) {
	b := newBench(t, "n1", "n2")
	b.term.cfg.AvoidAfter = 1
	e := b.experiment("")
	if at := b.fail(e, nil); at != "n1" {
		t.Fatalf("it began on %s", at)
	}
	if at := b.where(e); at != "n2" {
		t.Errorf("it is tried again on %s", at)
	}
	avoided, err := b.db.AvoidedNodes(t.Context(), e)
	if err != nil || len(avoided) != 1 || avoided[0].NodeName != "n1" || avoided[0].Failures != 1 {
		t.Errorf("it avoids %+v, %v", avoided, err)
	}
	other := b.experiment("")
	b.settle()
	if at := b.where(other); at != "n2" { // the fuller
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
		t.Errorf("it is tried again on %q", at)
	}
	b.fail(e, nil)
	b.want(e, "ERROR", "ERROR", "TERMINATED failed")
}

// TestWhatSpeaksForANode: a success takes back what failures said, and neither a
// lost node nor a stop of the trial says anything.
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

// TestAnotherAvoidAfter: a master that is told another number judges by that.
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

// TestAContinuedTrialForgets: what ended it does not end it again before it has
// happened again, and the node that it left is as good as any.
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
		t.Errorf("it is tried again on %q", at)
	}
}
