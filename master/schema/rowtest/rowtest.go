// Package rowtest has databases with experiments, trials and attempts, for the tests of rooms. A test of a room
// embeds a World and adds what only it needs.
package rowtest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// A World is a database of its own.
type World struct {
	T   testing.TB
	DB  *database.DB
	Bus *database.Bus
	DSN string
}

// New returns a database without experiments.
func New(t testing.TB) *World {
	t.Helper()
	w := &World{T: t, DSN: pgtest.New(t, schema.Hash(), schema.Migrate)}
	w.DB, w.Bus = w.Open(8), database.NewBus(w.DSN, slog.New(slog.DiscardHandler))
	return w
}

// Open opens the database once more, as another master does.
func (w *World) Open(conns int32) *database.DB {
	w.T.Helper()
	pool, err := database.Open(w.T.Context(), w.DSN, database.Options{MaxConns: conns})
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(pool.Close)
	return pool
}

// Exec executes a statement.
func (w *World) Exec(sql string, args ...any) {
	w.T.Helper()
	if err := w.DB.Exec(context.Background(), sql, args...); err != nil {
		w.T.Fatalf("%s: %v", strings.Fields(sql)[0], err)
	}
}

// Int returns the number that a query reads.
func (w *World) Int(sql string, args ...any) int { w.T.Helper(); return Scalar[int](w, sql, args...) }

// Text returns the text that a query reads.
func (w *World) Text(sql string, args ...any) string {
	w.T.Helper()
	return Scalar[string](w, sql, args...)
}

// Scalar returns the one value that a query reads.
func Scalar[T any](w *World, sql string, args ...any) T {
	w.T.Helper()
	v, err := database.Scalar[T](context.Background(), w.DB, sql, args...)
	if err != nil {
		w.T.Fatalf("%s: %v", sql, err)
	}
	return v
}

// LossSearcher is a section searcher.
const LossSearcher = `{"name": "single", "metric": "loss", "smaller_is_better": true}`

// Experiment inserts an experiment with this section searcher.
func (w *World) Experiment(searcher string) int {
	w.T.Helper()
	return w.Int(`INSERT INTO experiments (owner_id, project_id, config, original_config, seed, name, desired, pool, slots_per_trial)
		SELECT u.id, p.id, jsonb_build_object('searcher', $1::text::jsonb), '', 1, 'test', 'active', 'default', 1
		FROM users u, projects p WHERE u.username = 'determined' RETURNING id`, searcher)
}

// Trial inserts a trial with its task, and this newest run.
func (w *World) Trial(experiment, number, run int) int {
	w.T.Helper()
	task := fmt.Sprintf("%d.trial-%d", experiment, number)
	w.Exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots)
		SELECT $2, 'TRIAL', e.job_id, e.owner_id, 1, e.id, 'trial', 'default', 1 FROM experiments e WHERE e.id = $1`, experiment, task)
	return w.Int(`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, run_id)
		VALUES ($1, $2, $3, '{"lr": 0.1}', 7, $4) RETURNING id`, experiment, number, task, run)
}

// TaskOf returns the task of a trial.
func (w *World) TaskOf(trial int) string {
	w.T.Helper()
	return w.Text(`SELECT task_id FROM trials WHERE id = $1`, trial)
}

// Attempt inserts an attempt of a trial with this number of members, in the state ASSIGNED, as
// the newest run.
func (w *World) Attempt(trial, run, members int) string {
	w.T.Helper()
	task := w.TaskOf(trial)
	id := fmt.Sprintf("%s.%d", task, run)
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'lost' WHERE task_id = $1 AND state <> 'TERMINATED'`, task)
	w.Exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state) VALUES ($1, $2, $3, 'default', $4, 42, 'ASSIGNED')`,
		id, task, run, members)
	for rank := range members {
		w.Exec(`INSERT INTO members (allocation_id, rank, node_id, node_name, slot_ids) VALUES ($1, $2, $3, $3, '{0}')`,
			id, rank, fmt.Sprintf("node-%d", rank))
	}
	w.Exec(`UPDATE trials SET run_id = $2 WHERE id = $1`, trial, run)
	return id
}

// Ends ends a trial and its task.
func (w *World) Ends(trial, run int, status string) {
	w.T.Helper()
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', outcome = 'failed', ended_at = now() WHERE task_id = $1 AND state <> 'TERMINATED'`, w.TaskOf(trial))
	w.Exec(`UPDATE trials SET state = 'ERROR', ended_at = now(), run_id = $2 WHERE id = $1`, trial, run)
	w.Exec(`UPDATE tasks SET ended_at = now(), exit_status = $2 WHERE id = $1`, w.TaskOf(trial), status)
}

// Pages is the number of pages of PostgreSQL's memory that a query looks at, those of long values included.
func (w *World) Pages(sql string, args ...any) int {
	w.T.Helper()
	var plan []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := w.DB.QueryRow(w.T.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+sql, args...).Scan(&plan); err != nil {
		w.T.Fatal(err)
	}
	return plan[0].Plan.Hit + plan[0].Plan.Read
}

// Claim returns a valid claim for a member.
func Claim(allocation string, rank int, nonce string) attempts.Claim {
	_, token := auth.NewToken()
	_, session := auth.NewToken()
	return attempts.Claim{AllocationID: allocation, Rank: rank, NomadAllocID: "nomad-" + allocation, FirstOfGroup: true, Nonce: nonce,
		NodeID: fmt.Sprintf("node-%d", rank), Namespace: "default", Pools: []string{"default"},
		Address: "10.0.0.1", Ports: map[string]int{"c10d": 29400}, TokenHash: token, SessionHash: session, SessionLife: time.Hour}
}

// WaitBlocked waits until as many connections to the database wait for others' locks.
func (w *World) WaitBlocked(connections int) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), time.Minute)
	defer cancel()
	for {
		n, err := database.Scalar[int](ctx, w.DB, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`)
		if err != nil {
			w.T.Fatal(err)
		}
		if n >= connections {
			return
		}
	}
}

// Writer returns a writer of reports, as that of another master; add adds validations to searches.
func (w *World) Writer(add func(context.Context, *database.DB, []metrics.Validated) error) *metrics.Writer {
	return metrics.NewWriter(w.DB, w.Bus, 0, metrics.Searches{Add: add, Topic: lifecycle.TopicEvents})
}

// Summarize adds all reports to the summaries. It repeats, because transactions of other tests on
// the same server delay the summarizer.
func (w *World) Summarize() {
	w.T.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if _, err := metrics.Summarize(context.Background(), w.DB); err != nil {
			w.T.Fatal(err)
		}
		done, err := metrics.CaughtUp(context.Background(), w.DB)
		if err != nil {
			w.T.Fatal(err)
		}
		if done {
			return
		}
		_ = sleep.For(context.Background(), 2*time.Millisecond)
	}
	w.T.Fatal("the summaries do not catch up")
}

// Costs runs a query on a connection of its own, after a cheap one of its kind, and returns by how much the memory of its backend grew at
// most, and how many bytes of temporary files it wrote.
func (w *World) Costs(search, cheap func(db *database.DB) error) (memory, temp int) {
	w.T.Helper()
	db := w.Open(1)
	defer db.Close()
	ask := func(sql string) int {
		n, err := database.Scalar[int](w.T.Context(), db, sql)
		if err != nil {
			w.T.Fatal(err)
		}
		return n
	}
	written := func() int {
		if err := db.Exec(w.T.Context(), `SELECT pg_stat_force_next_flush()`); err != nil {
			w.T.Fatal(err)
		}
		return ask(`SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()`)
	}
	if err := cheap(db); err != nil {
		w.T.Fatal(err)
	}
	pid := ask(`SELECT pg_backend_pid()`)
	wrote, had := written(), w.highest(pid)
	if err := search(db); err != nil {
		w.T.Error(err)
	}
	return w.highest(pid) - had, written() - wrote
}

// highest is the most memory that a process has had at once, in bytes.
func (w *World) highest(pid int) int {
	w.T.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		w.T.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				w.T.Fatal(err)
			}
			return kb << 10
		}
	}
	w.T.Fatalf("process %d has no VmHWM", pid)
	return 0
}

// KeepsToScope fails the test unless a list has rows of workspace 1 and of theirs, in the scope of each of them only its own, and none in
// the zero scope.
func KeepsToScope(t *testing.T, name string, theirs int, list func(in auth.Scope) (int, error)) {
	t.Helper()
	count := func(in auth.Scope) int {
		n, err := list(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return n
	}
	all, their, our := count(auth.Everywhere()), count(auth.Scope{Workspaces: []int{theirs}}), count(auth.Scope{Workspaces: []int{1}})
	if their == 0 || our == 0 || their+our != all {
		t.Errorf("%s: %d of ours, %d of theirs, %d in all", name, our, their, all)
	}
	if n := count(auth.Scope{}); n != 0 {
		t.Errorf("%s: %d without a scope", name, n)
	}
}
