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

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// CheckpointEvery is the number of steps between two checkpoints of a Training.
const CheckpointEvery = 5

// A Training is an experiment that runs testdata/faults/train.py. It trains until AskToEnd,
// and records its steps, checkpoints and processes in files outside of the cluster, which
// tests compare with the cluster's data.
type Training struct {
	*Rig
	Experiment int
	TrialID    int
	TaskID     string
	record     string // folder of the record
}

// TrainOptions configure a Training.
type TrainOptions struct {
	Python   string  // the interpreter; "": python3 with this project's package
	Pause    float64 // seconds between steps
	Noise    int     // length of an additional line of output in each step; 0: none
	Stubborn bool    // ignore rejected reports and signals
	More     string  // appended to the configuration
	Folder   string  // folder of the record; "": a folder beside the cluster
}

// Train submits a training and waits for its first steps.
func (r *Rig) Train(t testing.TB, o TrainOptions) *Training {
	t.Helper()
	k := r.SubmitTraining(t, o)
	k.Follow(t)
	return k
}

// SubmitTraining submits a training without waiting.
func (r *Rig) SubmitTraining(t testing.TB, o TrainOptions) *Training {
	t.Helper()
	// Below the cluster's folder, which is kept if a test fails; writable for all, because
	// the task may run under another account.
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
	t.Cleanup(func() { // also if the test fails
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Patience)
		defer cancel()
		if err := errors.Join(k.AskToEnd(), client.Act(ctx, k.Client, v1.KillExperiment, k.Experiment)); err != nil && t.Failed() {
			t.Logf("ending experiment %d: %v", k.Experiment, err)
		}
	})
	return k
}

// Follow waits for the first steps of a submitted training.
func (k *Training) Follow(t testing.TB) {
	t.Helper()
	trial := k.Trial(t, k.Experiment)
	k.TrialID, k.TaskID = trial.ID, trial.TaskID
	k.Advance(t, 3)
}

// Lines reads a file of the record, as lines of words.
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

// Steps returns the number of recorded steps, of all runs together.
func (k *Training) Steps(t testing.TB) int { return len(k.Lines(t, "steps")) }

// Advance waits for n more steps.
func (k *Training) Advance(t testing.TB, n int) {
	t.Helper()
	from := k.Steps(t)
	Eventually(t, fmt.Sprintf("experiment %d makes %d more steps", k.Experiment, n), func() (bool, error) {
		if at := k.Steps(t); at < from+n {
			return false, fmt.Errorf("the training has made %d steps; attempts: %s", at-from, k.Attempts(t))
		}
		return true, nil
	})
}

// A Process is a process of the training, from its record.
type Process struct {
	Run  int
	name string
	At   float64 // on the machine's monotonic clock, in seconds
}

// Starts returns the recorded processes.
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

// LastBeat returns when a process of the training last recorded that it runs.
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

// CheckAlone checks that the training has had only one process, and that this still runs.
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

// AskToEnd makes the training end after its current step.
func (k *Training) AskToEnd() error {
	return os.WriteFile(filepath.Join(k.record, "stop"), nil, 0o644)
}

// Finish ends the training and waits for the end of the experiment.
func (k *Training) Finish(t testing.TB) {
	t.Helper()
	if err := k.AskToEnd(); err != nil {
		t.Fatal(err)
	}
	k.WaitState(t, k.Experiment, v1.ExperimentStateCompleted)
}

// Attempts describes the training's attempts, for messages of tests.
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

// Number parses a number, and fails the test if the text is none.
func Number(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
