package experiments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// TestOptunaProposes runs the example in which Optuna proposes the hyperparameters of an adaptive_asha search. Its program is killed in
// the middle: the experiment then waits without slots and says why, and the program that is started again continues to the end.
func TestOptunaProposes(t *testing.T) {
	r := rig.Start(t)
	folder := filepath.Join(r.Root, "plugins", "harness", "examples", "proposals_optuna")
	out, err := r.Det(t, "experiment", "create", filepath.Join(folder, "search.yaml"), folder, "--config", rig.WithPython(rig.PythonOf(t, "demo")))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := rig.First(t, `Created experiment (\d+)`, out)
	says := func() string {
		e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
		if err != nil {
			t.Fatal(err)
		}
		return e.Experiment.Error
	}
	waits := func(when string) {
		t.Helper()
		rig.Eventually(t, when+", the experiment waits for its program", func() (bool, error) {
			why := says()
			return strings.HasPrefix(why, "waits for proposals"), fmt.Errorf("it says %q", why)
		})
	}
	waits("at first")
	if n := rig.Value[int](t, r, `SELECT count(*) FROM allocations a JOIN trials t ON t.task_id = a.task_id WHERE t.experiment_id = $1`, id); n != 0 {
		t.Errorf("%d attempts without a proposal", n)
	}
	python := filepath.Join(rig.PythonOf(t, "optuna"), "python")
	program := func(ctx context.Context) (*exec.Cmd, *bytes.Buffer) {
		cmd := exec.CommandContext(ctx, python, "with_optuna.py", strconv.Itoa(id), "--seed", "1")
		cmd.Dir = folder
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DET_MASTER=" + r.MasterURL, "DET_USER=determined", "DET_PASS=",
			"PYTHONPATH=" + filepath.Join(r.Root, "plugins", "harness"), "PYTHONDONTWRITEBYTECODE=1"}
		said := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = said, said
		return cmd, said
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	first, said := program(ctx)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, "some trials have ended", func() (bool, error) {
		n := rig.Value[int](t, r, `SELECT count(*) FROM trials WHERE experiment_id = $1 AND ended_at IS NOT NULL`, id)
		return n >= 6, fmt.Errorf("%d trials have ended", n)
	})
	kill()
	var exit *exec.ExitError
	if err := first.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the first program: %v\n%s", err, said)
	}
	waits("after the program was killed")
	before := len(r.Trials(t, id))
	if out, err := r.Det(t, "experiment", "describe", strconv.Itoa(id)); err != nil || !strings.Contains(out, "waits for proposals: a program of yours") {
		t.Errorf("det describes it as\n%s (%v)", out, err)
	}
	second, said := program(t.Context())
	if err := second.Run(); err != nil {
		t.Fatalf("the second program: %v\n%s", err, said)
	}
	rig.Holds(t, "the second program", said.String(), "the best:", ": stopped, loss", ": completed, loss")
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	trials := r.Trials(t, id)
	if before >= 24 || len(trials) != 24 {
		t.Errorf("the search has %d trials, and had %d when its program was killed", len(trials), before)
	}
	whole := 0
	for _, x := range trials {
		if x.State != v1.TrialStateCompleted {
			t.Errorf("trial %d is %s: %s", x.ID, x.State, x.Error)
		}
		if x.TotalBatchesProcessed == 32 {
			whole++
		}
	}
	if whole == 0 || whole == len(trials) {
		t.Errorf("%d of %d trials trained to the end", whole, len(trials))
	}
	if why := says(); why != "" {
		t.Errorf("at the end it says %q", why)
	}
}

// TestDeterminedsClientSeesAProposedSearch: Determined's own client lists and describes an experiment whose trials a program proposes.
func TestDeterminedsClientSeesAProposedSearch(t *testing.T) {
	r := rig.Start(t)
	id := r.Submit(t, rig.Head("proposed")+`
hyperparameters: {x: {type: double, minval: 0, maxval: 1}}
searcher: {name: random, metric: loss, max_trials: 2, sampler: program}
`, rig.Script("print(1)"))
	u := r.Person(t, "determined", "")
	for _, args := range [][]string{{"experiment", "list"}, {"experiment", "describe", strconv.Itoa(id)}, {"experiment", "config", strconv.Itoa(id)}} {
		out := u.Det(t, args...)
		want := "proposed"
		if args[1] == "config" {
			want = "sampler: program"
		}
		rig.Holds(t, strings.Join(args, " "), out, want)
	}
	if out, err := r.Det(t, "experiment", "kill", strconv.Itoa(id)); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
