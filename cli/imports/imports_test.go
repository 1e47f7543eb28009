package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// world is a det for a master with the real API.
type world struct {
	t         *testing.T
	m         *servertest.Master
	a         *app.App
	out, errs *bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, m: servertest.Start(t, nil)}
	console, out, errs := term.Buffers("")
	env := map[string]string{"DET_MASTER": w.m.URL, "HOME": t.TempDir()}
	w.out, w.errs = out, errs
	w.a = &app.App{IO: console, Now: time.Now, Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	return w
}

// run runs det import, and returns what it printed.
func (w *world) run(args ...string) (out string, err error) {
	w.t.Helper()
	w.out.Reset()
	w.errs.Reset()
	cmd := New(w.a)
	root := &cobra.Command{Use: "det", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(cmd)
	root.SetArgs(append([]string{"import"}, args...))
	err = root.ExecuteContext(w.t.Context())
	return w.out.String(), err
}

func (w *world) good(want string, args ...string) {
	w.t.Helper()
	if out, err := w.run(args...); err != nil || !strings.Contains(out, want) {
		w.t.Fatalf("%v: %v, %s%s; want %q", args, err, out, w.errs, want)
	}
}

// reports are the values of a metric of a trial by their steps, which the master shows.
func (w *world) reports(trial int, group, name string) map[int]any {
	w.t.Helper()
	type value struct {
		Steps int    `db:"steps"`
		Is    string `db:"is"`
	}
	rows, err := database.Rows[value](w.t.Context(), w.m.DB, `SELECT steps, (avg -> $3)::text AS is FROM metrics WHERE trial_id = $1 AND group_name = $2 AND NOT archived AND avg ? $3`, trial, group, name)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[int]any{}
	for _, r := range rows {
		var v any
		if err := json.Unmarshal([]byte(r.Is), &v); err != nil {
			w.t.Fatal(err)
		}
		out[r.Steps] = v
	}
	return out
}

// compact is a document without spaces between its values.
func compact(s v1.Struct) string {
	var out bytes.Buffer
	if err := json.Compact(&out, s); err != nil {
		return err.Error()
	}
	return out.String()
}

func copyFile(t *testing.T, from, to string) []byte {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, b)
	return b
}

func write(t *testing.T, to string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	oldEvents = "../internal/tfevents/testdata/events.out.tfevents.old"
	newEvents = "../internal/tfevents/testdata/events.out.tfevents.new"
	shapes    = "../internal/wandb/testdata/run-shapes01.wandb"
)

// TestTensorBoard: a folder becomes an experiment with a trial for each run, a second import adds only what is new, and damage is named.
func TestTensorBoard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	logs := filepath.Join(t.TempDir(), "logs")
	whole := copyFile(t, oldEvents, filepath.Join(logs, "net/one/events.out.tfevents.1"))
	copyFile(t, newEvents, filepath.Join(logs, "keras/train/events.out.tfevents.1"))
	copyFile(t, newEvents, filepath.Join(logs, "keras/validation/events.out.tfevents.1"))
	// While a program writes: the last value is not there yet.
	write(t, filepath.Join(logs, "net/one/events.out.tfevents.1"), whole[:len(whole)-10])

	w.good("values in 2 runs", "tensorboard", logs)
	list, err := client.List(t.Context(), w.m.Client("determined"), v1.ListExperiments, client.Page{}, nil)
	if err != nil || len(list) != 1 || list[0].Name != "logs" || !list[0].Unmanaged || list[0].State != v1.ExperimentStateCompleted || list[0].NumTrials != 2 {
		t.Fatalf("%v, %+v", err, list)
	}
	keras, net := 1, 2 // in the order of their folders
	if got := fmt.Sprint(w.reports(keras, "training", "epoch_loss"), w.reports(keras, "validation", "epoch_loss")); got != "map[0:2.5 1:1.5 2:0.1] map[0:2.5 1:1.5 2:0.1]" {
		t.Errorf("the run of Keras has %s", got)
	}
	if got := w.reports(net, "training", "train/loss"); len(got) != 9 || got[8] != 0.75 || got[0] != 1.0 {
		t.Errorf("the losses are %v", got)
	}
	if got := w.reports(net, "validation", "eval/accuracy"); len(got) != 8 {
		t.Errorf("what was written before a restart at step 8 and is void counts: %v", got)
	}
	shown, err := client.Call(t.Context(), w.m.Client("determined"), v1.GetTrial, net)
	if err != nil || compact(shown.Trial.HParams) != `{"lr":0.25,"nesterov":true,"optimizer":"sgd"}` {
		t.Errorf("the hyperparameters are %s, %v", compact(shown.Trial.HParams), err)
	}

	w.good("experiment 1\n0 new values in 0 runs", "tensorboard", logs)
	write(t, filepath.Join(logs, "net/one/events.out.tfevents.1"), whole)
	w.good("1 new values in 1 runs", "tensorboard", logs)
	if got := w.reports(net, "training", "train/loss"); len(got) != 10 || got[9] != "NaN" {
		t.Errorf("after the last value the losses are %v", got)
	}
	w.good("0 new values", "tensorboard", logs)

	// A program that began again at step 8, in a file of its own: what it writes replaces what stood there.
	write(t, filepath.Join(logs, "net/one/events.out.tfevents.2"), whole)
	w.good("trial 2: ", "tensorboard", logs)
	if got := w.reports(net, "validation", "eval/accuracy"); len(got) != 8 {
		t.Errorf("after a restart the accuracies are %v", got)
	}

	broken := bytes.Clone(whole)
	broken[len(broken)-3] ^= 1
	write(t, filepath.Join(logs, "net/two/events.out.tfevents.1"), broken)
	out, err := w.run("tensorboard", logs)
	if err == nil || exit.Code(err) != exit.Failed || !strings.Contains(w.errs.String(), "net/two/events.out.tfevents.1: the record at byte ") || !strings.Contains(out, "trial 3: ") {
		t.Errorf("%v, %s%s", err, out, w.errs)
	}
	if _, err := w.run("tensorboard", t.TempDir()); err == nil || !strings.Contains(err.Error(), "no file whose name has tfevents") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := w.run("tensorboard", oldEvents); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("a file: %v", err)
	}
}

// TestHParamsOfPyTorch: the sub-folder that add_hparams makes belongs to its run; several of them, or one without a run above it, are runs.
func TestHParamsOfPyTorch(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"one", "one/1796071928.6138744", "many", "many/1796071928.1", "many/1796071929.1", "alone/1796071928.2", "dated", "dated/2026"} {
		write(t, filepath.Join(root, dir, "events.out.tfevents.1"), nil)
	}
	found, err := findEvents(root)
	var got []string
	for _, of := range found {
		got = append(got, fmt.Sprintf("%s has %d", of.run, len(of.files)))
	}
	want := "alone/1796071928.2 has 1, dated has 1, dated/2026 has 1, many has 1, many/1796071928.1 has 1, many/1796071929.1 has 1, one has 2"
	if strings.Join(got, ", ") != want || err != nil {
		t.Errorf("%s, %v; want %s", strings.Join(got, ", "), err, want)
	}
}

// TestChangedValues: a file that has other values than those which were imported becomes a new run of the trial.
func TestChangedValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.m.Client("determined")
	s := sender{a: w.a, c: c, from: "tensorboard"}
	again := func(fresh int, restart int64, values ...float64) {
		t.Helper()
		r := newRun("a")
		r.restart = restart
		for step, v := range values {
			if err := r.add(training, "loss", int64(step), time.Unix(int64(step), 0), v, step >= fresh); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if s.experiment, err = (experiment{externalID: "x", name: "x"}).put(t.Context(), c, "loss"); err != nil {
			t.Fatal(err)
		}
		m, err := s.earlier(t.Context(), "x", "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.all(t.Context(), r, m, &outcome{}); err != nil {
			t.Fatal(err)
		}
	}
	again(0, -1, 3, 2, 1, 0)
	again(0, -1, 3, 2, 5, 4, 3)
	if got := fmt.Sprint(w.reports(1, training, "loss")); got != "map[0:3 1:2 2:5 3:4 4:3]" {
		t.Errorf("the losses are %s", got)
	}
	again(5, 6, 3, 2, 5, 4, 3, 9, 8, 7) // it began again at step 6, and step 5 was never imported
	if got := fmt.Sprint(w.reports(1, training, "loss")); got != "map[0:3 1:2 2:5 3:4 4:3 5:9 6:8 7:7]" {
		t.Errorf("after it began again the losses are %s", got)
	}
}

// TestWandB: runs of a group are trials of one experiment, with configuration, project and summary; a folder that was moved, or that is imported alone, is known again.
func TestWandB(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := filepath.Join(t.TempDir(), "wandb")
	whole := copyFile(t, shapes, filepath.Join(first, "offline-run-1-shapes01/run-shapes01.wandb"))
	write(t, filepath.Join(first, "offline-run-1-shapes01/run-shapes01.wandb"), whole[:len(whole)-3000])
	w.good("experiment 1\n", "wandb", first, "--name", "shapes", "--metric", "val/accuracy", "--larger-is-better")
	e, err := client.Call(t.Context(), w.m.Client("determined"), v1.GetExperiment, 1)
	if err != nil || e.Experiment.Name != "shapes" || !strings.HasSuffix(string(e.Experiment.State), "RUNNING") || !strings.Contains(compact(e.Experiment.Config), `"metric":"val/accuracy"`) {
		t.Errorf("%s, %s, %s, %v", e.Experiment.Name, e.Experiment.State, compact(e.Experiment.Config), err)
	}
	moved := filepath.Join(t.TempDir(), "elsewhere")
	write(t, filepath.Join(moved, "offline-run-1-shapes01/run-shapes01.wandb"), whole)
	w.good("experiment 1\n", "wandb", moved)
	w.good("0 new values", "wandb", moved)
	w.good("0 new values", "wandb", filepath.Join(moved, "offline-run-1-shapes01")) // the run alone
	if losses, accuracies := w.reports(1, training, "loss"), w.reports(1, validation, "val/accuracy"); len(losses) != 41 || losses[52] != 0.5 || len(accuracies) != 20 || accuracies[9] != 0.25 {
		t.Errorf("losses %v, accuracies %v", losses, accuracies)
	}
	shown, err := client.Call(t.Context(), w.m.Client("determined"), v1.GetTrial, 1)
	if err != nil || shown.Trial.State != v1.TrialStateCompleted || !strings.Contains(compact(shown.Trial.HParams), `"net":{"act":"relu","width":32}`) {
		t.Errorf("%s, %s, %v", shown.Trial.State, compact(shown.Trial.HParams), err)
	}
	for _, want := range []string{`"project":"shapes"`, `"group":"first"`, `"tags":["a","b"]`, `"best":0.5`, `"from":"wandb"`} {
		if !strings.Contains(compact(shown.Trial.Metadata), want) {
			t.Errorf("the metadata lack %s: %s", want, shown.Trial.Metadata)
		}
	}
	write(t, filepath.Join(moved, "junk.wandb"), []byte("no"))
	if _, err := w.run("wandb", moved); err == nil || !strings.Contains(w.errs.String(), "junk.wandb: is not a file of W&B") {
		t.Errorf("%v, %s", err, w.errs)
	}
}

// TestWhereImportsGo: the flags choose project, name, metric and external id of the experiment.
func TestWhereImportsGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.m.Client("determined")
	space, err := client.Send(t.Context(), c, v1.CreateWorkspace, v1.PostWorkspaceRequest{Name: "Vision"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Send(t.Context(), c, v1.CreateProject, v1.PostProjectRequest{Name: "old", WorkspaceID: space.Workspace.ID}, space.Workspace.ID); err != nil {
		t.Fatal(err)
	}
	id := 0
	for kind, fixture := range map[string]string{"tensorboard": oldEvents, "wandb": shapes} {
		for _, dir := range []string{"a", "b"} { // a folder that was moved
			at := filepath.Join(t.TempDir(), dir)
			copyFile(t, fixture, filepath.Join(at, "run/"+filepath.Base(fixture)))
			want := fmt.Sprintf("experiment %d\n", id+1)
			if dir == "b" {
				want += "0 new values in 0 runs"
			}
			w.good(want, kind, at, "-w", "Vision", "-p", "old", "--name", "of "+kind, "--metric", "eval/accuracy", "--larger-is-better", "--external-id", "my "+kind)
		}
		id++
		e, err := client.Call(t.Context(), c, v1.GetExperiment, id)
		if err != nil || e.Experiment.Name != "of "+kind || e.Experiment.WorkspaceName != "Vision" || e.Experiment.ProjectName != "old" ||
			!strings.Contains(compact(e.Experiment.Config), `"metric":"eval/accuracy"`) || !strings.Contains(compact(e.Experiment.Config), `"smaller_is_better":false`) ||
			e.Experiment.ExternalExperimentID == nil || *e.Experiment.ExternalExperimentID != "my "+kind {
			t.Errorf("%s: %s in %s of %s, %s, %v", kind, e.Experiment.Name, e.Experiment.ProjectName, e.Experiment.WorkspaceName, compact(e.Experiment.Config), err)
		}
		if out, err := w.run(kind, t.TempDir(), "-w", "Vision"); err == nil {
			t.Errorf("a workspace without a project: %s", out)
		}
	}
}

// TestNamesOfMetrics: names of validations, as libraries write them, are told from others.
func TestNamesOfMetrics(t *testing.T) {
	for name, want := range map[string]string{"eval/loss": validation, "val_loss": validation, "Validation-accuracy": validation, "test.acc": validation, "loss/val": validation, "a/eval/b": validation,
		"value": training, "testament": training, "train/loss": training, "loss": training, "": training} {
		if got := groupOf(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if a, b := externalTrial("a/b"), externalTrial("a:b"); a == b || strings.Contains(a, "/") || externalTrial(".") == "." || len(externalTrial(strings.Repeat("é", 400))) > 512 {
		t.Errorf("the external ids %q and %q", a, b)
	}
}
