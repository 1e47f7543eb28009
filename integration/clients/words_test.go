package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

// wordsTraining prints the values of its template, and reports a metric by which it can be found.
const wordsTraining = `
import os
import determined
from determined import core

info = determined.get_cluster_info()
print("from the template:", os.environ.get("FROM_TEMPLATE"), sorted(info.trial.hparams.items()))
with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as ctx:
    for step in range(1, 6):
        ctx.train.report_training_metrics(step, {"loss": 1.0 / step})
        ctx.train.report_validation_metrics(step, {"loss": 1.0 / step, "accuracy": step / 10})
`

const wordsTemplate = `# shared by all
labels: [words]
hyperparameters: {depth: 3, lr: 7}
environment:
  environment_variables: ["FROM_TEMPLATE=yes"]
`

// theirSearch uses the SDK and the generated client of their package.
const theirSearch = `
import json, sys
from determined.common.api import bindings
from determined.experimental import client

mine, paused = int(sys.argv[1]), int(sys.argv[2])
client.login()
def ids(**filters):
    return sorted(e.id for e in client.list_experiments(**filters) if e.id in (mine, paused))
print("label", ids(labels=["words"]) == [mine, paused])
print("both labels", ids(labels=["words", "other"]) == [paused])
print("state", ids(states=[client.ExperimentState.COMPLETED]) == [mine])
print("name", ids(name="WORD-paus") == [paused])
print("user", ids(users=["determined"]) == [mine, paused] and ids(users=["admin"]) == [])
print("ids", ids(experiment_ids=[paused]) == [paused])
print("project", ids(project_id=1) == [mine, paused])
newest = client.list_experiments(sort_by=client.ExperimentSortBy.ID, order_by=client.OrderBy.DESC, labels=["words"])
print("order", [e.id for e in newest][:2] == [paused, mine])

sess = client._determined._session
def field(column, location, operator, kind, value):
    return {"kind": "field", "columnName": column, "location": "LOCATION_TYPE_" + location, "operator": operator, "type": "COLUMN_TYPE_" + kind, "value": value}
def search(*children, sort=None, archived=False, **more):
    body = bindings.v1SearchExperimentsRequest(filter=json.dumps({"filterGroup": {"kind": "group", "conjunction": "and", "children": list(children)}, "showArchived": archived}), sort=sort, **more)
    return bindings.post_SearchExperiments(sess, body=body)
words = field("tags", "EXPERIMENT", "contains", "TEXT", "word")
found = search(words, field("validation.accuracy.max", "VALIDATIONS", ">=", "NUMBER", 0.5), field("hp.depth", "HYPERPARAMETERS", "=", "NUMBER", 3))
print("metric", [e.experiment.id for e in found.experiments] == [mine], found.pagination.total == 1, found.experiments[0].bestTrial.hparams == {"lr": 0.5, "depth": 3})
either = {"kind": "group", "conjunction": "or", "children": [field("state", "EXPERIMENT", "=", "TEXT", "PAUSED"), field("training.loss.last", "TRAINING", "<", "NUMBER", 0.3)]}
print("groups", [e.experiment.id for e in search(words, either, sort="id=asc", limit=10, offset=0, projectId=1).experiments] == [mine, paused])
page = search(words, sort="validation.accuracy.last=desc,id=asc", limit=1, offset=1)
print("paging", [e.experiment.id for e in page.experiments] == [paused], page.pagination.total == 2, page.pagination.endIndex == 2)
columns = {c.column: (c.location, c.type) for c in bindings.get_GetProjectColumns(sess, id=1).columns}
print("columns", columns["validation.accuracy.mean"] == (bindings.v1LocationType.VALIDATIONS, bindings.v1ColumnType.NUMBER), columns["hp.depth"][0] == bindings.v1LocationType.HYPERPARAMETERS, "tags" in columns)
t = bindings.put_PutTemplate(sess, template_name="by put", body=bindings.v1Template(name="by put", config={"max_restarts": 1}, workspaceId=1)).template
t = bindings.patch_PatchTemplateName(sess, body=bindings.v1PatchTemplateNameRequest(oldName="by put", newName="put 2")).template
listed = bindings.get_GetTemplates(sess, name="put", limit=1, offset=0, sortBy=bindings.v1GetTemplatesRequestSortBy.NAME)
print("templates", t.name == "put 2", listed.pagination.total == 1, listed.templates[0].config == {"max_restarts": 1})
bindings.delete_DeleteTemplate(sess, templateName="put 2")
`

// TestWords: templates, lists that are filtered, searches and a support bundle, by
// Determined's own client and package, neither of them changed.
func TestWords(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	rig.Write(t, u.Home, "words.yaml", wordsTemplate)
	rig.Write(t, u.Home, "cmd.yaml", "resources: {slots: 0}\nenvironment: {environment_variables: [\"FROM_TEMPLATE=a command\"]}\n")
	rig.Holds(t, "create", u.Det(t, "template", "create", "words", "words.yaml"), "Created template words")
	if _, stderr, code := u.Run(t, "", u.Client(), "template", "create", "words", "words.yaml"); code == 0 || !strings.Contains(stderr, `template "words" already`) {
		t.Errorf("twice: exit %d, %s", code, stderr)
	}
	rig.Holds(t, "set", u.Det(t, "template", "set", "cmd", "cmd.yaml"), "Set template cmd")
	rig.Holds(t, "set-value", u.Det(t, "template", "set-value", "config", "cmd", "cmd.yaml"), "Updated template cmd")
	rig.Holds(t, "list", u.Det(t, "template", "list", "-d"), "words", "cmd", "Uncategorized", "FROM_TEMPLATE=yes")
	rig.Holds(t, "describe", u.Det(t, "template", "describe", "words"), "labels:\n- words")

	id, out := u.Create(t, "word-mine", wordsTraining, "--template", "words", "--follow-first-trial")
	rig.Holds(t, "what it had", out, "from the template: yes [('depth', 3), ('lr', 0.5)]")
	u.Det(t, "experiment", "wait", strconv.Itoa(id))
	paused, _ := u.Create(t, "word-paused", wordsTraining, "--template", "words", "--paused", "--config", "labels=other,more")
	rig.Holds(t, "a command", u.Det(t, "command", "run", "--template", "cmd", "sh", "-c", "echo it says $FROM_TEMPLATE"), "it says a command")
	rig.Write(t, u.Home, "wrong.yaml", "resources: {weight: -1}\n")
	u.Det(t, "template", "set", "wrong", "wrong.yaml")
	config, dir := u.Experiment(t, "word-wrong", wordsTraining)
	if _, stderr, code := u.Run(t, "", u.Client(), "experiment", "create", config, dir, "--template", "wrong"); code == 0 || !strings.Contains(stderr, `template "wrong":2:11: resources.weight`) {
		t.Errorf("over a wrong template: exit %d, %s", code, stderr)
	}
	rig.Holds(t, "remove", u.Det(t, "template", "remove", "wrong"), "Removed template wrong")

	stdout, stderr, code := u.Run(t, "", u.Python, "-c", theirSearch, strconv.Itoa(id), strconv.Itoa(paused))
	if code != 0 || strings.Contains(stdout, "False") || strings.Count(stdout, "\n") != 13 {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	trial := rig.First(t, `"id": (\d+)`, u.Det(t, "experiment", "describe", strconv.Itoa(id), "--json"))
	if list := u.Table(t, "experiment", "list-trials", strconv.Itoa(id)); len(list) == 1 {
		trial = rig.First(t, `(\d+)`, list[0]["Trial ID"])
	}
	rig.Holds(t, "bundle", u.Det(t, "trial", "support-bundle", strconv.Itoa(trial), "-o", u.Home), "bundle path: ")
	bundled(t, u, trial)
	u.Det(t, "experiment", "kill", strconv.Itoa(paused))
	for _, name := range []string{"words", "cmd"} {
		u.Det(t, "template", "rm", name)
	}
}

// bundled looks into the support bundle of a trial.
func bundled(t *testing.T, u rig.Person, trial int) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(u.Home, fmt.Sprintf("det-bundle-trial-%d-*.tar.gz", trial)))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	files := map[string]string{}
	for name, text := range unpacked(t, found[0]) {
		files[filepath.Base(name)] = text
	}
	rig.Holds(t, "the trial's log", files["trial_logs.txt"], "from the template: yes")
	rig.Holds(t, "the trial", files["api_trial_call.json"], `"experimentId"`, `"accuracy"`)
	rig.Holds(t, "the experiment", files["api_experiment_call.json"], "word-mine")
	if len(files["master_logs.txt"]) == 0 {
		t.Error("the master's log is empty")
	}
}

// TestOldWordsOfYAML: their client sends a file as it is, and their master reads the boolean words of YAML
// 1.1 as booleans where they stand without quotes.
func TestOldWordsOfYAML(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	config, dir := u.Experiment(t, "oldwords", "import determined\nprint(sorted(determined.get_cluster_info().trial.hparams.items()))\n")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Replace(string(text), "{lr: 0.5}", `{amp: no, augment: Yes, mode: "off"}`, 1)
	if err := os.WriteFile(config, []byte(words), 0o644); err != nil {
		t.Fatal(err)
	}
	rig.Holds(t, "what the trial gets", u.Det(t, "experiment", "create", config, dir, "--follow-first-trial"), "[('amp', False), ('augment', True), ('mode', 'off')]")
}
