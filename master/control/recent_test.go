package control

import (
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// TestFairShareRemembers: of two users, who used less in the last days starts first in a pool with a half-life, although the other asked earlier; and a new
// leader, which counts anew, decides alike.
func TestFairShareRemembers(t *testing.T) {
	for _, life := range []time.Duration{0, 7 * 24 * time.Hour} {
		b := newBench(t, "n1")
		b.term.cfg.Pools[0].Scheduler = pool.Scheduler{Type: pool.FairShare, HalfLife: life}
		b.exec(`INSERT INTO usage (allocation_id, task_type, owner_id, username, workspace_id, workspace, pool, slots, queued_at, started_at, ended_at)
			SELECT 'earlier', 'TRIAL', u.id, 'determined', p.workspace_id, 'old name', 'default', 2, now() - interval '3 days', now() - interval '3 days', now() - interval '1 day'
			FROM users u, projects p WHERE u.username = 'determined'`)
		const whole = "resources: {slots_per_trial: 2}"
		first := b.experiment(whole)
		b.exec(`UPDATE experiments SET owner_id = (SELECT id FROM users WHERE username = 'admin') WHERE id = $1`, first)
		b.settle() // it runs: nobody else waits
		second := b.experiment(whole)
		b.settle()
		third := b.experiment(whole)
		eve := b.int(`INSERT INTO users (username) VALUES ('eve') RETURNING id`)
		b.exec(`UPDATE experiments SET owner_id = $2 WHERE id = $1`, third, eve)
		again, err := newTerm(t.Context(), b.term.Loop, b.term.lead) // as a new leader begins
		if err != nil {
			t.Fatal(err)
		}
		b.term = again
		b.settle()
		if why := b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, b.newest(second)); strings.Contains(why, "slot-hours lately") != (life > 0) {
			t.Errorf("half-life %v: %s", life, why)
		}
		id := b.newest(first)
		b.claim(id)
		b.exit(id, 0)
		b.settle()
		starts := second
		if life > 0 {
			starts = third
		}
		if state := b.text(`SELECT state FROM allocations WHERE id = $1`, b.newest(starts)); state == "PENDING" {
			t.Errorf("half-life %v: experiment %d of 1 to 3 waits: %s", life, starts, b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, b.newest(starts)))
		}
	}
}
