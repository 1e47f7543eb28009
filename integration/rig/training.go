package rig

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

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/v1"
)

// CheckpointEvery is after how many steps the training of the faults saves its state.
const CheckpointEvery = 5

// A Training is one that goes on until it is told to end, and of which
// testdata/faults/train.py keeps an account outside of the cluster.
type Training struct {
	*Rig
	Experiment int
	TrialID    int
	TaskID     string
	record     string // folder of its account
}

// TrainOptions vary the training.
type TrainOptions struct {
	Python   string  // the interpreter; python3 with this project's package when empty
	Pause    float64 // seconds between steps
	Noise    int     // length of one more line of output per step; none when 0
	Stubborn bool    // it heeds no refusal and no signal
	More     string  // more configuration
	Folder   string  // in which it keeps its account; beside the cluster when empty
}

// Train submits a training and waits until it has made its first steps.
func (r *Rig) Train(t testing.TB, o TrainOptions) *Training {
	t.Helper()
	k := r.SubmitTraining(t, o)
	k.Follow(t)
	return k
}

// SubmitTraining submits one without waiting for anything.
func (r *Rig) SubmitTraining(t testing.TB, o TrainOptions) *Training {
	t.Helper()
	// Below the cluster's folder, which is kept when a test fails; open, as the
	// task may run under another account.
	record, err := os.MkdirTemp(cmp.Or(o.Folder, filepath.Dir(r.Cluster.StateDir())), "record-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(record, 0o777); err != nil {
		t.Fatal(err)
	}
	if o.Pause == 0 {
		o.Pause = 0.05
	}
	entry := "python3 train.py"
	if o.Python != "" {
		entry = o.Python + " train.py"
		o.More += "environment: {environment_variables: [DET_USE_INSTALLED_HARNESS=1]}\n"
	}
	code, err := os.ReadFile(filepath.Join("..", "rig", "testdata", "faults", "train.py"))
	if err != nil {
		t.Fatal(err)
	}
	k := &Training{Rig: r, record: record}
	k.Experiment = r.Submit(t, fmt.Sprintf(`
name: %s
entrypoint: %s
searcher: {name: single, metric: loss, max_length: {batches: 1000000}}
max_restarts: 0
checkpoint_storage: {save_trial_latest: 1000000} # all are counted
hyperparameters: {record: %s, pause: %g, every: %d, noise: %d, stubborn: %t}
%s`, strings.ReplaceAll(t.Name(), "/", " "), entry, record, o.Pause, CheckpointEvery, o.Noise, o.Stubborn, o.More), Script(string(code)))
	t.Cleanup(func() { // whatever happens, it does not train on
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Patience)
		defer cancel()
		if err := errors.Join(k.AskToEnd(), k.Client.KillExperiment(ctx, k.Experiment)); err != nil && t.Failed() {
			t.Logf("ending experiment %d: %v", k.Experiment, err)
		}
	})
	return k
}

// Follow waits until a submitted training makes steps.
func (k *Training) Follow(t testing.TB) {
	t.Helper()
	trial := k.Trial(t, k.Experiment)
	k.TrialID, k.TaskID = trial.ID, trial.TaskID
	k.Advance(t, 3)
}

// Lines are those of one file of the account, split into words.
func (k *Training) Lines(t testing.TB, name string) [][]string {
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

// Steps is how many steps were reported, those of all runs together.
func (k *Training) Steps(t testing.TB) int { return len(k.Lines(t, "steps")) }

// Advance waits until the training has made n more steps.
func (k *Training) Advance(t testing.TB, n int) {
	t.Helper()
	from := k.Steps(t)
	Eventually(t, fmt.Sprintf("experiment %d makes %d more steps", k.Experiment, n), func() (bool, error) {
		if at := k.Steps(t); at < from+n {
			return false, fmt.Errorf("it has made %d; attempts: %s", at-from, k.Attempts(t))
		}
		return true, nil
	})
}

// A Process is one that the training ran as.
type Process struct {
	Run  int
	name string
	At   float64 // on the machine's monotonic clock, in seconds
}

// Starts are the processes that were started.
func (k *Training) Starts(t testing.TB) []Process {
	t.Helper()
	var out []Process
	for _, words := range k.Lines(t, "starts") {
		s := Process{Run: Number(t, words[0]), name: words[1]}
		var err error
		if s.At, err = strconv.ParseFloat(words[2], 64); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// LastBeat is when a process of the training was last seen alive.
func (k *Training) LastBeat(t testing.TB, p Process) float64 {
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

// CheckAlone wants the training to be the one process that was started first, and
// that to be alive.
func (k *Training) CheckAlone(t testing.TB) {
	t.Helper()
	starts := k.Starts(t)
	if len(starts) != 1 {
		t.Fatalf("experiment %d was started %d times: %+v; attempts: %s", k.Experiment, len(starts), starts, k.Attempts(t))
	}
	before := k.LastBeat(t, starts[0])
	Eventually(t, fmt.Sprintf("a sign of life of experiment %d", k.Experiment), func() (bool, error) {
		return k.LastBeat(t, starts[0]) > before, errors.New(k.Attempts(t))
	})
}

// AskToEnd tells the training to end.
func (k *Training) AskToEnd() error {
	return os.WriteFile(filepath.Join(k.record, "stop"), nil, 0o644)
}

// Finish lets the training end and waits until the experiment has.
func (k *Training) Finish(t testing.TB) {
	t.Helper()
	if err := k.AskToEnd(); err != nil {
		t.Fatal(err)
	}
	k.WaitState(t, k.Experiment, v1.ExperimentStateCompleted)
}

// Attempts describes what the cluster knows of the training's attempts.
func (k *Training) Attempts(t testing.TB) string {
	t.Helper()
	type attempt struct {
		ID, State, Outcome, Reason string
	}
	list, err := Query(t, k.Rig, pgx.RowToStructByPos[attempt], `SELECT a.id, a.state, coalesce(a.outcome, ''),
		a.exit_reason || a.waiting_reason || a.submit_error FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1 ORDER BY a.run_id`, k.Experiment)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v", list)
}

// Number reads a number.
func Number(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
