package control

import "testing"

// A notebook normally ends because a user kills it: its exit status names the user or the
// reason, with any exit code of its server.
func TestANotebookSaysWhyItEnded(t *testing.T) {
	for _, c := range []struct {
		name, kind, reason string
		code               int
		kill               bool
		want               string
	}{
		{"ended in order", "NOTEBOOK", "killed by ada", 0, true, "killed by ada"},
		{"had to be killed", "NOTEBOOK", "killed by ada", 143, true, "killed by ada"},
		{"idle", "TENSORBOARD", "ended because it was not used for 5m", 0, true, "ended because it was not used for 5m"},
		{"shut down from within", "NOTEBOOK", "", 0, false, "success"},
		{"could not start", "NOTEBOOK", "", 1, false, "failed: exit code 1"},
		{"of an older master", "SHELL", "", 143, true, "it was killed"},
		{"a command that was done all the same", "COMMAND", "killed by ada", 0, true, "success"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "n1")
			b.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, pool, slots)
				SELECT 'x', $1, gen_random_uuid(), u.id, 1, 'x', '{"description": "x"}', 'default', 0 FROM users u WHERE username = 'determined'`, c.kind)
			b.settle()
			b.claim("x.1")
			b.settle()
			if c.kill {
				b.exec(`UPDATE tasks SET desired = 'kill', kill_reason = $1`, c.reason)
				b.settle()
			}
			b.exit("x.1", c.code)
			b.settle()
			b.settle()
			if s := b.text(`SELECT exit_status FROM tasks WHERE ended_at IS NOT NULL`); s != c.want {
				t.Errorf("the task's exit status is %q, want %q", s, c.want)
			}
			if n := b.int(`SELECT count(*) FROM allocations`); n != 1 {
				t.Errorf("%d attempts", n)
			}
		})
	}
}

// A task that is killed in the queue ends without an attempt that runs.
func TestAWaitingShellIsKilled(t *testing.T) {
	b := newBench(t) // without nodes
	b.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, pool, slots)
		SELECT 'x', 'SHELL', gen_random_uuid(), u.id, 1, 'x', '{"description": "x"}', 'default', 0 FROM users u WHERE username = 'determined'`)
	b.settle()
	b.exec(`UPDATE tasks SET desired = 'kill', kill_reason = 'killed by ada'`)
	b.settle()
	if s := b.text(`SELECT exit_status FROM tasks WHERE ended_at IS NOT NULL`); s != "killed by ada" {
		t.Errorf("the task's exit status is %q", s)
	}
}
