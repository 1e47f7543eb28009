package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/webhook"
)

// hook inserts a webhook with triggers, each as TYPE {condition}.
func (w *world) hook(name string, workspace int, mode string, triggers ...string) int {
	w.t.Helper()
	h := Webhook{Name: name, URL: "https://example.com/" + name, Type: webhook.Default, Mode: mode}
	if workspace > 0 {
		h.WorkspaceID = &workspace
	}
	for _, text := range triggers {
		kind, condition, _ := strings.Cut(text, " ")
		t := WebhookTrigger{Type: kind}
		if condition != "" {
			if err := json.Unmarshal([]byte(condition), &t.Condition); err != nil {
				w.t.Fatal(err)
			}
		}
		h.Triggers = append(h.Triggers, t)
	}
	id, err := w.db.CreateWebhook(w.t.Context(), h)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

const onCompleted = `EXPERIMENT_STATE_CHANGE {"state": "COMPLETED"}`

// events lists the events of a webhook that wait, the first first.
// spread gives all events to their webhooks, as the leader's sender does.
func (w *world) spread() {
	w.t.Helper()
	for {
		n := 0
		err := w.db.Tx(w.t.Context(), func(tx *DB) (err error) { n, err = tx.SpreadEvents(w.t.Context(), spreadTogether); return err })
		if err != nil {
			w.t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// waitingOf adds deliveries that wait.
func (w *world) waitingOf(hook, n int) {
	w.t.Helper()
	w.exec(`INSERT INTO webhook_deliveries (webhook_id, event_id, event) SELECT $1, gen_random_uuid(), '{}' FROM generate_series(1, $2)`, hook, n)
	if err := w.db.RecountWaiting(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) events(hook int) []webhook.Event {
	w.t.Helper()
	w.spread()
	list, err := w.db.Deliveries(w.t.Context(), hook, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	var all []webhook.Event
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].State != "WAITING" {
			continue
		}
		var e webhook.Event
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

func (w *world) moveTo(id int, saw, state string, then error) error {
	return w.db.Tx(context.Background(), func(tx *DB) error {
		err := tx.ApplyChanges(context.Background(), &Changes{Experiments: []ExperimentChange{{ID: id, Saw: saw, State: state, Ended: state == "COMPLETED"}}})
		return errors.Join(err, then)
	})
}

// TestEventWithItsChange: an event is stored with the change of state, or not at all.
func TestEventWithItsChange(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, webhook.Workspace, onCompleted)
	id := w.experiment(lossSearcher)
	if err := w.moveTo(id, "PAUSED", "COMPLETED", errors.New("the transaction fails")); err == nil {
		t.Fatal("no error")
	}
	if err := w.moveTo(id, "ACTIVE", "COMPLETED", nil); !fault.Is(err, fault.Conflict) {
		t.Fatalf("a stale change: %v", err)
	}
	if list := w.events(hook); len(list) != 0 {
		t.Fatalf("without a change there are %+v", list)
	}
	if err := w.moveTo(id, "PAUSED", "PAUSED", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.moveTo(id, "PAUSED", "COMPLETED", nil); err != nil {
		t.Fatal(err)
	}
	list := w.events(hook)
	if len(list) != 1 {
		t.Fatalf("there are %+v", list)
	}
	e := list[0]
	if e.Type != webhook.StateChange || e.Condition.State != "COMPLETED" || time.Since(time.Unix(e.Timestamp, 0)) > time.Hour ||
		*e.Experiment != (webhook.Experiment{ID: id, State: "COMPLETED", Name: "test", Pool: "default", Slots: 1, Workspace: "Uncategorized", Project: "Uncategorized", Unnamed: true, Duration: e.Experiment.Duration}) {
		t.Errorf("%+v of %+v", e, e.Experiment)
	}
}

// TestWhoReceives: which webhooks receive the event of which experiment, all with the same id.
func TestWhoReceives(t *testing.T) {
	w := newWorld(t)
	theirs := w.int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	hooks := map[string]int{
		"everywhere": w.hook("everywhere", 0, webhook.Workspace, onCompleted, `EXPERIMENT_STATE_CHANGE {"state": "ERROR"}`),
		"ours":       w.hook("ours", 1, webhook.Workspace, onCompleted),
		"theirs":     w.hook("theirs", theirs, webhook.Workspace, onCompleted),
		"named":      w.hook("named", 1, webhook.Specific, onCompleted),
		"asked":      w.hook("asked", 0, webhook.Specific, onCompleted),
		"failures":   w.hook("failures", 1, webhook.Workspace, `EXPERIMENT_STATE_CHANGE {"state": "ERROR"}`),
	}
	for section, want := range map[string]string{
		`null`:                        "everywhere ours",
		`{}`:                          "everywhere ours",
		`{"exclude": true}`:           "",
		`{"exclude": false}`:          "everywhere ours",
		`{"webhook_name": ["named"]}`: "everywhere named ours",
		`{"webhook_name": ["other", "theirs"], "webhook_id": []}`: "everywhere ours",
		fmt.Sprintf(`{"webhook_id": [%d]}`, hooks["asked"]):       "asked everywhere ours",
	} {
		w.exec(`DELETE FROM webhook_deliveries`)
		if err := w.moveTo(w.hooked(section), "PAUSED", "COMPLETED", nil); err != nil {
			t.Fatal(err)
		}
		w.spread()
		got := w.text(`SELECT coalesce(string_agg(w.name, ' ' ORDER BY w.name), '') FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id`)
		if got != want {
			t.Errorf("%s: %q receive it, want %q", section, got, want)
		}
		if n := w.int(`SELECT count(DISTINCT event_id) FROM webhook_deliveries`); n > 1 {
			t.Errorf("%s: the event has %d ids", section, n)
		}
	}
}

// TestEventsOfUnmanagedExperiments: the store itself changes their state.
func TestEventsOfUnmanagedExperiments(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, webhook.Workspace, onCompleted, `EXPERIMENT_STATE_CHANGE {"state": "ACTIVE"}`)
	id := w.experiment(lossSearcher)
	w.exec(`UPDATE experiments SET unmanaged = true WHERE id = $1`, id)
	trial, err := w.db.CreateUnmanagedTrial(t.Context(), NewUnmanagedTrial{ExperimentID: id, HParams: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"", "COMPLETED", "COMPLETED", "ACTIVE"} {
		if err := w.db.ReportUnmanagedTrial(t.Context(), trial, state); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, e := range w.events(hook) {
		got = append(got, e.Condition.State)
	}
	if s := strings.Join(got, " "); s != "ACTIVE COMPLETED ACTIVE" {
		t.Errorf("the events are %q", s)
	}
}

// TestCustomEvents: the webhooks that an experiment names receive its custom events.
func TestCustomEvents(t *testing.T) {
	w := newWorld(t)
	named, other := w.hook("named", 1, webhook.Specific, "CUSTOM"), w.hook("other", 1, webhook.Specific, "CUSTOM")
	id := w.hooked(`{"webhook_name": ["named"]}`)
	trial := w.trial(id, 0, 1)
	fire := func(experiment int, trial *int) int {
		t.Helper()
		n, err := w.db.FireCustom(t.Context(), experiment, trial, webhook.CustomData{Title: "t'", Description: "d", Level: "INFO"})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := fire(w.experiment(lossSearcher), nil); n != 0 {
		t.Errorf("an experiment that names no webhook: %d deliveries", n)
	}
	if n := fire(id, &trial); n != 1 || len(w.events(other)) != 0 {
		t.Errorf("%d deliveries", n)
	}
	if e := w.events(named)[0]; *e.Custom != (webhook.CustomData{Title: "t'", Description: "d", Level: "INFO"}) || *e.Experiment.TrialID != trial || e.Type != webhook.Custom {
		t.Errorf("%+v", e)
	}
	if n := fire(id, nil); n != 1 || w.events(named)[1].Experiment.TrialID != nil {
		t.Errorf("without a trial: %d", n)
	}
	if _, err := w.db.FireCustom(t.Context(), id, nil, webhook.CustomData{Title: "\x00"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a NUL: %v", err)
	}
	w.waitingOf(named, MaxWaiting)
	if _, err := w.db.FireCustom(t.Context(), id, nil, webhook.CustomData{}); !fault.Is(err, fault.TooMany) {
		t.Errorf("an event while the maximum waits: %v", err)
	}
	if n := w.int(`SELECT count(*) FROM webhook_deliveries WHERE webhook_id = $1`, named); n != MaxWaiting+2 {
		t.Errorf("%d deliveries are stored", n)
	}
}

// TestDeletionWhileDelivering: the leader stores results of a webhook that somebody deletes at that
// moment, and neither fails.
func TestDeletionWhileDelivering(t *testing.T) {
	w := newWorld(t)
	for i := range 40 {
		hook := w.hook(fmt.Sprintf("h%d", i), 1, webhook.Workspace, onCompleted)
		w.exec(`INSERT INTO webhook_deliveries (webhook_id, event_id, event) VALUES ($1, gen_random_uuid(), '{}')`, hook)
		id := w.int(`SELECT id FROM webhook_deliveries WHERE webhook_id = $1`, hook)
		recorded := make(chan error, 1)
		go func() {
			recorded <- w.db.Tx(t.Context(), func(tx *DB) error {
				return tx.RecordDelivery(t.Context(), DeliveryResult{ID: int64(id), WebhookID: hook, State: "DELIVERED", Status: 200})
			})
		}()
		if err := w.db.DeleteWebhook(t.Context(), hook); err != nil {
			t.Fatalf("the deletion: %v", err)
		}
		if err := <-recorded; err != nil {
			t.Fatalf("the result: %v", err)
		}
	}
}

// TestDeliveryLog: the number of waiting deliveries is limited, and so is the log of ended ones.
func TestDeliveryLog(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, webhook.Workspace, onCompleted)
	w.waitingOf(hook, MaxWaiting)
	if err := w.moveTo(w.experiment(lossSearcher), "PAUSED", "COMPLETED", nil); err != nil {
		t.Fatal(err)
	}
	w.spread()
	list, err := w.db.Deliveries(t.Context(), hook, 0, 1)
	if err != nil || list[0].State != "DROPPED" || !strings.Contains(list[0].Error, "too many") || list[0].EndedAt == nil {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := w.db.Redeliver(t.Context(), hook, list[0].ID); !fault.Is(err, fault.TooMany) {
		t.Errorf("redelivery while the maximum waits: %v", err)
	}
	w.exec(`UPDATE webhook_deliveries SET state = 'DELIVERED', ended_at = now() WHERE state = 'WAITING' AND id > (SELECT min(id) FROM webhook_deliveries)`)
	w.waitingOf(hook, 0)
	due, err := w.db.DueDeliveries(t.Context(), false, Busy{MaxOfOwner: 10}, 10)
	if err != nil || len(due) != 1 {
		t.Fatalf("%+v, %v", due, err)
	}
	if busy, err := w.db.DueDeliveries(t.Context(), false, Busy{Webhooks: []int{hook}, MaxOfOwner: 10}, 10); err != nil || len(busy) != 0 {
		t.Errorf("due while another delivery is sent: %+v, %v", busy, err)
	}
	if _, err := w.db.Redeliver(t.Context(), hook, due[0].ID); !fault.Is(err, fault.Conflict) {
		t.Errorf("redelivery of a delivery that waits: %v", err)
	}
	retry := DeliveryResult{ID: due[0].ID, WebhookID: hook, State: "WAITING", RetryAfter: time.Hour, Status: 503, Error: "the receiver answered 503"}
	if err := w.db.RecordDelivery(t.Context(), retry); err != nil {
		t.Fatal(err)
	}
	for _, again := range []bool{false, true} {
		if due, err := w.db.DueDeliveries(t.Context(), again, Busy{MaxOfOwner: 10}, 10); err != nil || len(due) != 0 {
			t.Errorf("due before the time of the retry: %+v, %v", due, err)
		}
	}
	retry.State, retry.Status, retry.Error = "DELIVERED", 200, ""
	if err := w.db.RecordDelivery(t.Context(), retry); err != nil {
		t.Fatal(err)
	}
	if n := w.int(`SELECT count(*) FROM webhook_deliveries`); n != keptDeliveries {
		t.Errorf("the log has %d deliveries, want %d", n, keptDeliveries)
	}
	again, err := w.db.Redeliver(t.Context(), hook, list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if both := w.int(`SELECT count(DISTINCT event_id) * 10 + count(*) FROM webhook_deliveries WHERE id IN ($1, $2) AND event->>'event_type' = 'EXPERIMENT_STATE_CHANGE'`, list[0].ID, again); both != 12 {
		t.Errorf("the event and its redelivery: %d, want 12 (one event id, two rows)", both)
	}
	if err := w.db.DeleteWebhook(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	if n := w.int(`SELECT (SELECT count(*) FROM webhook_deliveries) + (SELECT count(*) FROM webhook_triggers)`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// TestTargetsTakeTurns: the webhook that waits the longest is next.
func TestTargetsTakeTurns(t *testing.T) {
	w := newWorld(t)
	var hooks []int
	for i := range 3 {
		hooks = append(hooks, w.hook(fmt.Sprint("h", i), 1, webhook.Workspace, onCompleted))
	}
	for range 2 {
		if err := w.moveTo(w.experiment(lossSearcher), "PAUSED", "COMPLETED", nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for range 6 {
		w.spread()
		due, err := w.db.DueDeliveries(t.Context(), false, Busy{MaxOfOwner: 10}, 1)
		if err != nil || len(due) != 1 {
			t.Fatalf("%+v, %v", due, err)
		}
		got = append(got, due[0].WebhookID)
		if err := w.db.RecordDelivery(t.Context(), DeliveryResult{ID: due[0].ID, WebhookID: due[0].WebhookID, State: "DELIVERED", Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(append(hooks, hooks...)) {
		t.Errorf("the turns are %v of %v", got, hooks)
	}
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
	hook := w.hook("a", 1, webhook.Workspace, `TASK_LOG {"regex": "CUDA .*memory"}`)
	named := w.hook("b", 0, webhook.Specific, `TASK_LOG {"regex": "^step 3$"}`)
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
	if e := got[0]; e.Type != webhook.TaskLog || e.Condition.Regex != "CUDA .*memory" ||
		*e.TaskLog != (webhook.LogLine{TaskID: w.taskOf(first), Node: "node-7", Line: "CUDA out of memory", TaskType: "TRIAL", ExperimentID: id, TrialID: first}) {
		t.Errorf("%+v of %+v", e, e.TaskLog)
	}
	w.say(s, w.taskOf(second), "x", 0, "CUDA out of memory")
	w.say(s, "cmd", "x", 2, "CUDA out of memory")
	if got := w.events(hook); len(got) != 3 || got[2].TaskLog.TaskType != "COMMAND" || got[2].TaskLog.ExperimentID != 0 {
		t.Errorf("after lines of other tasks: %+v", got)
	}
	// A trigger that is created while a task runs.
	late := w.hook("late", 1, webhook.Workspace, `TASK_LOG {"regex": "late"}`)
	for i := int64(0); len(w.events(late)) == 0; i++ {
		if i > 3000 {
			t.Fatal("no line matches")
		}
		w.say(s, w.taskOf(first), "z", i, "a late line")
		<-time.After(10 * time.Millisecond)
	}
	if err := w.db.DeleteWebhook(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	w.say(s, w.taskOf(w.trial(id, 2, 1)), "x", 0, "CUDA out of memory") // whose trigger this master still knows
}

// TestSearchingIsBounded: the tasks of one owner share the work that a master does to search their lines, and the log of a task
// says once that not all of its lines are searched. Those of another owner have their own.
func TestSearchingIsBounded(t *testing.T) {
	w := newWorld(t)
	w.hook("a", 1, webhook.Workspace, `TASK_LOG {"regex": "(x*y?){50}[abc]*[zq]$"}`)
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

// TestThresholds: the first report of each trial over or under a value is an event.
func TestThresholds(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, webhook.Workspace, `METRIC_THRESHOLD_EXCEEDED {"metric": "acc\"uracy", "group": "validation", "above": 0.9}`,
		`METRIC_THRESHOLD_EXCEEDED {"metric": "loss", "group": "training", "below": -1}`)
	id, excluded := w.experiment(lossSearcher), w.hooked(`{"exclude": true}`)
	first, second, third := w.trial(id, 0, 1), w.trial(id, 1, 1), w.trial(excluded, 0, 1)
	m := NewMetricWriter(w.db, w.bus)
	report := func(trial, steps int, group, metrics string) {
		t.Helper()
		if err := m.Report(t.Context(), Report{TrialID: trial, RunID: 1, Steps: step(steps), Group: group, Metrics: raw(metrics)}); err != nil {
			t.Fatal(err)
		}
	}
	report(first, 1, "validation", `{"acc\"uracy": 0.9}`)
	report(first, 2, "training", `{"acc\"uracy": 0.95, "loss": "NaN"}`)
	report(first, 2, "validation", `{"acc\"uracy": 0.91}`)
	report(first, 3, "validation", `{"acc\"uracy": 0.92}`)
	report(third, 1, "validation", `{"acc\"uracy": 0.99}`)
	w.summarize()
	report(first, 4, "validation", `{"acc\"uracy": 0.93}`)
	report(second, 1, "training", `{"loss": -1.5}`)
	report(second, 1, "validation", `{"acc\"uracy": "0.99"}`)
	w.summarize()
	got := w.events(hook)
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	if e := got[0]; e.Type != webhook.Threshold || *e.Metric != (webhook.MetricValue{Name: `acc"uracy`, Group: "validation", Value: 0.91, Steps: 2}) || *e.Experiment.TrialID != first || *e.Condition.Above != 0.9 {
		t.Errorf("%+v of %+v", e, e.Metric)
	}
	if e := got[1]; e.Metric.Value != -1.5 || *e.Experiment.TrialID != second || *e.Condition.Below != -1 {
		t.Errorf("%+v of %+v", e, e.Metric)
	}
}

// TestLimitsOfWebhooks: the number of webhooks is limited, and the number of triggers with which masters
// compare each line.
func TestLimitsOfWebhooks(t *testing.T) {
	w := newWorld(t)
	logs := make([]string, maxSearches)
	for i := range logs {
		logs[i] = `TASK_LOG {"regex": "x"}`
	}
	w.hook("many", 1, webhook.Workspace, logs...)
	ws := 1
	create := func(h Webhook) error {
		h.WorkspaceID, h.URL, h.Type, h.Mode = &ws, "https://example.com", webhook.Default, webhook.Workspace
		_, err := w.db.CreateWebhook(t.Context(), h)
		return err
	}
	if err := create(Webhook{Name: "one more", Triggers: []WebhookTrigger{{Type: webhook.Threshold}}}); !fault.Is(err, fault.TooMany) {
		t.Errorf("one more trigger: %v", err)
	}
	if err := create(Webhook{Name: "many"}); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), `"many"`) {
		t.Errorf("the same name: %v", err)
	}
	for i := 1; i < maxWebhooks; i++ {
		if err := create(Webhook{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := create(Webhook{Name: "over"}); !fault.Is(err, fault.TooMany) {
		t.Errorf("one more webhook: %v", err)
	}
	if list, err := w.db.Webhooks(t.Context(), auth.Everywhere(), 0); err != nil || len(list) != maxWebhooks || len(list[0].Triggers) != maxSearches {
		t.Errorf("%d webhooks, %v", len(list), err)
	}
}
