package control

import (
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/tasks"
)

// facts changes what Nomad says of a node.
func (b *bench) facts(node string, facts map[string]string) {
	b.t.Helper()
	b.node(node).Facts = facts
	b.settle()
}

func (b *bench) node(name string) *cluster.Node {
	return &b.nomad.nodes[slices.IndexFunc(b.nomad.nodes, func(n cluster.Node) bool { return n.Name == name })]
}

// TestAMachineGoesAway: a notice in a node's meta preempts the trials there, nothing new is placed
// there, and a failure on such a node costs no restart.
func TestAMachineGoesAway(t *testing.T) {
	b := newBench(t, "n1", "n2")
	e := b.submit(oneTrial)
	first := b.start(e, 0)
	here := b.text(`SELECT node_name FROM members WHERE allocation_id = $1`, first)
	b.facts(here, map[string]string{"meta.detent.leaving": "1893553445", "meta.detent.leaving.why": "the rack moves"})
	b.preempted(first, "node "+here+` goes away at 2030-01-02T03:04:05Z ("the rack moves")`)
	if s, err := attempts.ReadSignal(t.Context(), b.db, first); err != nil || !slices.Equal(s.Notices, []string{"1893553445"}) {
		t.Errorf("the signal: %+v %v", s, err)
	}
	b.exit(first, 137) // the machine stops it in the middle of its checkpoint
	second := b.start(e, 0)
	if there := b.text(`SELECT node_name FROM members WHERE allocation_id = $1`, second); there == here {
		t.Error("it goes on where it was")
	}
	if got := b.text(`SELECT outcome || ': ' || exit_reason FROM allocations WHERE id = $1`, first); got != "lost: exit code 137; not counted as a failure: node "+here+` goes away at 2030-01-02T03:04:05Z ("the rack moves")` {
		t.Error(got)
	}
	if n := b.int(`SELECT restarts FROM trials`); n != 0 {
		t.Errorf("%d restarts are counted for a machine that went away, want 0", n)
	}
	there := b.text(`SELECT node_name FROM members WHERE allocation_id = $1`, second)
	b.facts(there, map[string]string{"meta.detent.leaving": "soon"})
	b.preempted(second, "node "+there+` goes away (its meta detent.leaving is "soon", which is not a time such as 2026-11-23T14:05:00Z or 1795442700)`)
	b.leave(second, 5)
	third := b.newest(e)
	if got := b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, third); !strings.Contains(got, "goes away at 2030-01-02T03:04:05Z") {
		t.Errorf("it waits as %q", got)
	}
	if got := (&departure{said: "unknown", why: "det-notice: \x1b[31m" + strings.Repeat("a", 1000)}).String(); got != `goes away ("det-notice: \x1b[31m`+strings.Repeat("a", 64-17)+`")` {
		t.Error(got)
	}
	b.facts(here, nil) // the notice was withdrawn
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
}

// TestASpotMachineIsGone: in a pool of spot machines a failure costs no restart if a machine of the
// attempt is gone, because what remains of a gang fails for lack of it; in another pool it does.
func TestASpotMachineIsGone(t *testing.T) {
	for _, spot := range []bool{true, false} {
		b := newBench(t, "n1", "n2")
		b.term.cfg.Pools[0].Spot = spot
		e := b.submit(oneTrial)
		first := b.start(e, 0)
		here := b.text(`SELECT node_name FROM members WHERE allocation_id = $1`, first)
		b.node(here).Status = "down"
		b.exit(first, 1)
		b.settle()
		want := 1
		if spot {
			want = 0
		}
		if n := b.int(`SELECT restarts FROM trials`); n != want {
			t.Errorf("spot %v: %d restarts, want %d", spot, n, want)
		}
		second := b.start(e, 0)
		b.exit(second, 1) // its machine is in order: this is the program's fault
		b.settle()
		if n := b.int(`SELECT restarts FROM trials`); n != 1 {
			t.Errorf("spot %v: %d restarts after a failure of the program", spot, n)
		}
	}
}

// TestTasksWithoutSlotsAvoidSpotMachines: they do not run there unless operators allow it, and a garbage
// collection always does, because files of a pool may be reachable only there.
func TestTasksWithoutSlotsAvoidSpotMachines(t *testing.T) {
	b := newBench(t, "n1", "n2")
	b.facts("n1", map[string]string{"meta.detent.spot": "true"})
	b.node("n2").Status = "down"
	b.settle()
	user := b.int(`SELECT id FROM users WHERE username = 'determined'`)
	if _, err := tasks.Create(t.Context(), b.db, tasks.New{ID: "g1", Type: "GENERIC", OwnerID: user, WorkspaceID: 1, Name: "g1",
		Config: []byte(`{"description": "x"}`), Pool: "default", Priority: 42}); err != nil {
		t.Fatal(err)
	}
	b.settle()
	waits := func() string {
		return b.text(`SELECT state || ' ' || waiting_reason FROM allocations WHERE task_id = 'g1'`)
	}
	if got := waits(); got != "PENDING tasks of 0 slots do not run on spot machines, and pool default has no other node in order; an operator can allow it with aux_on_spot" {
		t.Errorf("it waits as %q", got)
	}
	b.node("n2").Status = "ready"
	b.settle()
	if got := b.text(`SELECT node_name FROM members WHERE allocation_id LIKE 'g1%'`); got != "n2" {
		t.Errorf("it runs on %s", got)
	}
	b.facts("n2", map[string]string{"meta.detent.spot": "1"})
	task, _ := b.gcTask(b.trained())
	if got := b.text(`SELECT state FROM allocations WHERE task_id = $1`, task); got == "PENDING" {
		t.Error("the garbage collection waits")
	}
}
