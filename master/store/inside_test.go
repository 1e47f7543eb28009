package store

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// world is a database with experiments and trials, for tests of the functions that tasks use.
type world struct {
	t   testing.TB
	db  *DB
	bus *database.Bus
	dsn string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dsn := pgtest.New(t, SchemaHash(), Migrate)
	return &world{t: t, db: openTest(t, dsn, 8), bus: database.NewBus(dsn, slog.New(slog.DiscardHandler)), dsn: dsn}
}

func openTest(t testing.TB, dsn string, conns int32) *DB {
	t.Helper()
	return openWith(t, dsn, conns, Options{})
}

func openWith(t testing.TB, dsn string, conns int32, opts Options) *DB {
	t.Helper()
	pool, err := database.Open(t.Context(), dsn, database.Options{MaxConns: conns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return New(pool, opts)
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", strings.Fields(sql)[0], err)
	}
}

func (w *world) int(sql string, args ...any) int {
	w.t.Helper()
	n, err := database.Scalar[int](context.Background(), w.db.DB, sql, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (w *world) text(sql string, args ...any) string {
	w.t.Helper()
	s, err := database.Scalar[string](context.Background(), w.db.DB, sql, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return s
}

// experiment inserts an experiment with this searcher.metric.
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
func goodClaim(allocation string, rank int, nonce string) attempts.Claim {
	_, token := auth.NewToken()
	_, session := auth.NewToken()
	return attempts.Claim{AllocationID: allocation, Rank: rank, NomadAllocID: "nomad-" + allocation, FirstOfGroup: true, Nonce: nonce,
		NodeID: fmt.Sprintf("node-%d", rank), Namespace: "default", Pools: []string{"default"},
		Address: "10.0.0.1", Ports: map[string]int{"c10d": 29400}, TokenHash: token, SessionHash: session, SessionLife: time.Hour}
}

// step returns a pointer to a number of steps.
func step(n int) *int { return &n }

// writer returns a writer of reports, as that of another master.
func (w *world) writer() *metrics.Writer {
	return metrics.NewWriter(w.db.DB, w.bus, w.db.limits.Metrics, metrics.Searches{Add: AppendValidations, Topic: TopicEvents})
}

// summarize adds all rows to the summaries. It repeats, because transactions of other tests on
// the same server delay the summarizer.
func (w *world) summarize() {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if _, err := metrics.Summarize(context.Background(), w.db.DB); err != nil {
			w.t.Fatal(err)
		}
		done, err := metrics.CaughtUp(context.Background(), w.db.DB)
		if err != nil {
			w.t.Fatal(err)
		}
		if done {
			return
		}
		_ = sleep.For(context.Background(), 2*time.Millisecond)
	}
	w.t.Fatal("the summaries do not catch up")
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// waitBlocked waits until a connection of the test's database waits for another's lock.
func waitBlocked(t *testing.T, w *world) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		n, err := database.Scalar[int](ctx, w.db.DB, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
	}
}
