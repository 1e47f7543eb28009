package mlflow

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// runIn runs a program of testdata as the program of an attempt, with the variables that the master gives it.
func runIn(t *testing.T, m *servertest.Master, python, program string) servertest.Program {
	return func(ctx context.Context, a *servertest.Attempt) int {
		if a.TaskType != "TRIAL" {
			return servertest.Play(ctx, a)
		}
		cmd := exec.CommandContext(ctx, python, program)
		cmd.Dir, cmd.Env = "testdata", append(os.Environ(), "PYTHONPATH="+rig.Lean(t))
		for name, value := range a.Env {
			value = strings.ReplaceAll(value, "{{DET_MASTER}}", m.Address())
			cmd.Env = append(cmd.Env, name+"="+strings.ReplaceAll(value, "{{DET_SESSION_TOKEN}}", a.Token()))
		}
		out, err := cmd.CombinedOutput()
		a.Log(ctx, strings.Split(strings.TrimSpace(string(out)), "\n")...)
		if err != nil {
			if a.Run > 1 {
				t.Errorf("attempt %s: %v\n%s", a.ID, err, tail(string(out)))
			}
			return 1
		}
		return 0
	}
}

// TestAProgramOfATrial runs an unmodified program of MLflow's as a trial that fails once. Whichever experiment and run the program
// names, it logs about its trial; what it logs is what Detent's clients read.
func TestAProgramOfATrial(t *testing.T) {
	path := python(t)
	var m *servertest.Master
	m = servertest.Start(t, func(ctx context.Context, a *servertest.Attempt) int { return runIn(t, m, path, "trial.py")(ctx, a) })
	c := m.Client("determined")
	if other, err := client.Send(t.Context(), m.Client("admin"), v1.CreateMLflowRun, v1.MLflowCreateRunRequest{}); err != nil || other.Run.Info.RunID != "1" {
		t.Fatalf("%+v %v", other, err)
	}
	made, err := client.Send(t.Context(), c, v1.CreateExperiment, v1.CreateExperimentRequest{Activate: new(true), Config: new(`
name: mlflow
entrypoint: python3 trial.py
max_restarts: 1
searcher: {name: single, metric: error, max_length: {batches: 3}}
hyperparameters: {lr: 0.5, net: {width: 3}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	m.Ended(made.Experiment.ID)
	trials, err := client.List(t.Context(), c, v1.ListTrials, client.Page{}, &v1.GetExperimentTrialsRequest{}, made.Experiment.ID)
	if err != nil || len(trials) != 1 {
		t.Fatalf("%d trials: %v", len(trials), err)
	}
	one := trials[0]
	if one.State != v1.TrialState("STATE_COMPLETED") || one.Restarts != 1 {
		t.Errorf("the trial is %s after %d restarts", one.State, one.Restarts)
	}
	if one.LatestValidation == nil || one.LatestValidation.TotalBatches != 3 {
		t.Errorf("the newest validation is %+v", one.LatestValidation)
	}
	rows, err := database.Rows[struct {
		Group    string `db:"group_name"`
		Run      int    `db:"run_id"`
		Steps    int    `db:"steps"`
		Archived bool   `db:"archived"`
		Error    string `db:"error"`
	}](t.Context(), m.DB, `SELECT group_name, run_id, steps, archived, coalesce(avg ->> 'error', '') AS error FROM metrics WHERE trial_id = $1 AND group_name = 'validation' ORDER BY run_id, steps`, one.ID)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%d/%d=%s %v", r.Run, r.Steps, r.Error, r.Archived))
	}
	if text := strings.Join(got, ", "); text != "1/1=11 true, 1/2=12 true, 1/3=13 true, 2/1=21 false, 2/2=22 false, 2/3=23 false" {
		t.Errorf("the validations are %s", text)
	}
	meta, err := client.Call(t.Context(), c, v1.GetRunMetadata, one.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"output_dir":"/tmp/2"`, `"epochs":"3"`, `"earlier_params":{"1":{"output_dir":"/tmp/1"}}`, `"attempt":"2"`} {
		if !strings.Contains(strings.ReplaceAll(string(meta.Metadata), ": ", ":"), want) {
			t.Errorf("the metadata lacks %s: %s", want, meta.Metadata)
		}
	}
	folds, err := database.Scalars[string](t.Context(), m.DB, `SELECT format('%s %s %s', e.name, t.state, t.hparams ->> 'fold') FROM experiments e JOIN trials t ON t.experiment_id = e.id
		WHERE e.unmanaged AND e.parent_id = $1 ORDER BY e.id`, made.Experiment.ID)
	if err != nil || strings.Join(folds, ", ") != "fold COMPLETED 1, fold COMPLETED 1" {
		t.Errorf("the runs within the trial's are %q: %v", folds, err)
	}
}

// TestAccelerate runs a loop of Accelerate, whose tracker names an experiment of its own, as a trial.
func TestAccelerate(t *testing.T) {
	path, err := pyenv.Named(t.Context(), "torch", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	var m *servertest.Master
	m = servertest.Start(t, func(ctx context.Context, a *servertest.Attempt) int {
		return runIn(t, m, path, "accelerate_loop.py")(ctx, a)
	})
	c := m.Client("determined")
	made, err := client.Send(t.Context(), c, v1.CreateExperiment, v1.CreateExperimentRequest{Activate: new(true), Config: new(`
name: accelerate
entrypoint: python3 accelerate_loop.py
max_restarts: 0
searcher: {name: single, metric: error, max_length: {batches: 24}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	m.Ended(made.Experiment.ID)
	got, err := database.Scalar[string](t.Context(), m.DB, `SELECT format('%s, %s reports, validations at %s, lr %s', t.state, count(*), string_agg(m.steps::text, ' ' ORDER BY m.steps) FILTER (WHERE m.group_name = 'validation'),
		t.metadata #>> '{mlflow,params,lr}') FROM trials t JOIN metrics m ON m.trial_id = t.id WHERE t.experiment_id = $1 GROUP BY t.id`, made.Experiment.ID)
	if err != nil || got != "COMPLETED, 27 reports, validations at 8 16 24, lr 0.1" {
		t.Errorf("%s %v", got, err)
	}
}
