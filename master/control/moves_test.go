package control

import (
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/queue"
)

func (b *bench) preempted(attempt, why string) {
	b.t.Helper()
	if got := b.text(`SELECT preempt_reason FROM allocations WHERE id = $1`, attempt); got != why {
		b.t.Errorf("attempt %s was asked to leave because of %q, want %q", attempt, got, why)
	}
}

func (b *bench) killed(attempt, why string) {
	b.t.Helper()
	if got := b.text(`SELECT kill_reason FROM allocations WHERE id = $1`, attempt); got != why {
		b.t.Errorf("attempt %s was killed because of %q, want %q", attempt, got, why)
	}
}

// TestNodesAndSlotsAreWithdrawn tests disabled nodes and slots: attempts on them are killed, except with drain; a trial
// has not ended because of it, whatever its program exits with, and uses them again when they are enabled.
func TestNodesAndSlotsAreWithdrawn(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit(oneTrial)
	first := b.start(e, 0)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		b.settle()
	}
	must(nodes.SetEnabled(t.Context(), b.db, "id-n1", false, true))
	b.want(e, "ACTIVE", "ACTIVE", "RUNNING")
	b.killed(first, "")
	must(nodes.SetEnabled(t.Context(), b.db, "id-n1", false, false))
	b.preempted(first, "")
	b.killed(first, "node n1 was disabled")
	b.exit(first, 0)
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "PENDING")
	must(nodes.SetEnabled(t.Context(), b.db, "id-n1", true, false))
	second := b.start(e, 0)
	b.want(e, "ACTIVE", "ACTIVE", "RUNNING")

	slot := b.text(`SELECT a.pool || '/' || m.slot_ids[1] FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.id = $1`, second)
	must(nodes.DisableSlot(t.Context(), b.db, "id-n1", slot, true))
	b.killed(second, "")
	must(nodes.DisableSlot(t.Context(), b.db, "id-n1", "another pool/0", false))
	b.killed(second, "")
	must(nodes.DisableSlot(t.Context(), b.db, "id-n1", slot, false))
	b.preempted(second, "")
	b.killed(second, "slot 0 of node n1 was disabled")
	b.exit(second, 143)
	b.settle()
	third := b.start(e, 0)
	if other := b.text(`SELECT a.pool || '/' || m.slot_ids[1] FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.id = $1`, third); other == slot {
		t.Errorf("the next attempt got slot %s, which is disabled", other)
	}
	must(nodes.EnableSlot(t.Context(), b.db, "id-n1", slot))
	b.killed(third, "")
	if n := b.int(`SELECT restarts FROM trials`); n != 0 {
		t.Errorf("%d restarts: nothing of it was its fault", n)
	}
}

// TestNomadDrainsANode tests a drain in Nomad with a deadline: trials are preempted, so that
// they store a checkpoint; other tasks run until the deadline.
func TestNomadDrainsANode(t *testing.T) {
	b := newBench(t, "n1", "n2")
	e := b.submit(oneTrial)
	first := b.start(e, 0)
	here := b.text(`SELECT node_name FROM members WHERE allocation_id = $1`, first)
	n := &b.nomad.nodes[slices.IndexFunc(b.nomad.nodes, func(n cluster.Node) bool { return n.Name == here })]
	n.Draining, n.Schedulable = true, false
	b.settle()
	b.preempted(first, "")
	n.DrainDeadline = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	b.settle()
	b.preempted(first, "node "+here+" is drained in Nomad until 2030-01-02T03:04:05Z")
	b.leave(first, 5)
	second := b.start(e, 0)
	if there := b.text(`SELECT node_name FROM members WHERE allocation_id = $1`, second); there == here {
		t.Error("the next attempt is on the node that is drained")
	}
	if n := b.int(`SELECT restarts FROM trials`); n != 0 {
		t.Errorf("%d restarts: nothing of it was its fault", n)
	}
}

// TestJobsChangePools tests jobs that users move to another pool: queued attempts wait in the
// other pool, and running trials are preempted and continue there.
func TestJobsChangePools(t *testing.T) {
	b := newBench(t, "n1")
	other := b.term.cfg.Pools[0]
	other.Name, other.NodePool = "other", "elsewhere"
	b.term.cfg.Pools = append(b.term.cfg.Pools, other)
	e := b.submit(oneTrial)
	first := b.start(e, 0)
	move := func(pool string) {
		t.Helper()
		if err := experiments.Change(t.Context(), b.db, e, experiments.Patch{Pool: &pool}); err != nil {
			t.Fatal(err)
		}
		b.settle()
	}
	move("other")
	b.preempted(first, "it moves to pool other")
	b.leave(first, 5)
	second := b.newest(e)
	if got := b.text(`SELECT pool || ' ' || state || ' ' || waiting_reason FROM allocations WHERE id = $1`, second); got != "other PENDING pool other has no node" {
		t.Errorf("the waiting attempt is %q", got)
	}
	move("default")
	if got := b.text(`SELECT pool || ' ' || state FROM allocations WHERE id = $1`, second); got != "default STARTING" {
		t.Errorf("moved back it is %q", got)
	}
	if got := b.text(`SELECT k.pool || ' ' || (e.config #>> '{resources,resource_pool}') FROM tasks k JOIN experiments e ON e.id = k.experiment_id`); got != "default default" {
		t.Errorf("the pools of the task and of the configuration are %s", got)
	}
}

// TestLessRoom tests that the newest attempts are preempted when an experiment's max_slots is
// reduced.
func TestLessRoom(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit("searcher: {name: random, metric: loss, max_trials: 2}\nhyperparameters: {lr: {type: double, minval: 0, maxval: 1}}\n")
	b.start(e, 0)
	b.start(e, 1)
	b.exec(`UPDATE allocations SET assigned_at = assigned_at + interval '1 s' WHERE id = $1`, b.attempt(e, 1))
	for _, n := range []int{3, 2, 1} {
		if err := experiments.Change(t.Context(), b.db, e, experiments.Patch{MaxSlots: &n}); err != nil {
			t.Fatal(err)
		}
		b.settle()
	}
	b.preempted(b.attempt(e, 0), "")
	young := b.attempt(e, 1)
	b.preempted(young, "experiment 1 may use 1 slot by now")
	b.leave(young, 5)
	b.trials(e, "0 ACTIVE RUNNING, 1 ACTIVE PENDING")
	n := 2
	if err := experiments.Change(t.Context(), b.db, e, experiments.Patch{MaxSlots: &n}); err != nil {
		t.Fatal(err)
	}
	b.start(e, 1)
	b.trials(e, "0 ACTIVE RUNNING, 1 ACTIVE RUNNING")
}

// TestThePlaceInTheQueueCounts tests that the scheduler follows the order that users set.
func TestThePlaceInTheQueueCounts(t *testing.T) {
	b := newBench(t, "n1")
	holder := b.submit(oneTrial + "\nresources: {slots_per_trial: 2}\n")
	first := b.start(holder, 0)
	var waiting []int
	for range 2 {
		waiting = append(waiting, b.submit(oneTrial+"\nresources: {slots_per_trial: 2}\n"))
		b.settle()
	}
	job := func(e int) string { return b.text(`SELECT job_id::text FROM experiments WHERE id = $1`, e) }
	if err := queue.Place(t.Context(), b.db, queue.Move{Job: job(waiting[1]), Anchor: job(waiting[0]), Ahead: true}); err != nil {
		t.Fatal(err)
	}
	if err := queue.Place(t.Context(), b.db, queue.Move{Job: job(waiting[1]), Anchor: job(holder), Ahead: true}); err == nil {
		t.Error("the job was placed before a running one")
	}
	b.exit(first, 0)
	b.settle()
	b.want(waiting[1], "ACTIVE", "ACTIVE", "STARTING")
	b.want(waiting[0], "ACTIVE", "ACTIVE", "PENDING")
}

// TestAClosedPool tests that a bound pool accepts no work of other workspaces, and keeps what runs there.
func TestAClosedPool(t *testing.T) {
	b := newBench(t, "n1")
	running := b.submit(oneTrial)
	b.start(running, 0)
	b.exec(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1)`)
	b.exec(`INSERT INTO pool_bindings (pool, workspace_id) SELECT 'default', id FROM workspaces WHERE name = 'theirs'`)
	waiting := b.submit(oneTrial)
	for range 3 {
		b.settle()
	}
	b.trials(running, "0 ACTIVE RUNNING")
	if got := b.text(`SELECT state || ' ' || waiting_reason FROM allocations WHERE id = $1`, b.newest(waiting)); got != `PENDING pool default is not open to workspace "Uncategorized": it is bound to other workspaces; move the job to another pool` {
		t.Errorf("the waiting attempt is %q", got)
	}
	b.exec(`INSERT INTO pool_bindings (pool, workspace_id) VALUES ('default', 1)`)
	b.settle()
	b.want(waiting, "ACTIVE", "ACTIVE", "STARTING")
}
