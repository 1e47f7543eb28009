package control

import (
	"testing"

	"github.com/detent-ml/detent/master/cluster"
)

// TestATrialKeepsItsPlace: a trial that failed, was preempted, or lost its node is in the queue before
// requests that were submitted while it ran.
func TestATrialKeepsItsPlace(t *testing.T) {
	for name, end := range map[string]func(b *bench, attempt string){
		"failed": func(b *bench, attempt string) { b.exit(attempt, 3) },
		"preempted": func(b *bench, attempt string) {
			b.exec(`UPDATE allocations SET preempt_at = now(), preempt_reason = 'its slots are needed' WHERE id = $1`, attempt)
			b.leave(attempt, 5)
		},
		"lost with its node": func(b *bench, attempt string) {
			b.nomad.turn(attempt, func(f *cluster.TaskFact) { f.Status = "lost" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "n1")
			first := b.submit(oneTrial)
			attempt := b.start(first, 0)
			var others []int
			for b.settle(); ; b.settle() { // until the cluster is full
				e := b.submit(oneTrial)
				b.settle()
				others = append(others, e)
				if b.text(`SELECT a.state FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1`, e) == "PENDING" {
					break
				}
			}
			waiting := others[len(others)-1]
			end(b, attempt)
			b.settle()
			// The place that became free is the trial's own again.
			if got := b.text(`SELECT state FROM allocations WHERE id = $1`, b.newest(first)); got == "PENDING" {
				t.Errorf("the trial waits behind one that was submitted later; its attempts: %s",
					b.text(`SELECT string_agg(id || ' ' || state || ' ' || queued_at, ', ' ORDER BY queued_at) FROM allocations`))
			}
			if got := b.text(`SELECT state FROM allocations WHERE id = $1`, b.newest(waiting)); got != "PENDING" {
				t.Errorf("the later one is %s", got)
			}
		})
	}
}
