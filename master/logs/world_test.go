package logs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"

	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
)

// A world is a database, with the rows of other rooms that a test of logs needs.
type world struct{ *rowtest.World }

func newWorld(t *testing.T) *world { t.Helper(); return &world{rowtest.New(t)} }

// open opens the same database again, as another master does.
func (w *world) open(conns int32) *database.DB { return w.Open(conns) }

func (w *world) task(n tasks.New) {
	w.T.Helper()
	n.OwnerID, n.WorkspaceID, n.Name, n.Config, n.Pool, n.Priority = 2, 1, "t", []byte(`{}`), "default", 42
	if _, err := tasks.Create(context.Background(), w.DB, n); err != nil {
		w.T.Fatal(err)
	}
}

// continues continues a trial after its end.
func (w *world) continues(trial int) error {
	c := rows.Changes{Reopened: []rows.ReopenedTrial{{ID: trial, TaskID: w.TaskOf(trial), HParams: []byte(`{}`)}}}
	return w.DB.Tx(w.T.Context(), func(tx *database.DB) error { return rows.ApplyChanges(w.T.Context(), tx, &c) })
}

// hook inserts a webhook with triggers, each as TYPE {condition}.
func (w *world) hook(name string, workspace int, mode string, triggers ...string) int {
	w.T.Helper()
	h := webhook.Webhook{Name: name, URL: "https://example.com/" + name, Type: event.Default, Mode: mode}
	if workspace > 0 {
		h.WorkspaceID = &workspace
	}
	for _, text := range triggers {
		kind, condition, _ := strings.Cut(text, " ")
		t := webhook.Trigger{Type: kind}
		if condition != "" {
			if err := json.Unmarshal([]byte(condition), &t.Condition); err != nil {
				w.T.Fatal(err)
			}
		}
		h.Triggers = append(h.Triggers, t)
	}
	id, err := webhook.Insert(w.T.Context(), w.DB, h)
	if err != nil {
		w.T.Fatal(err)
	}
	return id
}

// spread gives all events to their webhooks, as the leader's sender does.
func (w *world) spread() {
	w.T.Helper()
	for {
		n := 0
		err := w.DB.Tx(w.T.Context(), func(tx *database.DB) (err error) {
			n, _, err = webhook.SpreadEvents(w.T.Context(), tx, webhook.Round{Most: 50})
			return err
		})
		if err != nil {
			w.T.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// events lists the events of a webhook that wait, the first first.
func (w *world) events(hook int) []event.Event {
	w.T.Helper()
	w.spread()
	list, err := webhook.Deliveries(w.T.Context(), w.DB, hook, 0, 1000)
	if err != nil {
		w.T.Fatal(err)
	}
	var all []event.Event
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].State != "WAITING" {
			continue
		}
		var e event.Event
		if err := json.Unmarshal(list[i].Event, &e); err != nil {
			w.T.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// hooked inserts an experiment with this section integrations.webhooks.
func (w *world) hooked(section string) int {
	w.T.Helper()
	id := w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET config = config || jsonb_build_object('integrations', jsonb_build_object('webhooks', $2::text::jsonb)) WHERE id = $1`, id, section)
	return id
}

// says stores a line of an attempt, or of none.
func (w *world) says(s *logs.Store, task, attempt, text string) {
	w.T.Helper()
	b := logs.Batch{TaskID: task, Lines: []logs.Line{{At: noon, Rank: -1, Source: "task", Text: text}}}
	if attempt != "" {
		b.Origin = logs.Origin{AllocationID: attempt, AgentID: "node" + strings.TrimPrefix(attempt, task)}
	}
	if _, err := s.Append(w.T.Context(), b); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) say(s *logs.Store, task, shipper string, first int64, texts ...string) {
	w.T.Helper()
	b := logs.Batch{TaskID: task, Origin: logs.Origin{AgentID: "node-7"}, Shipper: shipper, First: first}
	for _, text := range texts {
		b.Lines = append(b.Lines, logs.Line{At: noon, Stdtype: "stdout", Source: "task", Rank: -1, Text: text})
	}
	if _, err := s.Append(context.Background(), b); err != nil {
		w.T.Fatal(err)
	}
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// lines returns numbered lines, a second apart.
func lines(from, n int) []logs.Line {
	list := make([]logs.Line, n)
	for i := range list {
		list[i] = logs.Line{At: noon.Add(time.Duration(from+i) * time.Second), Stdtype: "stdout", Source: "task", Rank: -1, Text: fmt.Sprintf("line %d", from+i)}
	}
	return list
}

// readLogs reads all lines that match a filter.
func readLogs(t *testing.T, s *logs.Store, task string, f logs.Filter) []logs.Record {
	t.Helper()
	r, err := s.Reader(task, f)
	if err != nil {
		t.Fatal(err)
	}
	var all []logs.Record
	if _, err := r.Forward(t.Context(), 1, 0, func(list []logs.Record) error {
		all = append(all, list...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func texts(list []logs.Record) string {
	var out []string
	for _, r := range list {
		out = append(out, r.Text)
	}
	return strings.Join(out, ",")
}

// noise is text that does not compress to less than half.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, uint64(n))) //nolint:gosec // no secret
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}
