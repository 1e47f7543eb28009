package control

import (
	"testing"

	"github.com/detent-ml/detent/master/experiments"
)

// TestAWorkspaceGoesWithEverything: experiments that run and that have ended, and tasks that run.
func TestAWorkspaceGoesWithEverything(t *testing.T) {
	b := newBench(t, "n1")
	ended, runs := b.trained(), b.experiment(keeping)
	b.settle()
	attempt := b.newest(runs)
	b.claim(attempt)
	b.exec(`INSERT INTO workspaces (name, owner_id) SELECT 'team', id FROM users WHERE username = 'admin'`)
	b.exec(`INSERT INTO projects (workspace_id, name, key, owner_id) SELECT w.id, 'p', 'P', w.owner_id FROM workspaces w WHERE name = 'team'`)
	b.exec(`UPDATE experiments SET project_id = (SELECT id FROM projects WHERE key = 'P')`)
	b.exec(`UPDATE tasks SET workspace_id = (SELECT id FROM workspaces WHERE name = 'team')`)
	team := b.int(`SELECT id FROM workspaces WHERE name = 'team'`)
	further := func() {
		t.Helper()
		if err := experiments.CarryOutDeletions(t.Context(), b.db); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			b.settle()
		}
	}
	if done, err := experiments.DeleteWorkspace(t.Context(), b.db, team); err != nil || done {
		t.Fatal(done, err)
	}
	further()
	b.says("what runs", b.text(`SELECT desired FROM experiments WHERE id = $1`, runs), "killed")
	b.exit(attempt, 143)
	for range 3 {
		further()
		for _, e := range []int{ended, runs} {
			if b.int(`SELECT count(*) FROM tasks k JOIN collections c ON c.task_id = k.id WHERE c.experiment_id = $1 AND k.ended_at IS NULL`, e) > 0 {
				task, _ := b.gcTask(e)
				b.collects(task, 1, "")
			}
		}
	}
	further()
	b.says("what is left", b.text(`SELECT (SELECT count(*) FROM experiments) || ' ' || (SELECT count(*) FROM projects WHERE key = 'P') || ' ' || (SELECT count(*) FROM workspaces WHERE name = 'team')`), "0 0 0")
}
