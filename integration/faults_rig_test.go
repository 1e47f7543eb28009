package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// checkpointEvery is after how many steps the training of the faults saves its state.
const checkpointEvery = 5

// A training is one that goes on until it is told to end, and of which
// testdata/faults/train.py keeps an account outside of the cluster.
type training struct {
	*rig
	experiment int
	trialID    int
	taskID     string
	record     string // folder of its account
}

// trainOptions vary the training.
type trainOptions struct {
	python   string  // the interpreter; python3 with this project's package when empty
	pause    float64 // seconds between steps
	noise    int     // length of one more line of output per step; none when 0
	stubborn bool    // it heeds no refusal and no signal
	more     string  // more configuration
	folder   string  // in which it keeps its account; beside the cluster when empty
}

// train submits a training and waits until it has made its first steps.
func (r *rig) train(t testing.TB, o trainOptions) *training {
	t.Helper()
	k := r.submitTraining(t, o)
	k.follow(t)
	return k
}

// submitTraining submits one without waiting for anything.
func (r *rig) submitTraining(t testing.TB, o trainOptions) *training {
	t.Helper()
	// Below the cluster's folder, which is kept when a test fails; open, as the
	// task may run under another account.
	record, err := os.MkdirTemp(cmp.Or(o.folder, filepath.Dir(r.Cluster.StateDir())), "record-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(record, 0o777); err != nil {
		t.Fatal(err)
	}
	if o.pause == 0 {
		o.pause = 0.05
	}
	entry := "python3 train.py"
	if o.python != "" {
		entry = o.python + " train.py"
		o.more += "environment: {environment_variables: [DET_USE_INSTALLED_HARNESS=1]}\n"
	}
	code, err := os.ReadFile(filepath.Join("testdata", "faults", "train.py"))
	if err != nil {
		t.Fatal(err)
	}
	k := &training{rig: r, record: record}
	k.experiment = r.submit(t, fmt.Sprintf(`
name: %s
entrypoint: %s
searcher: {name: single, metric: loss, max_length: {batches: 1000000}}
max_restarts: 0
checkpoint_storage: {save_trial_latest: 1000000} # all are counted
hyperparameters: {record: %s, pause: %g, every: %d, noise: %d, stubborn: %t}
%s`, strings.ReplaceAll(t.Name(), "/", " "), entry, record, o.pause, checkpointEvery, o.noise, o.stubborn, o.more), script(string(code)))
	t.Cleanup(func() { // whatever happens, it does not train on
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := errors.Join(k.askToEnd(), k.client.KillExperiment(ctx, k.experiment)); err != nil && t.Failed() {
			t.Logf("ending experiment %d: %v", k.experiment, err)
		}
	})
	return k
}

// follow waits until a submitted training makes steps.
func (k *training) follow(t testing.TB) {
	t.Helper()
	trial := k.trial(t, k.experiment)
	k.trialID, k.taskID = trial.ID, trial.TaskID
	k.advance(t, 3)
}

// lines are those of one file of the account, split into words.
func (k *training) lines(t testing.TB, name string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(k.record, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var out [][]string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); strings.HasSuffix(line, "\n") {
			out = append(out, words)
		}
	}
	return out
}

// steps is how many steps were reported, those of all runs together.
func (k *training) steps(t testing.TB) int { return len(k.lines(t, "steps")) }

// advance waits until the training has made n more steps.
func (k *training) advance(t testing.TB, n int) {
	t.Helper()
	from := k.steps(t)
	eventually(t, fmt.Sprintf("experiment %d makes %d more steps", k.experiment, n), func() (bool, error) {
		if at := k.steps(t); at < from+n {
			return false, fmt.Errorf("it has made %d; attempts: %s", at-from, k.attempts(t))
		}
		return true, nil
	})
}

// A process is one that the training ran as.
type process struct {
	run  int
	name string
	at   float64 // on the machine's monotonic clock, in seconds
}

// starts are the processes that were started.
func (k *training) starts(t testing.TB) []process {
	t.Helper()
	var out []process
	for _, words := range k.lines(t, "starts") {
		s := process{run: number(t, words[0]), name: words[1]}
		var err error
		if s.at, err = strconv.ParseFloat(words[2], 64); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// lastBeat is when a process of the training was last seen alive.
func (k *training) lastBeat(t testing.TB, p process) float64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(k.record, "beat-"+p.name))
	if err != nil {
		t.Fatal(err)
	}
	at, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// checkAlone wants the training to be the one process that was started first, and
// that to be alive.
func (k *training) checkAlone(t testing.TB) {
	t.Helper()
	starts := k.starts(t)
	if len(starts) != 1 {
		t.Fatalf("experiment %d was started %d times: %+v; attempts: %s", k.experiment, len(starts), starts, k.attempts(t))
	}
	before := k.lastBeat(t, starts[0])
	eventually(t, fmt.Sprintf("a sign of life of experiment %d", k.experiment), func() (bool, error) {
		return k.lastBeat(t, starts[0]) > before, errors.New(k.attempts(t))
	})
}

func (k *training) askToEnd() error {
	return os.WriteFile(filepath.Join(k.record, "stop"), nil, 0o644)
}

// finish lets the training end and waits until the experiment has.
func (k *training) finish(t testing.TB) {
	t.Helper()
	if err := k.askToEnd(); err != nil {
		t.Fatal(err)
	}
	k.waitState(t, k.experiment, v1.ExperimentStateCompleted)
}

// attempts describes what the cluster knows of the training's attempts.
func (k *training) attempts(t testing.TB) string {
	t.Helper()
	type attempt struct {
		ID, State, Outcome, Reason string
	}
	list, err := query(t, k.rig, pgx.RowToStructByPos[attempt], `SELECT a.id, a.state, coalesce(a.outcome, ''),
		a.exit_reason || a.waiting_reason || a.submit_error FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1 ORDER BY a.run_id`, k.experiment)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v", list)
}

// query reads rows from the cluster's database.
func query[T any](t testing.TB, r *rig, row pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	t.Helper()
	return queryAt(t, r.DSN, row, sql, args...)
}

func queryAt[T any](t testing.TB, dsn string, row pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, row)
}

// value reads one value from the cluster's database, which must be up.
func value[T any](t testing.TB, r *rig, sql string, args ...any) T {
	t.Helper()
	list, err := query(t, r, pgx.RowTo[T], sql, args...)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %d rows, %v", sql, len(list), err)
	}
	return list[0]
}

// alter changes the cluster's database, by one statement or several.
func alter(t testing.TB, r *rig, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, r.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// part is one part of the cluster.
func (r *rig) part(t testing.TB, name string) local.Part {
	t.Helper()
	p, err := r.Part(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kill9 ends the processes of a part and says when.
func (r *rig) kill9(t testing.TB, name string) time.Time {
	t.Helper()
	p := r.part(t, name)
	at := time.Now()
	if err := p.Kill9(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return at
}

// startPart starts a part again and waits until it is ready.
func (r *rig) startPart(t testing.TB, name string) {
	t.Helper()
	// Also when the test has failed meanwhile: others use the cluster.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	p, err := r.Part(name)
	if err == nil {
		err = p.Start(ctx)
	}
	if err != nil {
		t.Errorf("start %s: %v", name, err)
	}
}

// healthy waits until every part is well.
func (r *rig) healthy(t testing.TB) {
	t.Helper()
	eventually(t, "everything is healthy", func() (bool, error) {
		d := r.Describe(t.Context())
		var bad []string
		for _, p := range d.Parts {
			if !p.Healthy {
				bad = append(bad, p.Name+": "+p.Problem)
			}
		}
		return len(bad) == 0, errors.New(strings.Join(bad, "; "))
	})
}

func number(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
