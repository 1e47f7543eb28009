package logs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
	trials "github.com/detent-ml/detent/master/trial"
	"github.com/detent-ml/detent/master/webhook/event"
)

// TestEventsNameThePart: a line that a webhook waits for links to the task that runs.
func TestEventsNameThePart(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, event.Workspace, `TASK_LOG {"regex": "memory"}`)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	w.Ends(trial, 1, "")
	if err := w.continues(trial); err != nil {
		t.Fatal(err)
	}
	w.says(logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever}), w.TaskOf(trial), "", "out of memory")
	if got := w.events(hook); len(got) != 1 || got[0].TaskLog.TaskID != trials.PartID(w.TaskOf(trial), 1) {
		t.Errorf("%+v", got)
	}
}

// TestLogsOfParts: a reader of a part gets the lines of its attempts, also those that come late, and those without an attempt that came
// between its beginning and the next part's; in both directions, and in its fields. Its log ends with the part.
func TestLogsOfParts(t *testing.T) {
	w := newWorld(t)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	task := w.TaskOf(trial)
	first := w.Attempt(trial, 1, 1)
	w.says(s, task, first, "a1")
	w.says(s, task, "", "a2")
	part := func(n int) *int { return &n }
	follow, err := s.Reader(task, logs.Filter{Part: part(0)}) // begins before the trial is continued
	if err != nil {
		t.Fatal(err)
	}
	var followed []logs.Record
	more := func(next int64) int64 {
		t.Helper()
		next, err := follow.Forward(t.Context(), next, 0, func(list []logs.Record) error { followed = append(followed, list...); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	next := more(1)
	w.Ends(trial, 1, "")
	if err := w.continues(trial); err != nil {
		t.Fatal(err)
	}
	w.says(s, task, "", "b1")
	second := w.Attempt(trial, 2, 1)
	w.says(s, task, second, "b2")
	w.says(s, task, first, "a3") // late
	w.says(s, task, ".9", "b3")
	w.Ends(trial, 2, "")
	if err := w.continues(trial); err != nil {
		t.Fatal(err)
	}
	third := w.Attempt(trial, 3, 1)
	w.says(s, task, third, "c1")
	w.says(s, task, second, "b4") // late
	w.says(s, task, "", "c2")
	if more(next); texts(followed) != "a1,a2,a3" {
		t.Errorf("who followed the first part has %s", texts(followed))
	}
	for n, want := range map[int]string{0: "a1,a2,a3", 1: "b1,b2,b3,b4", 2: "c1,c2"} {
		f := logs.Filter{Part: part(n)}
		if got := texts(readLogs(t, s, task, f)); got != want {
			t.Errorf("part %d: %s, want %s", n, got, want)
		}
		r, err := s.Reader(task, f)
		if err != nil {
			t.Fatal(err)
		}
		var back []string
		if _, err := r.Backward(t.Context(), 0, 0, func(list []logs.Record) error { back = append([]string{texts(list)}, back...); return nil }); err != nil || strings.Join(back, ",") != want {
			t.Errorf("part %d from its end: %v, want %s: %v", n, back, want, err)
		}
		fields, err := logs.ReadFields(t.Context(), w.DB, task, part(n))
		got, wanted := fmt.Sprint(fields.AllocationIDs, fields.AgentIDs), fmt.Sprintf("[.9 %s] [node.%d node.9]", []string{first, second, third}[n], n+1)
		if err != nil || got != wanted { // nobody knows to which part .9 belongs
			t.Errorf("the fields of part %d are %s, want %s: %v", n, got, wanted, err)
		}
	}
	if got := texts(readLogs(t, s, task, logs.Filter{})); got != "a1,a2,b1,b2,a3,b3,c1,b4,c2" {
		t.Errorf("the whole log: %s", got)
	}
	if got := texts(readLogs(t, s, task, logs.Filter{Part: part(0), AllocationIDs: []string{second}})); got != "" {
		t.Errorf("lines of another part's attempt: %s", got)
	}
	for n, want := range map[int]bool{0: true, 1: true, 2: false} {
		if ended, err := logs.Ended(t.Context(), w.DB, task, part(n)); err != nil || ended != want {
			t.Errorf("the log of part %d has ended: %v, want %v: %v", n, ended, want, err)
		}
	}
	w.Exec(`UPDATE members SET claimed_at = now(), claimed_by = 'n' WHERE allocation_id = $1`, second) // whose runner may send more
	for n, want := range map[int]bool{0: true, 1: false} {
		if ended, err := logs.Ended(t.Context(), w.DB, task, part(n)); err != nil || ended != want {
			t.Errorf("with lines to come, the log of part %d has ended: %v, want %v: %v", n, ended, want, err)
		}
	}
	w.Exec(`UPDATE log_tasks SET expired_to = 4, expired_at = now() WHERE task_id = $1`, task)
	for n, want := range map[int]int64{0: 2, 1: 1, 2: 0} {
		r, err := s.Reader(task, logs.Filter{Part: part(n)})
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := r.Deleted(t.Context()); err != nil || got != want {
			t.Errorf("of part %d %d lines were deleted, want %d: %v", n, got, want, err)
		}
	}
}
