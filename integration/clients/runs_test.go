package clients

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
)

// theirRuns is a script for the generated client of Determined about runs and streams of metrics.
const theirRuns = `
import json, sys, time
from determined.common.api import bindings as b
from determined.experimental import Determined

session = Determined(user="determined", password="")._session
done, said = int(sys.argv[1]), {}
run = b.get_GetExperimentTrials(session, experimentId=done).trials[0].id

def until(ready):
    for _ in range(1200):
        found = ready()
        if found:
            return found
        time.sleep(0.1)
    raise TimeoutError(ready)

def field(column, location, operator, kind, value):
    return {"kind": "field", "columnName": column, "location": "LOCATION_TYPE_" + location, "operator": operator, "type": "COLUMN_TYPE_" + kind, "value": value}

def filtered(*children, archived=False):
    return json.dumps({"filterGroup": {"kind": "group", "conjunction": "and", "children": list(children)}, "showArchived": archived})

def search(*children, archived=False, sort=None):
    for _ in range(2): # a run can be deleted after it was counted, once
        answer = b.post_SearchRuns(session, body=b.v1SearchRunsRequest(filter=filtered(*children, archived=archived), sort=sort, limit=50, offset=0))
        if answer.pagination.total == len(answer.runs):
            return answer.runs
    raise AssertionError(answer.to_json())

def errors(answer):
    return [r.error for r in answer.results]

b.post_PostRunMetadata(session, runId=run, body=b.v1PostRunMetadataRequest(runId=run, metadata={"stage": {"name": "warm"}, "parts": ["a", "b"], "n": 3}))
found = search(field("id", "RUN", "=", "NUMBER", run))[0]
said["run"] = [str(found.state), found.hyperparameters, found.metadata, found.experiment.searcherType, found.experiment.isMultitrial, found.localId == f"UNCATEGORIZED-{run}",
    found.projectName, found.labels, found.archived, found.checkpointCount, found.logPolicyMatched]
until(lambda: search(field("validation.loss.min", "VALIDATIONS", "<", "NUMBER", 0.4), field("experimentId", "RUN", "=", "NUMBER", done)))
for name, children in {
    "hyperparameter": [field("lr", "RUN_HYPERPARAMETERS", ">=", "NUMBER", 0.5)],
    "metadata": [field("metadata.stage.name", "RUN_METADATA", "=", "TEXT", "warm"), field("metadata.parts", "RUN_METADATA", "contains", "TEXT", "a")],
    "state": [field("state", "RUN", "=", "TEXT", "COMPLETED")],
    "nothing": [field("metadata.n", "RUN_METADATA", ">", "NUMBER", 3)],
}.items():
    said[name] = [r.id == run for r in search(*children, field("experimentId", "RUN", "=", "NUMBER", done))]
columns = {c.column: [str(c.location), str(c.type)] for c in b.get_GetProjectColumns(session, id=1, tableType=b.v1TableType.RUN).columns}
said["columns"] = [columns[name] for name in ("id", "hp.lr", "metadata.stage.name", "metadata.parts", "validation.loss.min")]
said["values"] = b.get_GetMetadataValues(session, projectId=1, key="parts").values
said["ranges"] = sorted(r.metricsName for r in b.get_GetProjectNumericMetricsRange(session, id=1).ranges)

def new():
    made = b.post_CreateExperiment(session, body=b.v1CreateExperimentRequest(activate=False, modelDefinition=[
        b.v1File(path="train.py", type=48, content="aW1wb3J0IHRpbWU7IHRpbWUuc2xlZXAoNjAwKQo=", mtime="0", mode=0o100644, uid=0, gid=0)],
        config="{name: slow, entrypoint: python3 train.py, searcher: {name: single, metric: loss, max_length: {batches: 1}}}")).experiment.id
    return b.get_GetExperimentTrials(session, experimentId=made).trials[0].id

one = new()
by_id = {"projectId": 1, "runIds": [one]}
said["resume"] = errors(b.post_ResumeRuns(session, body=b.v1ResumeRunsRequest(**by_id)))
said["pause"] = errors(b.post_PauseRuns(session, body=b.v1PauseRunsRequest(projectId=1, runIds=[], filter=filtered(field("id", "RUN", "=", "NUMBER", one)))))
said["archive one that lives"] = errors(b.post_ArchiveRuns(session, body=b.v1ArchiveRunsRequest(**by_id)))
said["kill"] = errors(b.post_KillRuns(session, body=b.v1KillRunsRequest(**by_id)))
until(lambda: search(field("id", "RUN", "=", "NUMBER", one))[0].state.value == "STATE_CANCELED")
said["kill an ended one"] = errors(b.post_KillRuns(session, body=b.v1KillRunsRequest(**by_id)))
said["archive"] = errors(b.post_ArchiveRuns(session, body=b.v1ArchiveRunsRequest(**by_id)))
said["archived"] = [len(search(field("id", "RUN", "=", "NUMBER", one), archived=archived)) for archived in (False, True)]
said["unarchive"] = errors(b.post_UnarchiveRuns(session, body=b.v1UnarchiveRunsRequest(**by_id)))
space = b.post_PostWorkspace(session, body=b.v1PostWorkspaceRequest(name=f"runs of {one}")).workspace.id
there = b.post_PostProject(session, workspaceId=space, body=b.v1PostProjectRequest(name=f"runs of {one}", workspaceId=space)).project.id
said["move"] = errors(b.post_MoveRuns(session, body=b.v1MoveRunsRequest(runIds=[one], sourceProjectId=1, destinationProjectId=there, skipMultitrial=False)))
said["moved"] = [search(field("id", "RUN", "=", "NUMBER", one))[0].projectId == there, errors(b.post_KillRuns(session, body=b.v1KillRunsRequest(**by_id))) == [f"Run with id '{one}' not found in project with id '1'"]]
until(lambda: errors(b.post_DeleteRuns(session, body=b.v1DeleteRunsRequest(projectId=there, runIds=[one]))) == [""])
until(lambda: not search(field("id", "RUN", "=", "NUMBER", one)))

said["names"] = [n.to_json() for n in b.get_ExpMetricNames(session, ids=[done], periodSeconds=1)]
said["batches"] = [n.batches for n in b.get_MetricBatches(session, experimentId=done, metricName="loss", group="validation", periodSeconds=1)]
said["snapshot"] = [[t.metric, t.batchesProcessed, t.hparams] for s in b.get_TrialsSnapshot(session, experimentId=done, metricName="loss", group="validation", batchesProcessed=3, batchesMargin=1) for t in s.trials]
said["sample"] = [[[p.batches, p.values] for p in t.data] for s in b.get_TrialsSample(session, experimentId=done, metricName="loss", metricType=b.v1MetricType.VALIDATION) for t in s.trials]
series = [s for answer in b.get_GetTrialProfilerAvailableSeries(session, trialId=run) for s in answer.labels]
said["series"] = [s.name for s in series]
said["profiler"] = [answer.batch.values for answer in b.get_GetTrialProfilerMetrics(session, labels_trialId=run, labels_name=series[0].name)]
b.post_PostUserActivity(session, body=b.v1PostUserActivityRequest(activityType=b.v1ActivityType.GET, entityType=b.v1EntityType.PROJECT, entityId=1))
said["visited"] = [p.id for p in b.get_GetProjectsByUserActivity(session, limit=1).projects]
said["telemetry"] = b.get_GetTelemetry(session).enabled
said["jobs"] = b.get_GetJobs(session).pagination.total
print(json.dumps(said, sort_keys=True))
`

// TestRuns: Determined's generated client searches and changes runs, and reads the streams of metrics; a script
// for it does the same with its package and with ours.
func TestRuns(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	id := r.Submit(t, rig.Config("hyperparameters: {lr: 0.5}\nlabels: [bound]"), rig.Script(`
from determined import core
with core.init() as ctx:
    for step in range(1, 4):
        ctx.train.report_validation_metrics(step, {"loss": 1.0 / step})
    ctx.train.report_metrics("cpu", 3, {"node": {"cpu_util_simple": 12.5}})
print("trained")
`))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	ours, err := filepath.Abs("../../plugins/harness")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for name, packages := range map[string]string{"theirs": "PYTHONPATH=", "ours": "PYTHONPATH=" + ours} {
		out, errs, code := u.Run(t, "", "env", packages, u.Python, "-c", theirRuns, strconv.Itoa(id))
		if code != 0 {
			t.Fatalf("with %s: exit %d\n%s%s", name, code, out, errs)
		}
		said[name] = out
	}
	if said["theirs"] != said["ours"] {
		t.Errorf("with their package the script prints\n%s, with ours\n%s", said["theirs"], said["ours"])
	}
	rig.Holds(t, "the script", said["theirs"], `"hyperparameter": [true]`, `"metadata": [true]`, `"nothing": []`, `"state": [true]`, `"values": ["a", "b"]`,
		`"pause": [""]`, `"resume": [""]`, `"kill": [""]`, `"archive one that lives": ["Run is not in terminal state."]`, `"archived": [0, 1]`, `"moved": [true, true]`,
		`"batches": [[1, 2, 3]]`, `"snapshot": [[0.3333333333333333, 3, {"lr": 0.5}]]`, `"sample": [[[1, {"loss": 1}], [2, {"loss": 0.5}], [3, {"loss": 0.3333333333333333}]]]`,
		`"series": ["cpu_util_simple"]`, `"profiler": [[12.5]]`, `"visited": [1]`, `"telemetry": false`)
}
