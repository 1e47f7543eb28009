package tasks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
)

// A user has a limited number of tasks that have not ended, and of what the control loop reads of them.
func TestLiveTasksOfAUserAreLimited(t *testing.T) {
	w := newWorld(t)
	create := func(id string, owner int, kind, config string) error {
		_, err := tasks.Create(t.Context(), w.DB, tasks.New{ID: id, Type: kind, OwnerID: owner, WorkspaceID: 1, Name: id, Config: []byte(config), Pool: "default", Priority: 42})
		return err
	}
	w.Exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, pool, slots, priority)
		SELECT 'many' || n, 'COMMAND', gen_random_uuid(), 2, 1, 'many', '{}', 'default', 1, 42 FROM generate_series(2, $1) n`, tasks.MaxLiveTasks)
	w.Trial(w.Experiment(rowtest.LossSearcher), 1, 1) // trials do not count
	if err := create("last", 2, "SHELL", `{}`); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"COMMAND", "NOTEBOOK", "SHELL", "TENSORBOARD", "GENERIC"} {
		if err := create("over", 2, kind, `{}`); !fault.Is(err, fault.TooMany) || !strings.Contains(err.Error(), "5000") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if n := w.Int(`SELECT count(*) FROM tasks WHERE id = 'over'`); n != 0 {
		t.Error("a task over the limit is stored")
	}
	if err := create("other", 1, "COMMAND", `{}`); err != nil {
		t.Errorf("another user: %v", err)
	}
	w.Exec(`UPDATE tasks SET ended_at = now() WHERE id = 'many2'`)
	if err := create("next", 2, "COMMAND", `{}`); err != nil {
		t.Errorf("after the end of a task: %v", err)
	}

	w.Exec(`UPDATE tasks SET ended_at = now() WHERE id LIKE 'many%'`)
	long := `{"environment": {"nomad": {"constraints": ["` + strings.Repeat("x", 1<<20) + `"]}}}`
	for i := range 7 {
		if err := create(fmt.Sprint("long", i), 2, "COMMAND", long); err != nil {
			t.Fatal(err)
		}
	}
	if err := create("longer", 2, "COMMAND", long); !fault.Is(err, fault.TooMany) || !strings.Contains(err.Error(), "environment.nomad") {
		t.Errorf("too much of environment.nomad: %v", err)
	}
	for id, config := range map[string]string{"short": `{"environment": {"nomad": {"constraints": []}}}`, "none": `{"environment": {"nomad": null}}`} {
		if err := create(id, 2, "COMMAND", config); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// Requests at the same time count each other's tasks.
func TestLiveTasksAtTheSameTime(t *testing.T) {
	w := newWorld(t)
	w.Exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, pool, slots, priority)
		SELECT 'many' || n, 'COMMAND', gen_random_uuid(), 2, 1, 'many', '{}', 'default', 1, 42 FROM generate_series(3, $1) n`, tasks.MaxLiveTasks)
	results := make(chan error)
	for i := range 8 {
		go func() {
			_, err := tasks.Create(t.Context(), w.DB, tasks.New{ID: fmt.Sprint("new", i), Type: "COMMAND", OwnerID: 2, WorkspaceID: 1, Name: "x", Config: []byte(`{}`), Pool: "default", Priority: 42})
			results <- err
		}()
	}
	stored := 0
	for range 8 {
		switch err := <-results; {
		case err == nil:
			stored++
		case !fault.Is(err, fault.TooMany):
			t.Error(err)
		}
	}
	if stored != 2 {
		t.Errorf("%d tasks were stored, want 2", stored)
	}
}
