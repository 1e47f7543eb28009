package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
	trials "github.com/detent-ml/detent/master/trial"
	"github.com/detent-ml/detent/master/webhook/event"
)

// ends ends a trial and its task.
func (w *world) ends(trial, run int, status string) {
	w.t.Helper()
	w.exec(`UPDATE allocations SET state = 'TERMINATED', outcome = 'failed', ended_at = now() WHERE task_id = $1 AND state <> 'TERMINATED'`, w.taskOf(trial))
	w.exec(`UPDATE trials SET state = 'ERROR', ended_at = now(), run_id = $2 WHERE id = $1`, trial, run)
	w.exec(`UPDATE tasks SET ended_at = now(), exit_status = $2 WHERE id = $1`, w.taskOf(trial), status)
}

// continues continues a trial after its end.
func (w *world) continues(trial int) error {
	c := Changes{Reopened: []ReopenedTrial{{ID: trial, TaskID: w.taskOf(trial), HParams: []byte(`{}`)}}}
	return w.db.Tx(w.t.Context(), func(tx *DB) error { return tx.ApplyChanges(w.t.Context(), &c) })
}

// says stores a line of an attempt, or of none.
func (w *world) says(s *LogStore, task, attempt, text string) {
	w.t.Helper()
	b := LogBatch{TaskID: task, Lines: []LogLine{{At: noon, Rank: -1, Source: "task", Text: text}}}
	if attempt != "" {
		b.Origin = LogOrigin{AllocationID: attempt, AgentID: "node" + strings.TrimPrefix(attempt, task)}
	}
	if _, err := s.Append(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
}

// TestContinuingBeginsAPart: each continuation stores a part, with where its attempts and its lines begin and how the part before it had
// ended, and TaskOrPart shows each of them by its own name.
func TestContinuingBeginsAPart(t *testing.T) {
	w := newWorld(t)
	s := NewLogStore(w.db, w.bus, LogsForever)
	trial := w.trial(w.experiment(lossSearcher), 0, 1)
	task := w.taskOf(trial)
	w.attempt(trial, 1, 1)
	w.attempt(trial, 2, 1)
	if err := w.continues(trial); err == nil {
		t.Error("a trial that has not ended was continued")
	}
	w.ends(trial, 2, "it failed")
	w.says(s, task, "", "one")
	w.says(s, task, "", "two")
	if err := w.continues(trial); err != nil {
		t.Fatal(err)
	}
	w.attempt(trial, 3, 1)
	w.ends(trial, 3, "it failed again")
	if err := w.continues(trial); err != nil {
		t.Fatal(err)
	}
	w.attempt(trial, 4, 1)
	stored := w.text(`SELECT string_agg(format('%s: run %s, line %s, %s', n, first_run, first_line, exit_before), '; ' ORDER BY n) FROM task_parts WHERE task_id = $1`, task)
	if want := "1: run 3, line 3, it failed; 2: run 4, line 3, it failed again"; stored != want {
		t.Errorf("%s, want %s", stored, want)
	}

	var before Task
	for n, want := range []string{"TERMINATED it failed runs 1 to 3", "TERMINATED it failed again runs 3 to 4", "QUEUED  runs 4 to 0"} {
		name := trials.PartID(task, n)
		k, err := w.db.TaskOrPart(t.Context(), name)
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
		list, err := w.db.Attempts(t.Context(), task, k.Part)
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
	if newest := w.text(`SELECT `+newestPartID+` FROM tasks k WHERE k.id = $1`, task); newest != trials.PartID(task, 2) {
		t.Errorf("SQL calls the newest part %s", newest)
	}
	if p, err := w.db.ProxyTask(t.Context(), trials.PartID(task, 1)); err != nil || p.ID != task || p.Newest != trials.PartID(task, 2) {
		t.Errorf("the proxy finds %s, %s: %v", p.ID, p.Newest, err)
	}
	for _, name := range []string{trials.PartID(task, 3), task + "-02", task + "-x"} {
		if k, err := w.db.TaskOrPart(t.Context(), name); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is task %s, part %d: %v", name, k.ID, k.Part.N, err)
		}
		if _, err := w.db.ProxyTask(t.Context(), name); !fault.Is(err, fault.NotFound) {
			t.Errorf("the proxy finds %s: %v", name, err)
		}
	}
	w.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, pool, slots) SELECT $2, 'COMMAND', job_id, owner_id, workspace_id, name, pool, slots
		FROM tasks WHERE id = $1`, task, trials.PartID(task, 1))
	if k, err := w.db.TaskOrPart(t.Context(), trials.PartID(task, 1)); err != nil || k.ID == task || k.Part.N != 0 {
		t.Errorf("a task with the name of a part: %s, %v", k.ID, err)
	}
}

// TestEventsNameThePart: a line that a webhook waits for links to the task that runs.
func TestEventsNameThePart(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, event.Workspace, `TASK_LOG {"regex": "memory"}`)
	trial := w.trial(w.experiment(lossSearcher), 0, 1)
	w.ends(trial, 1, "")
	if err := w.continues(trial); err != nil {
		t.Fatal(err)
	}
	w.says(NewLogStore(w.db, w.bus, LogsForever), w.taskOf(trial), "", "out of memory")
	if got := w.events(hook); len(got) != 1 || got[0].TaskLog.TaskID != trials.PartID(w.taskOf(trial), 1) {
		t.Errorf("%+v", got)
	}
}

// TestLogsOfParts: a reader of a part gets the lines of its attempts, also those that come late, and those without an attempt that came
// between its beginning and the next part's; in both directions, and in its fields. Its log ends with the part.
func TestLogsOfParts(t *testing.T) {
	w := newWorld(t)
	s := NewLogStore(w.db, w.bus, LogsForever)
	trial := w.trial(w.experiment(lossSearcher), 0, 1)
	task := w.taskOf(trial)
	first := w.attempt(trial, 1, 1)
	w.says(s, task, first, "a1")
	w.says(s, task, "", "a2")
	part := func(n int) *int { return &n }
	follow, err := s.Reader(task, LogFilter{Part: part(0)}) // begins before the trial is continued
	if err != nil {
		t.Fatal(err)
	}
	var followed []LogRecord
	more := func(next int64) int64 {
		t.Helper()
		next, err := follow.Forward(t.Context(), next, 0, func(list []LogRecord) error { followed = append(followed, list...); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	next := more(1)
	w.ends(trial, 1, "")
	if err := w.continues(trial); err != nil {
		t.Fatal(err)
	}
	w.says(s, task, "", "b1")
	second := w.attempt(trial, 2, 1)
	w.says(s, task, second, "b2")
	w.says(s, task, first, "a3") // late
	w.says(s, task, ".9", "b3")
	w.ends(trial, 2, "")
	if err := w.continues(trial); err != nil {
		t.Fatal(err)
	}
	third := w.attempt(trial, 3, 1)
	w.says(s, task, third, "c1")
	w.says(s, task, second, "b4") // late
	w.says(s, task, "", "c2")
	if more(next); texts(followed) != "a1,a2,a3" {
		t.Errorf("who followed the first part has %s", texts(followed))
	}
	for n, want := range map[int]string{0: "a1,a2,a3", 1: "b1,b2,b3,b4", 2: "c1,c2"} {
		f := LogFilter{Part: part(n)}
		if got := texts(readLogs(t, s, task, f)); got != want {
			t.Errorf("part %d: %s, want %s", n, got, want)
		}
		r, err := s.Reader(task, f)
		if err != nil {
			t.Fatal(err)
		}
		var back []string
		if _, err := r.Backward(t.Context(), 0, 0, func(list []LogRecord) error { back = append([]string{texts(list)}, back...); return nil }); err != nil || strings.Join(back, ",") != want {
			t.Errorf("part %d from its end: %v, want %s: %v", n, back, want, err)
		}
		fields, err := w.db.LogFields(t.Context(), task, part(n))
		got, wanted := fmt.Sprint(fields.AllocationIDs, fields.AgentIDs), fmt.Sprintf("[.9 %s] [node.%d node.9]", []string{first, second, third}[n], n+1)
		if err != nil || got != wanted { // nobody knows to which part .9 belongs
			t.Errorf("the fields of part %d are %s, want %s: %v", n, got, wanted, err)
		}
	}
	if got := texts(readLogs(t, s, task, LogFilter{})); got != "a1,a2,b1,b2,a3,b3,c1,b4,c2" {
		t.Errorf("the whole log: %s", got)
	}
	if got := texts(readLogs(t, s, task, LogFilter{Part: part(0), AllocationIDs: []string{second}})); got != "" {
		t.Errorf("lines of another part's attempt: %s", got)
	}
	for n, want := range map[int]bool{0: true, 1: true, 2: false} {
		if ended, err := w.db.LogsEnded(t.Context(), task, part(n)); err != nil || ended != want {
			t.Errorf("the log of part %d has ended: %v, want %v: %v", n, ended, want, err)
		}
	}
	w.exec(`UPDATE members SET claimed_at = now(), claimed_by = 'n' WHERE allocation_id = $1`, second) // whose runner may send more
	for n, want := range map[int]bool{0: true, 1: false} {
		if ended, err := w.db.LogsEnded(t.Context(), task, part(n)); err != nil || ended != want {
			t.Errorf("with lines to come, the log of part %d has ended: %v, want %v: %v", n, ended, want, err)
		}
	}
	w.exec(`UPDATE log_tasks SET expired_to = 4, expired_at = now() WHERE task_id = $1`, task)
	for n, want := range map[int]int64{0: 2, 1: 1, 2: 0} {
		r, err := s.Reader(task, LogFilter{Part: part(n)})
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := r.Deleted(t.Context()); err != nil || got != want {
			t.Errorf("of part %d %d lines were deleted, want %d: %v", n, got, want, err)
		}
	}
}
