package logs_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
)

// endedDaysAgo ends the task of a trial.
func (w *world) endedDaysAgo(task string, days int) {
	w.Exec(`UPDATE tasks SET ended_at = now() - make_interval(days => $2) WHERE id = $1`, task, days)
}

// expire deletes all lines of a task that are due, and returns how many those were in how many parts.
func (w *world) expire(days int, task string) (lines int64, parts int) {
	w.T.Helper()
	for done := false; !done; parts++ {
		err := w.DB.Tx(w.T.Context(), func(tx *database.DB) (err error) {
			var n int64
			n, done, err = logs.Expire(w.T.Context(), tx, days, task)
			lines += n
			return err
		})
		if err != nil {
			w.T.Fatal(err)
		}
	}
	return lines, parts
}

func TestLogsExpire(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	configured := w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET config = config || '{"retention_policy": {"log_retention_days": 10}}' WHERE id = $1`, configured)
	plain := w.Experiment(rowtest.LossSearcher)
	w.task(tasks.New{ID: "command", Type: "COMMAND"})
	a, b, c := w.Trial(configured, 0, 1), w.Trial(configured, 1, 1), w.Trial(plain, 0, 1)
	tasks := map[string]string{"configured": w.TaskOf(a), "own": w.TaskOf(b), "plain": w.TaskOf(c), "command": "command"}
	for _, id := range tasks {
		if _, err := s.Append(ctx, logs.Batch{TaskID: id, Lines: lines(0, 5)}); err != nil {
			t.Fatal(err)
		}
	}
	due := func(what string, days int, want ...string) {
		t.Helper()
		list, next, err := logs.Expired(ctx, w.DB, days, 0)
		if err != nil || next != 0 {
			t.Fatal(next, err)
		}
		got := map[string]bool{}
		for _, id := range list {
			got[id] = true
		}
		expected := map[string]bool{}
		for _, name := range want {
			expected[tasks[name]] = true
		}
		if !reflect.DeepEqual(got, expected) {
			t.Errorf("%s: %v, want %v of %v", what, list, want, tasks)
		}
	}
	remaining := func(what string, trial, days, wantDays, want int) {
		t.Helper()
		of, err := logs.TrialRetentions(ctx, w.DB, days, []int{trial})
		if r := of[trial]; err != nil || r.Days != wantDays || r.Remaining != want {
			t.Errorf("%s: %+v %v, want %d and %d", what, r, err, wantDays, want)
		}
	}
	due("nothing has ended", 0)
	remaining("while it runs", a, logs.Forever, 10, 10)
	for _, id := range tasks {
		w.endedDaysAgo(id, 12)
	}
	due("the configuration's ten days", logs.Forever, "configured", "own")
	due("and the cluster's twelve", 12, "configured", "own", "plain", "command")
	due("and the cluster's thirteen", 13, "configured", "own")
	remaining("after its end", a, logs.Forever, 10, 0)
	remaining("without days", c, logs.Forever, logs.Forever, logs.Forever)
	remaining("the cluster's thirteen", c, 13, 13, 1)
	if err := logs.SetTrialRetention(ctx, w.DB, b, logs.Forever); err != nil {
		t.Fatal(err)
	}
	due("a trial for ever", logs.Forever, "configured")
	if err := logs.SetRetention(ctx, w.DB, []int{configured, plain}, 20); err != nil {
		t.Fatal(err)
	}
	due("experiments for 20 days, and all of their trials", 0, "command")
	remaining("with the experiment's", b, 0, 20, 8)
	if n, parts := w.expire(0, tasks["configured"]); n != 0 || parts != 1 {
		t.Errorf("%d lines in %d parts go of a log that is kept", n, parts)
	}
	if err := logs.SetTrialRetention(ctx, w.DB, b, 0); err != nil {
		t.Fatal(err)
	}
	due("a trial without days", logs.Forever, "own")
	if n, parts := w.expire(logs.Forever, tasks["own"]); n != 5 || parts != 1 {
		t.Errorf("%d lines in %d parts", n, parts)
	}
	for name, want := range map[string]int{"own": 0, "configured": 5, "plain": 5, "command": 5} {
		if got := readLogs(t, s, tasks[name], logs.Filter{}); len(got) != want {
			t.Errorf("%s: %d lines are left, want %d", name, len(got), want)
		}
	}
	due("a log that is empty for good", 12, "command")
	if n, parts := w.expire(0, "no such task"); n != 0 || parts != 1 {
		t.Errorf("a task that was deleted: %d lines in %d parts", n, parts)
	}
}

// TestLogsExpireInParts: one transaction deletes a limited number of chunks; lines that arrive
// after a deletion are deleted by the next one.
func TestLogsExpireInParts(t *testing.T) {
	w := newWorld(t)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Lines: lines(0, 1)}); err != nil {
		t.Fatal(err)
	}
	const chunks = 2*logs.ExpiredChunks + 1
	// Kept for ever when the line arrived, and a day now: the rows do not wait for their partition.
	w.Exec(`INSERT INTO log_chunks (class, log_task, origin, first, lines, levels, earliest, latest, body)
		SELECT class, log_task, origin, n, 1, levels, earliest, latest, body FROM log_chunks, generate_series(2, $1::int) n`, chunks)
	w.Exec(`UPDATE log_tasks SET next = $1::int + 1`, chunks)
	w.endedDaysAgo(task, 1)
	if n, parts := w.expire(1, task); n != chunks || parts != 3 {
		t.Errorf("%d lines in %d parts", n, parts)
	}
	again := func(want string) {
		t.Helper()
		list, _, err := logs.Expired(t.Context(), w.DB, 1, 0)
		if got := fmt.Sprint(list); err != nil || got != want {
			t.Errorf("due are %s %v, want %s", got, err, want)
		}
	}
	if n := w.Int(`SELECT count(*) FROM log_chunks`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	again("[" + task + "]") // its runner may still send lines
	if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Lines: lines(0, 3)}); err != nil {
		t.Fatal(err)
	}
	w.endedDaysAgo(task, 3)
	if n, _ := w.expire(1, task); n != 3 {
		t.Errorf("%d late lines", n)
	}
	again("[]")
}
