package logs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// A world is a database, with the rows of other rooms that a test of logs needs.
type world struct {
	t   *testing.T
	db  *store.DB
	bus *database.Bus
	dsn string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dsn := pgtest.New(t, store.SchemaHash(), store.Migrate)
	pool, err := database.Open(t.Context(), dsn, database.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &world{t: t, db: store.New(pool, store.Options{}), bus: database.NewBus(dsn, slog.New(slog.DiscardHandler)), dsn: dsn}
}

// open opens the same database again, as another master does.
func (w *world) open(conns int32) *database.DB {
	w.t.Helper()
	pool, err := database.Open(w.t.Context(), w.dsn, database.Options{MaxConns: conns})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(pool.Close)
	return pool
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", strings.Fields(sql)[0], err)
	}
}

func (w *world) int(sql string, args ...any) int     { return scalar[int](w, sql, args...) }
func (w *world) text(sql string, args ...any) string { return scalar[string](w, sql, args...) }

func scalar[T any](w *world, sql string, args ...any) T {
	w.t.Helper()
	v, err := database.Scalar[T](context.Background(), w.db.DB, sql, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func (w *world) experiment(searcher string) int {
	w.t.Helper()
	return w.int(`INSERT INTO experiments (owner_id, project_id, config, original_config, seed, name, desired, pool, slots_per_trial)
		SELECT u.id, p.id, jsonb_build_object('searcher', $1::text::jsonb), '', 1, 'test', 'active', 'default', 1
		FROM users u, projects p WHERE u.username = 'determined' RETURNING id`, searcher)
}

const lossSearcher = `{"name": "single", "metric": "loss", "smaller_is_better": true}`

// trial inserts a trial with its task, and this newest run.
func (w *world) trial(experiment, number, run int) int {
	w.t.Helper()
	task := fmt.Sprintf("%d.trial-%d", experiment, number)
	w.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots)
		SELECT $2, 'TRIAL', e.job_id, e.owner_id, 1, e.id, 'trial', 'default', 1 FROM experiments e WHERE e.id = $1`, experiment, task)
	return w.int(`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, run_id)
		VALUES ($1, $2, $3, '{"lr": 0.1}', 7, $4) RETURNING id`, experiment, number, task, run)
}

func (w *world) taskOf(trial int) string {
	return w.text(`SELECT task_id FROM trials WHERE id = $1`, trial)
}

// attempt inserts an attempt of a trial with this number of members, in the state ASSIGNED, as
// the newest run.
func (w *world) attempt(trial, run, members int) string {
	w.t.Helper()
	task := w.taskOf(trial)
	id := fmt.Sprintf("%s.%d", task, run)
	w.exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'lost' WHERE task_id = $1 AND state <> 'TERMINATED'`, task)
	w.exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state) VALUES ($1, $2, $3, 'default', $4, 42, 'ASSIGNED')`,
		id, task, run, members)
	for rank := range members {
		w.exec(`INSERT INTO members (allocation_id, rank, node_id, node_name, slot_ids) VALUES ($1, $2, $3, $3, '{0}')`,
			id, rank, fmt.Sprintf("node-%d", rank))
	}
	w.exec(`UPDATE trials SET run_id = $2 WHERE id = $1`, trial, run)
	return id
}

// claim returns a valid claim for a member.
func goodClaim(allocation string, rank int, nonce string) store.Claim {
	_, token := auth.NewToken()
	_, session := auth.NewToken()
	return store.Claim{AllocationID: allocation, Rank: rank, NomadAllocID: "nomad-" + allocation, FirstOfGroup: true, Nonce: nonce,
		NodeID: fmt.Sprintf("node-%d", rank), Namespace: "default", Pools: []string{"default"},
		Address: "10.0.0.1", Ports: map[string]int{"c10d": 29400}, TokenHash: token, SessionHash: session, SessionLife: time.Hour}
}

func (w *world) task(n store.NewTask) {
	w.t.Helper()
	n.OwnerID, n.WorkspaceID, n.Name, n.Config, n.Pool, n.Priority = 2, 1, "t", []byte(`{}`), "default", 42
	if _, err := w.db.CreateTask(context.Background(), n); err != nil {
		w.t.Fatal(err)
	}
}

// ends ends a trial and its task.
func (w *world) ends(trial, run int, status string) {
	w.t.Helper()
	w.exec(`UPDATE allocations SET state = 'TERMINATED', outcome = 'failed', ended_at = now() WHERE task_id = $1 AND state <> 'TERMINATED'`, w.taskOf(trial))
	w.exec(`UPDATE trials SET state = 'ERROR', ended_at = now(), run_id = $2 WHERE id = $1`, trial, run)
	w.exec(`UPDATE tasks SET ended_at = now(), exit_status = $2 WHERE id = $1`, w.taskOf(trial), status)
}

// continues continues a trial after its end.
func (w *world) continues(trial int) error {
	c := store.Changes{Reopened: []store.ReopenedTrial{{ID: trial, TaskID: w.taskOf(trial), HParams: []byte(`{}`)}}}
	return w.db.Tx(w.t.Context(), func(tx *store.DB) error { return tx.ApplyChanges(w.t.Context(), &c) })
}

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
		err := w.db.Tx(w.t.Context(), func(tx *store.DB) (err error) {
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

// says stores a line of an attempt, or of none.
func (w *world) says(s *logs.Store, task, attempt, text string) {
	w.t.Helper()
	b := logs.Batch{TaskID: task, Lines: []logs.Line{{At: noon, Rank: -1, Source: "task", Text: text}}}
	if attempt != "" {
		b.Origin = logs.Origin{AllocationID: attempt, AgentID: "node" + strings.TrimPrefix(attempt, task)}
	}
	if _, err := s.Append(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) say(s *logs.Store, task, shipper string, first int64, texts ...string) {
	w.t.Helper()
	b := logs.Batch{TaskID: task, Origin: logs.Origin{AgentID: "node-7"}, Shipper: shipper, First: first}
	for _, text := range texts {
		b.Lines = append(b.Lines, logs.Line{At: noon, Stdtype: "stdout", Source: "task", Rank: -1, Text: text})
	}
	if _, err := s.Append(context.Background(), b); err != nil {
		w.t.Fatal(err)
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
