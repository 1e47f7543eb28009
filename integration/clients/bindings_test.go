package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
)

// theirBindings is a script for the generated client of Determined.
const theirBindings = `
import json, sys, time
from determined.common import api
from determined.common.api import bindings
from determined.experimental import Determined

session = Determined(user="determined", password="")._session
done, said = int(sys.argv[1]), {}

def page(offset):
    return bindings.get_GetExperiments(session, offset=offset, limit=2, orderBy=bindings.v1OrderBy.ASC,
        sortBy=bindings.v1GetExperimentsRequestSortBy.ID, archived=False, experimentIdFilter_lte=done)

said["listed"] = [e.id for answer in api.read_paginated(page) for e in answer.experiments][-1] == done
exp = bindings.get_GetExperiment(session, experimentId=done).experiment
assert isinstance(exp, bindings.v1Experiment) and exp.state == bindings.experimentv1State.COMPLETED
said["experiment"] = {name: value for name, value in exp.to_json().items() if name in ("id", "name", "state", "projectId", "searcherType")}
said["lr"] = exp.config["hyperparameters"]["lr"]
trials = bindings.get_GetExperimentTrials(session, experimentId=done, sortBy=bindings.v1GetExperimentTrialsRequestSortBy.ID).trials
trial = bindings.get_GetTrial(session, trialId=trials[0].id).trial
said["trial"] = [trial.id, str(trial.state), trial.hparams, trial.totalBatchesProcessed, trial.bestValidation.metrics.to_json()]
said["log"] = [line.message.strip() for line in bindings.get_TrialLogs(session, trialId=trial.id, follow=False, limit=3)]
said["metrics"] = [m.metrics for answer in bindings.get_GetValidationMetrics(session, trialIds=[trial.id]) for m in answer.metrics]
changed = bindings.patch_PatchExperiment(session, experiment_id=done, body=bindings.v1PatchExperiment(id=done, notes="by a script"))
said["notes"] = changed.experiment.notes
said["label"] = bindings.put_PutExperimentLabel(session, experimentId=done, label="from bindings").labels

code = bindings.v1File(path="train.py", type=48, content="cHJpbnQoMSkK", mtime="0", mode=0o100644, uid=0, gid=0)
made = bindings.post_CreateExperiment(session, body=bindings.v1CreateExperimentRequest(activate=False, modelDefinition=[code],
    config="{name: bound, entrypoint: python3 train.py, searcher: {name: single, metric: loss, max_length: {batches: 1}}}"))
new = made.experiment.id
said["paused"] = str(made.experiment.state)
bindings.post_KillExperiment(session, id=new)
while bindings.get_GetExperiment(session, experimentId=new).experiment.state != bindings.experimentv1State.CANCELED:
    time.sleep(0.1)
bindings.post_ArchiveExperiment(session, id=new)
said["archived"] = bindings.get_GetExperiment(session, experimentId=new).experiment.archived
try:
    bindings.get_GetTrial(session, trialId=10**6)
except api.errors.NotFoundException as err:
    said["missing"] = type(err).__name__
said["me"] = bindings.get_GetMe(session).user.username
said["cluster"] = bindings.get_GetMaster(session).clusterName
print(json.dumps(said, sort_keys=True))
`

// TestBindings: a script for Determined's generated client does the same with its package and with ours.
func TestBindings(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	id := r.Submit(t, rig.Config("hyperparameters: {lr: 0.5}"), rig.Script(`
from determined import core
with core.init() as ctx:
    for step in range(1, 4):
        ctx.train.report_validation_metrics(step, {"loss": 1.0 / step})
print("trained")
`))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	ours, err := filepath.Abs("../../plugins/harness")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for name, packages := range map[string]string{"theirs": "PYTHONPATH=", "ours": "PYTHONPATH=" + ours} {
		out, errs, code := u.Run(t, "", "env", packages, u.Python, "-c", theirBindings, strconv.Itoa(id))
		if code != 0 {
			t.Fatalf("with %s: exit %d\n%s%s", name, code, out, errs)
		}
		said[name] = out
	}
	if said["theirs"] != said["ours"] {
		t.Errorf("with their package the script prints\n%s, with ours\n%s", said["theirs"], said["ours"])
	}
	rig.Holds(t, "the script", said["ours"], `"archived": true`, `"missing": "NotFoundException"`, `"listed": true`)
}

// TestBindingsFacts: the facts from which the bindings are generated match Determined's package.
func TestBindingsFacts(t *testing.T) {
	facts := filepath.Join("..", "..", "master", "v1", "generate")
	cmd := exec.CommandContext(t.Context(), rig.DeterminedPython(t), filepath.Join(facts, "bindings.py"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(filepath.Join(facts, "bindings.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out, have) {
		t.Error("master/v1/generate/bindings.txt is not what bindings.py writes with Determined's package")
	}
}
