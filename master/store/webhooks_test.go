package store

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
)

// hook inserts a webhook with triggers, each as TYPE {condition}.
func (w *world) hook(name string, workspace int, mode string, triggers ...string) int {
	w.t.Helper()
	h := webhook.Webhook{Name: name, URL: "https://example.com/" + name, Type: event.Default, Mode: mode}
	if workspace > 0 {
		h.WorkspaceID = &workspace
	}
	for _, text := range triggers {
		kind, condition, _ := strings.Cut(text, " ")
		t := webhook.Trigger{Type: kind}
		if condition != "" {
			if err := json.Unmarshal([]byte(condition), &t.Condition); err != nil {
				w.t.Fatal(err)
			}
		}
		h.Triggers = append(h.Triggers, t)
	}
	id, err := webhook.Insert(w.t.Context(), w.db.DB, h)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// spread gives all events to their webhooks, as the leader's sender does.
func (w *world) spread() {
	w.t.Helper()
	for {
		n := 0
		err := w.db.Tx(w.t.Context(), func(tx *DB) (err error) {
			n, _, err = webhook.SpreadEvents(w.t.Context(), tx.DB, webhook.Round{Most: 50})
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// events lists the events of a webhook that wait, the first first.
func (w *world) events(hook int) []event.Event {
	w.t.Helper()
	w.spread()
	list, err := webhook.Deliveries(w.t.Context(), w.db.DB, hook, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	var all []event.Event
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].State != "WAITING" {
			continue
		}
		var e event.Event
		if err := json.Unmarshal(list[i].Event, &e); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// hooked inserts an experiment with this section integrations.webhooks.
func (w *world) hooked(section string) int {
	w.t.Helper()
	id := w.experiment(lossSearcher)
	w.exec(`UPDATE experiments SET config = config || jsonb_build_object('integrations', jsonb_build_object('webhooks', $2::text::jsonb)) WHERE id = $1`, id, section)
	return id
}

func (w *world) say(s *LogStore, task, shipper string, first int64, texts ...string) {
	w.t.Helper()
	b := LogBatch{TaskID: task, Origin: LogOrigin{AgentID: "node-7"}, Shipper: shipper, First: first}
	for _, text := range texts {
		b.Lines = append(b.Lines, LogLine{At: noon, Stdtype: "stdout", Source: "task", Rank: -1, Text: text})
	}
	if _, err := s.Append(context.Background(), b); err != nil {
		w.t.Fatal(err)
	}
}

// TestLogTriggers: the first line of each task that matches is an event.
func TestLogTriggers(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, event.Workspace, `TASK_LOG {"regex": "CUDA .*memory"}`)
	named := w.hook("b", 0, event.Specific, `TASK_LOG {"regex": "^step 3$"}`)
	id := w.hooked(`{"webhook_name": ["b"]}`)
	first, second := w.trial(id, 0, 1), w.trial(id, 1, 1)
	w.task(NewTask{ID: "cmd", Type: "COMMAND", Slots: 1})
	s, other := NewLogStore(w.db, w.bus, LogsForever), NewLogStore(w.db, w.bus, LogsForever)
	w.say(s, w.taskOf(first), "x", 0, "step 1", "step 2")
	if n := len(w.events(hook)) + len(w.events(named)); n != 0 {
		t.Fatalf("%d events without a match", n)
	}
	w.say(s, w.taskOf(first), "x", 2, "step 3", "CUDA out of memory", "CUDA is out of memory")
	w.say(s, w.taskOf(first), "x", 2, "step 3", "CUDA out of memory", "CUDA is out of memory") // the answer was lost
	w.say(other, w.taskOf(first), "y", 0, "CUDA: no memory")                                   // through another master
	w.say(other, "cmd", "x", 0, `{"log_policies": [{"pattern": "CUDA .*memory"}]}`, "step 3")
	got := w.events(hook)
	if len(got) != 1 || len(w.events(named)) != 1 {
		t.Fatalf("%+v and %+v", got, w.events(named))
	}
	if e := got[0]; e.Type != event.TaskLog || e.Condition.Regex != "CUDA .*memory" ||
		*e.TaskLog != (event.LogLine{TaskID: w.taskOf(first), Node: "node-7", Line: "CUDA out of memory", TaskType: "TRIAL", ExperimentID: id, TrialID: first}) {
		t.Errorf("%+v of %+v", e, e.TaskLog)
	}
	w.say(s, w.taskOf(second), "x", 0, "CUDA out of memory")
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
		w.say(s, w.taskOf(first), "z", i, "a late line")
		<-time.After(10 * time.Millisecond)
	}
	if err := webhook.Delete(t.Context(), w.db.DB, hook); err != nil {
		t.Fatal(err)
	}
	w.say(s, w.taskOf(w.trial(id, 2, 1)), "x", 0, "CUDA out of memory") // whose trigger this master still knows
}

// TestSearchingIsBounded: the tasks of one owner share the work that a master does to search their lines, and the log of a task
// says once that not all of its lines are searched. Those of another owner have their own.
func TestSearchingIsBounded(t *testing.T) {
	w := newWorld(t)
	w.hook("a", 1, event.Workspace, `TASK_LOG {"regex": "(x*y?){50}[abc]*[zq]$"}`)
	s := NewLogStore(w.db, w.bus, LogsForever)
	first, second := w.taskOf(w.trial(w.experiment(lossSearcher), 0, 1)), w.taskOf(w.trial(w.experiment(lossSearcher), 0, 1))
	owner := func(task string) *searcher {
		t.Helper()
		k, err := s.watch.task(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		return k.owner
	}
	of := owner(first)
	if of != owner(second) || of == s.watch.searcher(-1, time.Now()) {
		t.Fatal("the work is not counted for each owner")
	}
	costly := strings.Repeat("xy", 1000)
	w.say(s, first, "x", 0, costly)
	if used := maxSearch - of.left; used < 100*2000 || of.left <= 0 {
		t.Errorf("a costly line takes %d steps", used)
	}
	of.at = time.Now().Add(time.Hour) // nothing is added during the test
	of.left = 1000
	for i := range int64(3) {
		w.say(s, second, "x", i, costly, "z")
	}
	said := readLogs(t, s, second, LogFilter{Sources: []string{"master"}})
	if len(said) != 1 || said[0].Text != notAllSearched || of.left < 0 {
		t.Errorf("the log says %v, and %d steps are left", said, of.left)
	}
	if fired := w.int(`SELECT count(*) FROM webhook_fired`); fired != 0 {
		t.Errorf("%d triggers have fired", fired)
	}
	of.left, of.at = 0, of.at.Add(-time.Hour)
	of.refill(of.at.Add(time.Second))
	if of.left != searchRate {
		t.Errorf("after a second there are %d steps", of.left)
	}
	of.refill(of.at.Add(time.Hour))
	if of.left != maxSearch {
		t.Errorf("after an hour there are %d steps", of.left)
	}
	w.say(s, second, "x", 3, "z")
	if fired := w.int(`SELECT count(*) FROM webhook_fired`); fired != 1 {
		t.Errorf("%d triggers have fired", fired)
	}
}
