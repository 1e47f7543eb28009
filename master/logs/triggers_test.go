package logs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
)

// TestLogTriggers: the first line of each task that matches is an event.
func TestLogTriggers(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, event.Workspace, `TASK_LOG {"regex": "CUDA .*memory"}`)
	named := w.hook("b", 0, event.Specific, `TASK_LOG {"regex": "^step 3$"}`)
	id := w.hooked(`{"webhook_name": ["b"]}`)
	first, second := w.Trial(id, 0, 1), w.Trial(id, 1, 1)
	w.task(tasks.New{ID: "cmd", Type: "COMMAND", Slots: 1})
	s, other := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever}), logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	w.say(s, w.TaskOf(first), "x", 0, "step 1", "step 2")
	if n := len(w.events(hook)) + len(w.events(named)); n != 0 {
		t.Fatalf("%d events without a match", n)
	}
	w.say(s, w.TaskOf(first), "x", 2, "step 3", "CUDA out of memory", "CUDA is out of memory")
	w.say(s, w.TaskOf(first), "x", 2, "step 3", "CUDA out of memory", "CUDA is out of memory") // the answer was lost
	w.say(other, w.TaskOf(first), "y", 0, "CUDA: no memory")                                   // through another master
	w.say(other, "cmd", "x", 0, `{"log_policies": [{"pattern": "CUDA .*memory"}]}`, "step 3")
	got := w.events(hook)
	if len(got) != 1 || len(w.events(named)) != 1 {
		t.Fatalf("%+v and %+v", got, w.events(named))
	}
	if e := got[0]; e.Type != event.TaskLog || e.Condition.Regex != "CUDA .*memory" ||
		*e.TaskLog != (event.LogLine{TaskID: w.TaskOf(first), Node: "node-7", Line: "CUDA out of memory", TaskType: "TRIAL", ExperimentID: id, TrialID: first}) {
		t.Errorf("%+v of %+v", e, e.TaskLog)
	}
	w.say(s, w.TaskOf(second), "x", 0, "CUDA out of memory")
	w.say(s, "cmd", "x", 2, "CUDA out of memory")
	if got := w.events(hook); len(got) != 3 || got[2].TaskLog.TaskType != "COMMAND" || got[2].TaskLog.ExperimentID != 0 {
		t.Errorf("after lines of other tasks: %+v", got)
	}
	// A trigger that is created while a task runs.
	late := w.hook("late", 1, event.Workspace, `TASK_LOG {"regex": "late"}`)
	for i := int64(0); len(w.events(late)) == 0; i++ {
		if i > 3000 {
			t.Fatal("no line matches")
		}
		w.say(s, w.TaskOf(first), "z", i, "a late line")
		<-time.After(10 * time.Millisecond)
	}
	if err := webhook.Delete(t.Context(), w.DB, hook); err != nil {
		t.Fatal(err)
	}
	w.say(s, w.TaskOf(w.Trial(id, 2, 1)), "x", 0, "CUDA out of memory") // whose trigger this master still knows
}

// TestSearchingIsBounded: the tasks of one owner share the work that a master does to search their lines, and the log of a task
// says once that not all of its lines are searched. Those of another owner have their own.
func TestSearchingIsBounded(t *testing.T) {
	w := newWorld(t)
	w.hook("a", 1, event.Workspace, `TASK_LOG {"regex": "(x*y?){50}[abc]*[zq]$"}`)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	first, second := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)), w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	owner := func(task string) *logs.Searcher {
		t.Helper()
		of, err := s.SearcherOf(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		return of
	}
	of := owner(first)
	if of != owner(second) || of == s.Searcher(-1) {
		t.Fatal("the work is not counted for each owner")
	}
	costly := strings.Repeat("xy", 1000)
	w.say(s, first, "x", 0, costly)
	if used := logs.MaxSearch - of.Left(); used < 100*2000 || of.Left() <= 0 {
		t.Errorf("a costly line takes %d steps", used)
	}
	later := time.Now().Add(time.Hour) // nothing is added during the test
	of.Set(1000, later)
	for i := range int64(3) {
		w.say(s, second, "x", i, costly, "z")
	}
	said := readLogs(t, s, second, logs.Filter{Sources: []string{"master"}})
	if len(said) != 1 || said[0].Text != logs.NotAllSearched || of.Left() < 0 {
		t.Errorf("the log says %v, and %d steps are left", said, of.Left())
	}
	if fired := w.Int(`SELECT count(*) FROM webhook_fired`); fired != 0 {
		t.Errorf("%d triggers have fired", fired)
	}
	of.Set(0, of.At().Add(-time.Hour))
	of.Refill(of.At().Add(time.Second))
	if of.Left() != logs.SearchRate {
		t.Errorf("after a second there are %d steps", of.Left())
	}
	of.Refill(of.At().Add(time.Hour))
	if of.Left() != logs.MaxSearch {
		t.Errorf("after an hour there are %d steps", of.Left())
	}
	w.say(s, second, "x", 3, "z")
	if fired := w.Int(`SELECT count(*) FROM webhook_fired`); fired != 1 {
		t.Errorf("%d triggers have fired", fired)
	}
}
