package control

import (
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/queue"
)

// reason is why the newest attempt of an experiment waits.
func (b *bench) reason(experiment int) string {
	b.t.Helper()
	return b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, b.newest(experiment))
}

// obey lets the program of a preempted attempt store its checkpoint and exit.
func (b *bench) obey(attempt string) {
	b.t.Helper()
	b.ack(attempt)
	b.exit(attempt, 0)
	b.settle()
}

// TestAReservationTakesItsSlots: at its start, what others run on its slots is preempted; its owner's work runs there; others wait, and say why; after its end
// nothing is killed, and they run again.
func TestAReservationTakesItsSlots(t *testing.T) {
	b := newBench(t, "n1")
	admin := b.int(`SELECT id FROM users WHERE username = 'admin'`)
	const both = "resources: {slots_per_trial: 2}"
	other := b.experiment(both)
	first := b.start(other, 0)
	id := b.int(`INSERT INTO reservations (pool, user_id, slots, begins_at, ends_at) VALUES ('default', $1, 2, now() + interval '10 minutes', now() + interval '1 hour') RETURNING id`, admin)
	late := b.experiment("resources: {slots_per_trial: 1}")
	b.settle()
	b.want(other, "ACTIVE", "ACTIVE", "RUNNING")
	if got := b.reason(late); !strings.Contains(got, "2 slots are reserved for user admin from ") {
		t.Errorf("before its start: %s", got)
	}
	b.exec(`UPDATE experiments SET desired = 'canceled' WHERE id = $1`, late)
	b.exec(`UPDATE reservations SET begins_at = now() - interval '1 minute' WHERE id = $1`, id)
	b.settle()
	if got := b.text(`SELECT preempt_reason FROM allocations WHERE id = $1`, first); !strings.HasPrefix(got, "preempted for a reservation: 2 slots are reserved for user admin from ") {
		t.Errorf("at its start: %q", got)
	}
	b.obey(first)
	b.want(other, "ACTIVE", "ACTIVE", "PENDING")
	if got := b.reason(other); !strings.Contains(got, "; 2 slots are reserved for user admin from ") {
		t.Errorf("during it: %s", got)
	}
	owners := b.experiment(both)
	b.exec(`UPDATE experiments SET owner_id = $2 WHERE id = $1`, owners, admin)
	own := b.start(owners, 0)
	b.want(owners, "ACTIVE", "ACTIVE", "RUNNING")
	b.exec(`UPDATE reservations SET cancelled_at = now()`)
	b.settle()
	b.want(owners, "ACTIVE", "ACTIVE", "RUNNING")
	if got := b.reason(other); got == "" || strings.Contains(got, "reserved") {
		t.Errorf("after its end: %s", got)
	}
	b.exit(own, 0)
	b.settle()
	b.want(other, "ACTIVE", "ACTIVE", "STARTING")
}

// TestAMaintenanceEmptiesItsNodes: also in a pool in which nothing waits.
func TestAMaintenanceEmptiesItsNodes(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	first := b.start(e, 0)
	b.exec(`INSERT INTO reservations (pool, slots, nodes, begins_at, ends_at) VALUES ('another', 0, '{id-n1}', now() - interval '1 minute', now() + interval '1 hour')`)
	b.settle()
	if got := b.text(`SELECT preempt_reason FROM allocations WHERE id = $1`, first); !strings.Contains(got, "is in maintenance from ") {
		t.Errorf("%q", got)
	}
	b.obey(first)
	b.want(e, "ACTIVE", "ACTIVE", "PENDING")
	if got := b.reason(e); !strings.Contains(got, "is in maintenance until ") {
		t.Errorf("%s", got)
	}
	b.exec(`UPDATE reservations SET ends_at = now() - interval '1 second'`)
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
}

// TestExpectedEnds: the list of jobs says when what runs ends, as an interval, also if nothing waits.
func TestExpectedEnds(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	limited := b.experiment("resources: {max_runtime: 1h}")
	b.start(e, 0)
	b.start(limited, 0)
	b.reports(e, 0.1, 0.2, 0.3)
	b.settle()
	if err := b.term.foreseeNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	forecasts, err := queue.Forecasts(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := queue.Jobs(t.Context(), b.db, auth.Everywhere(), "default")
	if err != nil || len(jobs) != 2 {
		t.Fatalf("%+v, %v", jobs, err)
	}
	for _, j := range jobs {
		end := forecasts["default"].ExpectEnd(j)
		if end == nil || end.Attempts != 1 || end.Earliest.After(end.Likely) || end.Likely.After(end.Latest) {
			t.Fatalf("experiment %d: %+v", *j.ExperimentID, end)
		}
		least, most := 5*time.Minute, 7*time.Minute
		if *j.ExperimentID == limited {
			least, most = time.Hour-time.Minute, time.Hour+10*time.Minute
		}
		if left := time.Until(end.Likely); left < least || left > most {
			t.Errorf("experiment %d ends in %v", *j.ExperimentID, left)
		}
	}
}
