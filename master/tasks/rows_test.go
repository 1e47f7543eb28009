package tasks_test

import (
	"context"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
)

// world is a database with the rows of tasks.
type world struct{ *rowtest.World }

func newWorld(t *testing.T) *world { t.Helper(); return &world{rowtest.New(t)} }

func (w *world) task(n tasks.New) {
	w.T.Helper()
	n.OwnerID, n.WorkspaceID, n.Name, n.Config, n.Pool, n.Priority = 2, 1, "t", []byte(`{}`), "default", 42
	if _, err := tasks.Create(context.Background(), w.DB, n); err != nil {
		w.T.Fatal(err)
	}
}

// pages are the tasks as the proxy finds them.
func (w *world) pages() tasks.Directory {
	return tasks.Directory{DB: w.DB, Roles: false}
}

// The first reason of a kill counts, and a task that has ended cannot be killed.
func TestKillReasons(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.task(tasks.New{ID: "nb", Type: "NOTEBOOK"})
	for _, reason := range []string{"killed by ada", "killed by bob"} {
		if err := tasks.Kill(ctx, w.DB, "nb", reason); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Text(`SELECT desired || ' ' || kill_reason FROM tasks WHERE id = 'nb'`); got != "kill killed by ada" {
		t.Error(got)
	}
	w.Exec(`UPDATE tasks SET ended_at = now(), desired = 'run' WHERE id = 'nb'`)
	if err := tasks.Kill(ctx, w.DB, "nb", "late"); err != nil {
		t.Fatal(err)
	}
	if got := w.Text(`SELECT desired FROM tasks WHERE id = 'nb'`); got != "run" {
		t.Errorf("a task that has ended is killed: %s", got)
	}
	if err := tasks.Prioritize(ctx, w.DB, "nb", 3); !fault.Is(err, fault.Invalid) {
		t.Errorf("the priority of a task that has ended: %v", err)
	}
}

// TestTasksKeepToTheirScope tests that no list returns a row of a workspace outside of its scope, nor any row for the zero scope.
func TestTasksKeepToTheirScope(t *testing.T) {
	w := newWorld(t)
	ctx, db := t.Context(), w.DB
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	kinds := []string{"COMMAND", "NOTEBOOK", "SHELL", "TENSORBOARD"}
	for _, name := range []string{"ours", "theirs"} {
		w.Attempt(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1), 1, 1)
		for _, kind := range kinds {
			w.task(tasks.New{ID: name + kind, Type: kind, Slots: 1})
		}
	}
	w.Exec(`UPDATE tasks SET workspace_id = $1 WHERE id LIKE 'theirs%' OR experiment_id = (SELECT max(id) FROM experiments)`, theirs)
	w.Exec(`UPDATE experiments SET config = jsonb_set(config, '{environment}', '{"proxy_ports": [{"proxy_port": 8080}]}')`)
	w.Exec(`UPDATE members SET claimed_at = now()`)
	for name, list := range map[string]func(in auth.Scope) (int, error){
		"List": func(in auth.Scope) (sum int, err error) {
			for _, kind := range kinds {
				list, err := tasks.List(ctx, db, in, tasks.Filter{Type: kind})
				if sum += len(list); err != nil {
					return sum, err
				}
			}
			return sum, nil
		},
		"Counts": func(in auth.Scope) (sum int, err error) {
			counts, err := tasks.Counts(ctx, db, in)
			for _, n := range counts {
				sum += n
			}
			return sum, err
		},
		"LiveAttempts": func(in auth.Scope) (int, error) {
			list, err := tasks.LiveAttempts(ctx, db, in)
			return len(list), err
		},
		"LivePorts": func(in auth.Scope) (int, error) {
			list, err := tasks.LivePorts(ctx, db, in)
			return len(list), err
		},
	} {
		rowtest.KeepsToScope(t, name, theirs, list)
	}
}
