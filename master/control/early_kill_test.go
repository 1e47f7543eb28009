package control

import (
	"context"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
)

// sluggishNomad accepts submissions and stops, but neither starts nor ends any allocation.
type sluggishNomad struct{ *fakeNomad }

func (s sluggishNomad) Stop(_ context.Context, id string) (cluster.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stops[id]++
	return cluster.Done, nil
}

// TestAKillBeforeTheGate tests that a killed attempt whose runner has not claimed ends as soon
// as Nomad has accepted the stop of its job, in any state of its Nomad allocation.
func TestAKillBeforeTheGate(t *testing.T) {
	for _, status := range []string{"", "pending", "running"} {
		t.Run("nomad="+status, func(t *testing.T) {
			b := newBench(t, "n1")
			e := b.experiment("")
			b.settle()
			id := b.newest(e)
			b.exec(`UPDATE members SET nomad_status = $1, started = false, started_at = NULL`, status)
			b.nomad.tasks[id].Status, b.nomad.tasks[id].Started = status, false
			if status == "" {
				delete(b.nomad.tasks, id)
			}
			b.term.views[0].nomad = sluggishNomad{b.nomad}
			b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, e)
			b.settle()
			b.want(e, "CANCELED", "CANCELED", "TERMINATED killed")
			if b.nomad.stops[id] != 1 {
				t.Errorf("the attempt's job was stopped %d times", b.nomad.stops[id])
			}
			if _, err := (attempts.Gate{DB: b.db}).Claim(t.Context(), attempts.Claim{AllocationID: id, NomadAllocID: "nomad-" + id, Nonce: "x", FirstOfGroup: true, Pools: []string{"default"}, NodeID: "n1"}); err == nil {
				t.Error("the runner passed the gate after the attempt's end")
			}
		})
	}
}

// TestAKillBehindTheGate tests that a killed attempt with an accepted claim ends only when each
// member that has claimed has ended, although Nomad has accepted the stop of its job.
func TestAKillBehindTheGate(t *testing.T) {
	b := newBench(t, "n1", "n2")
	e := b.experiment("resources: {slots_per_trial: 4}")
	b.settle()
	id := b.newest(e)
	b.exec(`UPDATE members SET claimed_at = now(), claimed_by = 'x' WHERE allocation_id = $1 AND rank = 1`, id)
	b.term.views[0].nomad = sluggishNomad{b.nomad}
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, e)
	b.settle()
	b.want(e, "STOPPING_KILLED", "STOPPING_KILLED", "TERMINATING")
	b.exec(`UPDATE members SET exited_at = now(), exit_code = 143 WHERE allocation_id = $1 AND rank = 1`, id)
	b.settle()
	b.want(e, "CANCELED", "CANCELED", "TERMINATED killed")
}

// TestAKillThatNomadDoesNotTake tests that a killed attempt holds its slots until Nomad has
// accepted the stop, because Nomad may still start its job.
func TestAKillThatNomadDoesNotTake(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	id := b.newest(e)
	b.nomad.refuse = func(string) error { return fmt.Errorf("no leader") }
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, e)
	b.settle()
	b.want(e, "STOPPING_KILLED", "STOPPING_KILLED", "TERMINATING")
	b.nomad.refuse = nil
	b.term.views[0].nomad = sluggishNomad{b.nomad}
	b.exec(`UPDATE work SET after = now()`)
	b.settle()
	b.want(e, "CANCELED", "CANCELED", "TERMINATED killed")
	if n := b.nomad.stops[id]; n != 2 {
		t.Errorf("the attempt's job was stopped %d times", n)
	}
}

// TestAnOrderThatNomadTookWakesTheLoop tests that the loop begins a cycle when Nomad has
// accepted a stop.
func TestAnOrderThatNomadTookWakesTheLoop(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	if err := b.term.stop(t.Context(), rows.Work{Kind: rows.WorkStop, Subject: b.newest(e)}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.term.calls.done:
	default:
		t.Error("the loop was not woken")
	}
}
