package queue_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// twoWorkspaces has a job, a quota, and what another user used, in workspace 1 and in a second workspace.
func twoWorkspaces(t *testing.T) (w *rowtest.World, theirs int) {
	t.Helper()
	w = rowtest.New(t)
	theirs = w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	for _, workspace := range []int{1, theirs} {
		experiment := w.Experiment(rowtest.LossSearcher)
		w.Attempt(w.Trial(experiment, 0, 1), 1, 1)
		w.Exec(`UPDATE tasks SET workspace_id = $2 WHERE experiment_id = $1`, experiment, workspace)
		w.Exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, pool, slots) VALUES ('in ' || $1::int, 'COMMAND', gen_random_uuid(), 1, $1, 'waits', 'default', 1)`, workspace)
		w.Exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state) VALUES ('in ' || $1::int, 'in ' || $1::int, 1, 'default', 1, 42, 'PENDING')`, workspace)
		w.Exec(`INSERT INTO quotas (workspace_id, measure, period, hard) VALUES ($1, 'slots', '', 1)`, workspace)
		w.Exec(`INSERT INTO usage (allocation_id, task_type, owner_id, username, workspace_id, workspace, pool, slots, queued_at, started_at)
			VALUES ('of ' || $1::int, 'COMMAND', $1, 'user ' || $1::int, $1, 'w', 'p', 1, now(), now() - interval '1 minute')`, workspace)
	}
	return w, theirs
}

func lenOf[T any](list []T, err error) (int, error) { return len(list), err }

// TestTheQueueKeepsToItsScope tests that no list returns a row of a workspace outside of its scope, nor any row for the zero scope.
func TestTheQueueKeepsToItsScope(t *testing.T) {
	w, theirs := twoWorkspaces(t)
	ctx, db := t.Context(), w.DB
	for name, list := range map[string]func(in auth.Scope) (int, error){
		"Jobs": func(in auth.Scope) (int, error) { return lenOf(queue.Jobs(ctx, db, in, "")) },
		"Quotas": func(in auth.Scope) (int, error) {
			return lenOf(queue.Quotas(ctx, db, in, 0, queue.QuotaFilter{}, 0, 10))
		},
		"CountQuotas": func(in auth.Scope) (int, error) { return queue.CountQuotas(ctx, db, in, 0, queue.QuotaFilter{}) },
		"Usages": func(in auth.Scope) (int, error) {
			return lenOf(queue.Usages(ctx, db, in, time.Unix(0, 0), time.Now(), 10))
		},
		"UsageSums": func(in auth.Scope) (int, error) {
			list, err := queue.UsageSums(ctx, db, in, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), true)
			list = slices.DeleteFunc(list, func(s queue.UsageSum) bool { return s.Kind != queue.UsageUser })
			return len(list), err
		},
	} {
		rowtest.KeepsToScope(t, name, theirs, list)
	}
}

// TestAQueueIsCountedWhole tests that Job.Ahead does not depend on the caller's scope.
func TestAQueueIsCountedWhole(t *testing.T) {
	w, theirs := twoWorkspaces(t)
	ahead := func(in auth.Scope) map[string]int {
		list, err := queue.Jobs(t.Context(), w.DB, in, "")
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for _, j := range list {
			found[j.ID] = j.Ahead
		}
		return found
	}
	all := ahead(auth.Everywhere())
	for id, n := range ahead(auth.Scope{Workspaces: []int{theirs}}) {
		if all[id] != n {
			t.Errorf("job %s has %d ahead of it, and %d for those who see a part", id, all[id], n)
		}
	}
}

// TestLongNamesInTheQueue: the job queue has the beginning of a long name.
func TestLongNamesInTheQueue(t *testing.T) {
	w := rowtest.New(t)
	id := w.Experiment(rowtest.LossSearcher)
	w.Attempt(w.Trial(id, 1, 1), 1, 1)
	w.Exec(`UPDATE experiments SET name = repeat('ü', 5000) WHERE id = $1`, id)
	jobs, err := queue.Jobs(t.Context(), w.DB, auth.Everywhere(), "")
	if err != nil || len(jobs) != 1 || jobs[0].Name != strings.Repeat("ü", 1000) {
		t.Errorf("the queue has %d jobs, %v", len(jobs), err)
	}
}
