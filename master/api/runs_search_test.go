package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/experiments"
)

// wide is a search with two trials.
const wide = "name: wide\nentrypoint: python3 train.py\nsearcher: {name: random, metric: loss, max_trials: 2, max_length: {batches: 100}}\nhyperparameters: {x: 5, opt: adam}\n"

// trialsOf are the trials of an experiment.
func (r *rig) trialsOf(experiment int) []int {
	r.t.Helper()
	ids, err := experiments.TrialIDs(context.Background(), r.db, experiment)
	if err != nil {
		r.t.Fatal(err)
	}
	return ids
}

// threeRuns creates an experiment with one run and a search with two; the first run has ended.
func threeRuns(t *testing.T) (r *rig, me as, runs [3]int) {
	r = newRig(t)
	me = r.user("determined")
	single := me.create(yaml("labels: [x]", "description: one", "hyperparameters: {x: 2, net: {depth: 3}}"))
	search := me.create(wide)
	first, rest := r.trialsOf(single), r.trialsOf(search)
	if len(first) != 1 || len(rest) != 2 {
		t.Fatalf("trials %v and %v", first, rest)
	}
	runs = [3]int{first[0], rest[0], rest[1]}
	me.post(fmt.Sprintf("/api/v1/runs/%d/metadata", runs[0]), `{"metadata":{"stage":"warm","n":{"k":["a","b"]},"count":4,"deep.key":true}}`).ok()
	r.exec(`UPDATE trials SET state = 'COMPLETED', ended_at = now() WHERE id = $1`, runs[0])
	r.exec(`UPDATE experiments SET state = 'COMPLETED', ended_at = now() WHERE id = $1`, single)
	r.exec(`INSERT INTO trial_summaries (trial_id, summary, searcher_value) VALUES ($1, '{"validation_metrics": {"loss": {"type": "number", "last": 0.5, "max": 2, "mean": 1, "min": 0.5},
		"word": {"type": "string", "last": "w"}}}', 0.5) ON CONFLICT (trial_id) DO UPDATE SET summary = EXCLUDED.summary, searcher_value = EXCLUDED.searcher_value`, runs[0])
	return r, me, runs
}

// field is a condition of Determined's filter.
func field(column, location, op, kind, value string) string {
	return fmt.Sprintf(`{"columnName":%q,"kind":"field","location":"LOCATION_TYPE_%s","operator":%q,"type":"COLUMN_TYPE_%s","value":%s}`, column, location, op, kind, value)
}

func filterOf(t *testing.T, archived bool, fields ...string) string {
	return quotedJSON(t, fmt.Sprintf(`{"filterGroup":{"children":[%s],"conjunction":"and","kind":"group"},"showArchived":%t}`, strings.Join(fields, ","), archived))
}

// runsFound are the ids of the runs that a search finds, in its order.
func (c as) runsFound(members string) (ids []int) {
	c.r.t.Helper()
	var found struct{ Runs []struct{ ID int } }
	c.post("/api/v1/runs", "{"+members+"}").ok().into(&found)
	for _, r := range found.Runs {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestSearchRuns(t *testing.T) {
	r, me, runs := threeRuns(t)
	one, two, three := runs[0], runs[1], runs[2]
	single := r.text(`SELECT experiment_id::text FROM trials WHERE id = $1`, one)
	owner := r.text(`SELECT id::text FROM users WHERE username = 'determined'`)
	for members, want := range map[string][]int{
		``: {one, two, three}, `"sort":"id=desc"`: {three, two, one}, `"limit":1,"offset":1`: {two}, `"limit":-2`: {}, `"projectId":1`: {one, two, three}, `"projectId":7`: {},
		`"sort":"hp.x=desc,id=desc"`: {three, two, one}, `"sort":"metadata.count=asc,experimentName=desc"`: {one, two, three}, `"sort":"validation.loss.min=asc"`: {one, two, three},
		`"filter":` + filterOf(t, false, field("experimentId", "RUN", "=", "NUMBER", single)):                 {one},
		`"filter":` + filterOf(t, false, field("id", "RUN", ">=", "NUMBER", fmt.Sprint(two))):                 {two, three},
		`"filter":` + filterOf(t, false, field("x", "RUN_HYPERPARAMETERS", ">=", "NUMBER", "5")):              {two, three},
		`"filter":` + filterOf(t, false, field("hp.net.depth", "RUN_HYPERPARAMETERS", "=", "NUMBER", "3")):    {one},
		`"filter":` + filterOf(t, false, field("hp.opt", "RUN_HYPERPARAMETERS", "contains", "TEXT", `"DAM"`)): {two, three},
		`"filter":` + filterOf(t, false, field("metadata.n.k", "RUN_METADATA", "contains", "TEXT", `"b"`)):    {one},
		`"filter":` + filterOf(t, false, field("validation.loss.max", "VALIDATIONS", ">", "NUMBER", "1.5")):   {one},
		`"filter":` + filterOf(t, false, field("isExpMultitrial", "RUN", "=", "UNSPECIFIED", "true")):         {two, three},
		`"filter":` + filterOf(t, false, field("user", "RUN", "=", "TEXT", owner)):                            {one, two, three},
		`"filter":` + filterOf(t, false, field("user", "RUN", "!=", "TEXT", owner)):                           {},
		`"filter":` + filterOf(t, false, field("state", "RUN", "=", "TEXT", `"COMPLETED"`)):                   {one},
		`"filter":` + filterOf(t, false, field("id", "RUN", "=", "NUMBER", "null")):                           {one, two, three},
		`"query":"localId = UNCATEGORIZED-` + fmt.Sprint(two) + `"`:                                           {two},
		`"query":"metadata.stage = warm"`: {one}, `"query":"metadata.stage != warm"`: {}, `"query":"metadata.stage is empty"`: {two, three}, `"query":"metadata.n.k = a"`: {one},
		`"query":"metadata.n.k != a"`: {}, `"query":"metadata.n.k != c"`: {one}, `"query":"metadata.count > 3"`: {one}, `"query":"metadata.deep.key = true"`: {one}, `"query":"metadata.n.k !~ a"`: {},
		`"query":"label = x and description ~ on and name = small and parentArchived = false"`: {one}, `"query":"checkpoints > 0 or searcherMetricsVal < 1"`: {one},
		`"query":"projectId = 1 and duration >= 0 and user ~ determined and project = Uncategorized"`: {one, two, three},
	} {
		if got := me.runsFound(members); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", members, got, want)
		}
	}
	me.post("/api/v1/runs", `{"query":"numTrials > 1"}`).says(400, "query: column 1: there is no column")
	me.post("/api/v1/runs", `{"sort":"numTrials=asc"}`).says(400, "sort: invalid sort col")
	me.post("/api/v1/runs", `{"filter":"{"}`).says(400, "filter:")
	r.anyone().post("/api/v1/runs", `{}`).is(401)

	got := at(t, me.post("/api/v1/runs", `{"limit":1}`).ok().tree(), "runs.0").(map[string]any)
	want := map[string]any{"id": float64(one), "state": "STATE_COMPLETED", "labels": []any{"x"}, "checkpointSize": "0", "checkpointCount": 0.0, "searcherMetricValue": 0.5,
		"externalRunId": nil, "projectId": 1.0, "projectName": "Uncategorized", "workspaceId": 1.0, "workspaceName": "Uncategorized", "parentArchived": false, "archived": false,
		"localId": fmt.Sprintf("UNCATEGORIZED-%d", one), "logPolicyMatched": nil, "hyperparameters.net.depth": 3.0, "metadata.stage": "warm", "summaryMetrics.validation_metrics.loss.max": 2.0,
		"experiment.name": "small", "experiment.searcherType": "single", "experiment.searcherMetric": "loss", "experiment.resourcePool": "default", "experiment.progress": 1.0,
		"experiment.description": "one", "experiment.unmanaged": false, "experiment.isMultitrial": false, "experiment.forkedFrom": nil, "experiment.externalExperimentId": nil}
	for path, v := range want {
		if g := at(t, got, path); fmt.Sprint(g) != fmt.Sprint(v) {
			t.Errorf("%s: %v, want %v", path, g, v)
		}
	}
	if state := at(t, me.post("/api/v1/runs", `{"offset":1}`).ok().tree(), "runs.0.state"); state != "STATE_ACTIVE" && state != "STATE_PAUSED" {
		t.Errorf("a run that waits is %v", state)
	}
}

func TestRunColumns(t *testing.T) {
	_, me, _ := threeRuns(t)
	for _, project := range []string{"0", "1"} {
		seen := map[string]string{}
		for _, c := range at(t, me.get("/api/v1/projects/"+project+"/columns?tableType=TABLE_TYPE_RUN").ok().tree(), "columns").([]any) {
			seen[at(t, c, "column").(string)] = strings.ReplaceAll(at(t, c, "location").(string)+" "+at(t, c, "type").(string), "LOCATION_TYPE_", "")
		}
		for column, want := range map[string]string{"id": "RUN COLUMN_TYPE_NUMBER", "experimentName": "RUN COLUMN_TYPE_TEXT", "isExpMultitrial": "RUN COLUMN_TYPE_UNSPECIFIED",
			"hp.x": "RUN_HYPERPARAMETERS COLUMN_TYPE_NUMBER", "hp.net.depth": "RUN_HYPERPARAMETERS COLUMN_TYPE_NUMBER", "hp.opt": "RUN_HYPERPARAMETERS COLUMN_TYPE_TEXT",
			"metadata.stage": "RUN_METADATA COLUMN_TYPE_TEXT", "metadata.n.k": "RUN_METADATA COLUMN_TYPE_ARRAY", "metadata.count": "RUN_METADATA COLUMN_TYPE_NUMBER", "metadata.deep.key": "RUN_METADATA COLUMN_TYPE_TEXT",
			"validation.loss.min": "VALIDATIONS COLUMN_TYPE_NUMBER", "validation.word.last": "VALIDATIONS COLUMN_TYPE_TEXT", "numTrials": "", "hp.net": "", "metadata.n": ""} {
			if seen[column] != want {
				t.Errorf("project %s, %s: %q, want %q", project, column, seen[column], want)
			}
		}
	}
	for key, want := range map[string]string{"stage": "[warm]", "n.k": "[a b]", "count": "[]", "deep.key": "[]", "none": "[]"} {
		if got := fmt.Sprint(at(t, me.get("/api/v1/projects/1/metadata/"+key).ok().tree(), "values")); got != want {
			t.Errorf("the values of %s: %s, want %s", key, got, want)
		}
	}
	me.get("/api/v1/projects/77/metadata/x").says(404, "77")
}
