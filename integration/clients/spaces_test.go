package clients

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// spaces is a search with everything that Determined's configurations do not have. It keeps all checkpoints: the client lists them page by
// page, and fails if the list becomes shorter meanwhile.
const spaces = `
name: spaces
entrypoint: python3 train.py
checkpoint_storage: {save_trial_best: 99, save_trial_latest: 99}
searcher:
  name: random
  metric: loss
  max_trials: 12
  max_length: {batches: 1}
  constraints: ["low < high"]
  start_with: [{optimizer: adam, low: 0.1, high: 0.2}]
hyperparameters:
  low: {type: double, minval: 0, maxval: 1}
  high: {type: double, minval: 0, maxval: 1}
  optimizer: {type: categorical, vals: [adam, sgd], prior: sgd}
  momentum: {type: double, minval: 0, maxval: 0.9, step: 0.1, when: {optimizer: sgd}}
`

// readSpaces checks the trials of an experiment with Determined's own client.
const readSpaces = `
import sys
from determined.experimental import client
client.login(master=sys.argv[1], user="determined", password="")
e = client.get_experiment(int(sys.argv[2]))
assert e.config["hyperparameters"]["momentum"]["when"] == {"optimizer": "sgd"}, e.config
trials = sorted(e.list_trials(), key=lambda t: t.id)
assert len(trials) == 12, trials
for t in trials:
    h = t.hparams
    assert h["low"] < h["high"] and ("momentum" in h) == (h["optimizer"] == "sgd"), h
assert trials[0].hparams == {"optimizer": "adam", "low": 0.1, "high": 0.2}, trials[0].hparams
assert {t.hparams["optimizer"] for t in trials} == {"adam", "sgd"}
saved = e.list_checkpoints()
assert saved and all(c.training.hparams["low"] >= 0 for c in saved)
`

// TestSpacesInDeterminedsClient: Determined's unmodified client reads searches whose trials do not all have the same hyperparameters.
func TestSpacesInDeterminedsClient(t *testing.T) {
	t.Parallel()
	python := rig.DeterminedPython(t)
	m := servertest.Start(t, func(ctx context.Context, a *servertest.Attempt) int {
		if a.TaskType == "TRIAL" {
			return servertest.Train(ctx, a)
		}
		return servertest.Play(ctx, a)
	})
	config := spaces
	e, err := m.Client("determined").CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: new(true)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Ended(e.Experiment.ID)
	cmd := exec.CommandContext(t.Context(), python, "-c", readSpaces, m.Address(), strconv.Itoa(e.Experiment.ID))
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if _, err := cmd.Output(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
}
