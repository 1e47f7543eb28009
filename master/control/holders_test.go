package control

import (
	"strings"
	"testing"
)

// TestWhoHoldsTheSlots: the reason for which an experiment waits names the notebook of the same user that holds slots of the pool,
// and no task of anybody else.
func TestWhoHoldsTheSlots(t *testing.T) {
	for owner, named := range map[string]bool{"determined": true, "admin": false} {
		b := newBench(t, "n1")
		other := b.int(`INSERT INTO workspaces (name, owner_id) VALUES ('hidden', 1) RETURNING id`)
		b.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, pool, slots)
			SELECT 'forgotten-long-ago', 'NOTEBOOK', gen_random_uuid(), u.id, 1, 'x', '{"description": "x"}', 'default', 1 FROM users u WHERE username = $1`, owner)
		b.settle()
		b.claim("forgotten-long-ago.1")
		b.settle()
		e := b.experiment("resources: {slots_per_trial: 2}")
		b.settle()
		why := b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, b.newest(e))
		if strings.HasSuffix(why, "; its owner holds slots there with notebook forgotte (1)") != named || strings.Contains(why, "forgotte") != named {
			t.Errorf("with a notebook of %s it waits because it %s", owner, why)
		}
		b.exec(`UPDATE tasks SET workspace_id = $1 WHERE id = 'forgotten-long-ago'`, other)
		b.settle()
		why = b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, b.newest(e))
		if strings.HasSuffix(why, "; its owner holds slots there with tasks in other workspaces (1)") != named || strings.Contains(why, "forgotte") {
			t.Errorf("with a notebook of %s in another workspace it waits because it %s", owner, why)
		}
	}
}
