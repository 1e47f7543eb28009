package tasks_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tasks"
)

func (w *world) generic(id, parent string, noPause bool) {
	w.T.Helper()
	n := &tasks.NewGeneric{NoPause: noPause, Submitted: []byte(`{}`)}
	if parent != "" {
		n.ParentID = &parent
	}
	w.task(tasks.New{ID: id, Type: "GENERIC", Generic: n})
}

// endAttempt ends the newest attempt of a task, as the loop does when the task is paused.
func (w *world) endAttempt(id string) {
	w.T.Helper()
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'killed' WHERE task_id = $1 AND state <> 'TERMINATED'`, id)
}

func (w *world) phases(ids ...string) string {
	w.T.Helper()
	var words []string
	for _, id := range ids {
		k, err := tasks.Get(w.T.Context(), w.DB, id)
		if err != nil {
			w.T.Fatal(err)
		}
		words = append(words, k.Phase)
	}
	return strings.Join(words, " ")
}

func TestATreeOfGenericTasks(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.generic("root", "", false)
	w.generic("child", "root", false)
	w.generic("stays", "root", true)
	w.generic("leaf", "stays", false)
	w.generic("apart", "", false)
	all := []string{"root", "child", "stays", "leaf", "apart"}
	is := func(want string) {
		t.Helper()
		if got := w.phases(all...); got != want {
			t.Errorf("the states of the tasks are %s, want %s", got, want)
		}
	}
	refused := func(err error, words ...string) {
		t.Helper()
		for _, word := range words {
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), word) {
				t.Errorf("%v does not say %q", err, word)
			}
		}
	}
	done := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	is("ACTIVE ACTIVE ACTIVE ACTIVE ACTIVE")
	refused(tasks.PauseTree(ctx, w.DB, "stays", "x"), "cannot pause task stays", "noPause")
	refused(tasks.ResumeTree(ctx, w.DB, "root"), "cannot unpause task root as it is not in paused state")
	done(tasks.PauseTree(ctx, w.DB, "root", "paused by ada"))
	is("STOPPING_PAUSED STOPPING_PAUSED ACTIVE STOPPING_PAUSED ACTIVE")
	refused(tasks.PauseTree(ctx, w.DB, "root", "x"), "cannot pause task root as it is in state 'STOPPING_PAUSED'")
	refused(tasks.ResumeTree(ctx, w.DB, "root"), "not in paused state")
	w.endAttempt("root")
	w.endAttempt("leaf")
	is("PAUSED STOPPING_PAUSED ACTIVE PAUSED ACTIVE")
	done(tasks.ResumeTree(ctx, w.DB, "root"))
	is("ACTIVE ACTIVE ACTIVE ACTIVE ACTIVE")

	if root, err := tasks.RootOf(ctx, w.DB, "leaf"); root != "root" || err != nil {
		t.Errorf("the root is %q, %v", root, err)
	}
	done(tasks.KillTree(ctx, w.DB, "stays", "killed by ada"))
	is("ACTIVE ACTIVE STOPPING_CANCELED STOPPING_CANCELED ACTIVE")
	refused(tasks.KillTree(ctx, w.DB, "stays", "x"), "cannot cancel task stays as it is in state 'STOPPING_CANCELED'")
	w.Exec(`UPDATE tasks SET ended_at = now(), exit_status = CASE id WHEN 'leaf' THEN 'killed by ada' WHEN 'child' THEN 'success' ELSE 'failed: exit code 1' END
		WHERE id IN ('leaf', 'child', 'root')`)
	is("ERROR COMPLETED STOPPING_CANCELED CANCELED ACTIVE")
	refused(tasks.PauseTree(ctx, w.DB, "child", "x"), "in state 'COMPLETED'")
	refused(tasks.KillTree(ctx, w.DB, "child", "x"), "cannot cancel task child as it is in state 'COMPLETED'")
	if err := tasks.PauseTree(ctx, w.DB, "none", "x"); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown task: %v", err)
	}
	if w.Text(`SELECT desired FROM tasks WHERE id = 'apart'`) != "run" {
		t.Error("a task of no tree was killed")
	}
}

// Only generic tasks can be paused, and no task starts below one that was killed, below a
// task of another type, or too deep in a tree.
func TestParentsOfGenericTasks(t *testing.T) {
	w := newWorld(t)
	create := func(id, parent string) error {
		_, err := tasks.Create(t.Context(), w.DB, tasks.New{ID: id, Type: "GENERIC", OwnerID: 2, WorkspaceID: 1, Name: id, Config: []byte(`{}`), Pool: "default", Priority: 42,
			Generic: &tasks.NewGeneric{ParentID: &parent}})
		return err
	}
	w.task(tasks.New{ID: "nb", Type: "NOTEBOOK"})
	for _, parent := range []string{"nb", "none"} {
		if err := create("x", parent); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "no generic task "+parent) {
			t.Errorf("below %s: %v", parent, err)
		}
	}
	if err := w.DB.Exec(t.Context(), `UPDATE tasks SET desired = 'pause' WHERE id = 'nb'`); err == nil {
		t.Error("a notebook is paused")
	}
	w.generic("g0", "", false)
	for n := 1; n < tasks.MaxGenerations; n++ {
		if err := create(fmt.Sprintf("g%d", n), fmt.Sprintf("g%d", n-1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := create("deep", fmt.Sprintf("g%d", tasks.MaxGenerations-1)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "generations") {
		t.Errorf("too deep: %v", err)
	}
	if err := tasks.KillTree(t.Context(), w.DB, "g0", "killed by ada"); err != nil {
		t.Fatal(err)
	}
	if n := w.Int(`SELECT count(*) FROM tasks WHERE desired = 'kill'`); n != tasks.MaxGenerations {
		t.Errorf("%d tasks were killed", n)
	}
	if err := create("late", "g3"); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("below a killed task: %v", err)
	}
}

// A kill of a tree leaves no task behind that starts at the same time.
func TestNoTaskEscapesTheKillOfItsTree(t *testing.T) {
	w := newWorld(t)
	w.generic("root", "", false)
	w.generic("child", "root", false)
	parents := []string{"root", "child"}
	var wait sync.WaitGroup
	started := make(chan struct{}, 100)
	for n := range 24 {
		wait.Go(func() {
			_, _ = tasks.Create(t.Context(), w.DB, tasks.New{ID: fmt.Sprintf("new%d", n), Type: "GENERIC", OwnerID: 2, WorkspaceID: 1, Name: "x", Config: []byte(`{}`),
				Pool: "default", Priority: 42, Generic: &tasks.NewGeneric{ParentID: &parents[n%2]}})
			started <- struct{}{}
		})
	}
	<-started
	if err := tasks.KillTree(t.Context(), w.DB, "root", "killed by ada"); err != nil {
		t.Error(err)
	}
	wait.Wait()
	if n := w.Int(`SELECT count(*) FROM tasks WHERE desired <> 'kill'`); n != 0 {
		t.Errorf("%d of %d tasks were not killed", n, w.Int(`SELECT count(*) FROM tasks`))
	}
}
