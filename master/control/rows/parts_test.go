package rows

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
	trials "github.com/detent-ml/detent/master/trial"
)

// TestAContinuedPastGoesOn: a trial of the past of a branch that a continuation reopens begins with the newest checkpoint that its origin had stored by then, not with
// what the origin began with.
func TestAContinuedPastGoesOn(t *testing.T) {
	w := newWorld(t)
	origin := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	past := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0)
	store := func(run, steps int, at string) string {
		return w.Text(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, reported_at) VALUES (gen_random_uuid(), $1, $2, $3, $4, 'COMPLETED', now() + $5::interval) RETURNING uuid::text`,
			w.TaskOf(origin), origin, run, steps, at)
	}
	store(1, 5, "-1 hour")
	newest := store(1, 10, "1 minute") // the clock of its node is fast
	store(2, 20, "1 hour")             // the origin went on
	w.Exec(`UPDATE trials SET origin_id = $2, origin_until = now(), past = true, origin_run = 1, state = 'ERROR', ended_at = now() WHERE id = $1`, past, origin)
	w.Ends(past, 0, "it failed")
	if err := w.continues(past); err != nil {
		t.Fatal(err)
	}
	if got := w.Text(`SELECT coalesce(warm_start::text, '') FROM trials WHERE id = $1`, past); got != newest {
		t.Errorf("it begins with checkpoint %q, not %s", got, newest)
	}
}

// continues continues a trial after its end.
func (w *world) continues(trial int) error {
	c := Changes{Reopened: []ReopenedTrial{{ID: trial, TaskID: w.TaskOf(trial), HParams: []byte(`{}`)}}}
	return w.DB.Tx(w.T.Context(), func(tx *database.DB) error { return ApplyChanges(w.T.Context(), tx, &c) })
}

// TestContinuingBeginsAPart: each continuation stores a part, with where its attempts and its lines begin and how the part before it had
// ended, and TaskOrPart shows each of them by its own name.
func TestContinuingBeginsAPart(t *testing.T) {
	w := newWorld(t)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	task := w.TaskOf(trial)
	w.Attempt(trial, 1, 1)
	w.Attempt(trial, 2, 1)
	if err := w.continues(trial); err == nil {
		t.Error("a trial that has not ended was continued")
	}
	w.Ends(trial, 2, "it failed")
	for _, text := range []string{"one", "two"} {
		if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Lines: []logs.Line{{At: time.Now(), Rank: -1, Source: "task", Text: text}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.continues(trial); err != nil {
		t.Fatal(err)
	}
	w.Attempt(trial, 3, 1)
	w.Ends(trial, 3, "it failed again")
	if err := w.continues(trial); err != nil {
		t.Fatal(err)
	}
	w.Attempt(trial, 4, 1)
	stored := w.Text(`SELECT string_agg(format('%s: run %s, line %s, %s', n, first_run, first_line, exit_before), '; ' ORDER BY n) FROM task_parts WHERE task_id = $1`, task)
	if want := "1: run 3, line 3, it failed; 2: run 4, line 3, it failed again"; stored != want {
		t.Errorf("%s, want %s", stored, want)
	}

	var before tasks.Task
	for n, want := range []string{"TERMINATED it failed runs 1 to 3", "TERMINATED it failed again runs 3 to 4", "QUEUED  runs 4 to 0"} {
		name := trials.PartID(task, n)
		k, err := tasks.GetOrPart(t.Context(), w.DB, name)
		if err != nil {
			t.Fatal(err)
		}
		from := max(k.Part.FromRun, 1)
		if got := fmt.Sprintf("%s %s runs %d to %d", k.Shown, k.ExitStatus, from, k.Part.ToRun); got != want || k.ID != task || k.Called() != name {
			t.Errorf("part %d: %s, task %s called %s; want %s", n, got, k.ID, k.Called(), want)
		}
		if n > 0 && (before.EndedAt == nil || !k.CreatedAt.After(*before.EndedAt)) || (k.EndedAt == nil) != (n == 2) {
			t.Errorf("part %d is from %v to %v, after one that ended at %v", n, k.CreatedAt, k.EndedAt, before.EndedAt)
		}
		list, err := tasks.Attempts(t.Context(), w.DB, task, k.Part)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range list {
			got = append(got, fmt.Sprintf("%s of %d", strings.TrimPrefix(a.ID, task), a.Part))
		}
		if want := []string{".2 of 0 .1 of 0", ".3 of 1", ".4 of 2"}[n]; strings.Join(got, " ") != want {
			t.Errorf("part %d has %v, want %s", n, got, want)
		}
		before = k
	}
	if newest := w.Text(`SELECT `+trials.NewestPartID+` FROM tasks k WHERE k.id = $1`, task); newest != trials.PartID(task, 2) {
		t.Errorf("SQL calls the newest part %s", newest)
	}
	if p, err := w.pages().Task(t.Context(), trials.PartID(task, 1), ""); err != nil || p.ID != task || p.Newest != trials.PartID(task, 2) {
		t.Errorf("the proxy finds %s, %s: %v", p.ID, p.Newest, err)
	}
	for _, name := range []string{trials.PartID(task, 3), task + "-02", task + "-x"} {
		if k, err := tasks.GetOrPart(t.Context(), w.DB, name); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is task %s, part %d: %v", name, k.ID, k.Part.N, err)
		}
		if _, err := w.pages().Task(t.Context(), name, ""); !fault.Is(err, fault.NotFound) {
			t.Errorf("the proxy finds %s: %v", name, err)
		}
	}
	w.Exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, pool, slots) SELECT $2, 'COMMAND', job_id, owner_id, workspace_id, name, pool, slots
		FROM tasks WHERE id = $1`, task, trials.PartID(task, 1))
	if k, err := tasks.GetOrPart(t.Context(), w.DB, trials.PartID(task, 1)); err != nil || k.ID == task || k.Part.N != 0 {
		t.Errorf("a task with the name of a part: %s, %v", k.ID, err)
	}
}
