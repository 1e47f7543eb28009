package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/importer"
	"github.com/detent-ml/detent/master/importer/importertest"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/server/servertest"
)

// readHistory prints what Determined's own client reads of a cluster, one line for each object.
const readHistory = `
import json, sys, warnings
warnings.simplefilter("ignore")
from determined.experimental import client
client.login(master=sys.argv[1], user=sys.argv[2], password=sys.argv[3])
show = lambda *what: print("|".join(str(w) for w in what))
session = client._determined._session
from determined.common.api import bindings
for u in bindings.get_GetUsers(session, limit=0).users:
    show("user", u.id, u.username, u.admin, u.active, u.remote, u.displayName or "")
for w in bindings.get_GetWorkspaces(session, limit=0).workspaces:
    show("workspace", w.id, w.name, w.archived)
    for p in bindings.get_GetWorkspaceProjects(session, id=w.id, limit=0).projects:
        show("project", p.id, p.name, p.workspaceId, p.archived, p.key)
for e in client.list_experiments():
    x = bindings.get_GetExperiment(session, experimentId=e.id).experiment
    show("experiment", x.id, x.name, x.userId, x.projectId, x.archived, x.notes.strip(), x.forkedFrom or "", ",".join(sorted(x.labels or [])), x.searcherType, x.unmanaged)
    for t in e.list_trials():
        one = bindings.get_GetTrial(session, trialId=t.id).trial
        show("trial", t.id, e.id, json.dumps(t.hparams, sort_keys=True), one.restarts, one.totalBatchesProcessed, one.checkpointCount)
        for group in ["training", "validation", "inference"]:
            reports = list(t.iter_metrics(group))
            if reports:
                losses = [r.metrics["loss"] for r in reports if "loss" in r.metrics]
                show("metrics", t.id, group, len(reports), sum(r.steps_completed for r in reports), "%.6f" % sum(losses))
        for c in sorted(t.list_checkpoints(), key=lambda c: c.uuid):
            show("checkpoint", t.id, c.uuid, c.state.value, sum(int(s) for s in (c.resources or {}).values()), c.metadata.get("steps_completed", ""))
for m in client.get_models():
    show("model", m.name, m.model_id, m.archived, ",".join(m.labels or []))
    for v in m.list_versions():
        show("version", m.name, v.model_version, v.checkpoint.uuid, v.name or "")
`

// historyOf is what readHistory must print, from the rows of the old database. Searches that have not ended are shown with their trials, as they are there.
const historyOf = `
SELECT concat_ws('|', 'user', id, username, initcap(coalesce(admin, false)::text), initcap(coalesce(active, true)::text), initcap(remote::text), coalesce(display_name, '')) FROM users
UNION ALL SELECT concat_ws('|', 'workspace', id, name, initcap(archived::text)) FROM workspaces
UNION ALL SELECT concat_ws('|', 'project', p.id, p.name, p.workspace_id, initcap((p.archived OR w.archived)::text), p.key) FROM projects p JOIN workspaces w ON w.id = p.workspace_id
UNION ALL SELECT concat_ws('|', 'experiment', id, config->>'name', owner_id, project_id, initcap(archived::text), notes, coalesce(parent_id::text, ''),
	(SELECT coalesce(string_agg(l, ',' ORDER BY l), '') FROM jsonb_array_elements_text(config->'labels') l), config #>> '{searcher,name}', initcap(unmanaged::text)) FROM experiments
UNION ALL SELECT concat_ws('|', 'metrics', trial_id, metric_group, count(*), sum(total_batches), to_char(coalesce(sum((metrics #>> '{avg_metrics,loss}')::float8), 0), 'FM999999990.000000'))
	FROM (SELECT trial_id, metric_group, total_batches, metrics FROM raw_steps WHERE NOT archived UNION ALL SELECT trial_id, metric_group, total_batches, metrics FROM generic_metrics WHERE NOT archived) m GROUP BY trial_id, metric_group
UNION ALL SELECT concat_ws('|', 'metrics', trial_id, 'validation', count(*), sum(total_batches), to_char(coalesce(sum((metrics #>> '{validation_metrics,loss}')::float8), 0), 'FM999999990.000000'))
	FROM raw_validations WHERE NOT archived GROUP BY trial_id
UNION ALL SELECT concat_ws('|', 'checkpoint', c.run_id, k.uuid, 'STATE_' || k.state, coalesce((SELECT sum(value::bigint) FROM jsonb_each_text(k.resources)), 0), coalesce(k.metadata->>'steps_completed', ''))
	FROM checkpoints_v2 k JOIN run_checkpoints c ON c.checkpoint_id = k.uuid
UNION ALL SELECT concat_ws('|', 'model', name, id, initcap(archived::text), coalesce(array_to_string(labels, ','), '')) FROM models
UNION ALL SELECT concat_ws('|', 'version', m.name, v.version, v.checkpoint_uuid, coalesce(v.name, '')) FROM model_versions v JOIN models m ON m.id = v.model_id`

// trialsOf are the lines of trials, whose hyperparameters the test writes as Python does.
const trialsOf = `SELECT jsonb_build_object('id', r.id, 'experiment', experiment_id, 'hparams', hparams, 'restarts', restarts, 'batches', total_batches,
	'checkpoints', (SELECT count(*) FROM run_checkpoints c JOIN checkpoints_v2 k ON k.uuid = c.checkpoint_id WHERE c.run_id = r.id AND k.state IN ('COMPLETED', 'PARTIALLY_DELETED')))::text FROM runs r`

// TestImportedHistoryInDeterminedsClient: what Determined's unmodified client reads after an import is what the old database has. With
// DETENT_DETERMINED_DUMP, the file of a real cluster's database, it reads that one too.
func TestImportedHistoryInDeterminedsClient(t *testing.T) {
	t.Parallel()
	python := rig.DeterminedPython(t)
	t.Run("invented", func(t *testing.T) {
		t.Parallel()
		compareHistory(t, python, importertest.Old(t, importertest.Shape{Experiments: 30, Trials: 3, Steps: 60, Lines: 2}))
	})
	if dump := os.Getenv("DETENT_DETERMINED_DUMP"); dump != "" {
		t.Run("real", func(t *testing.T) { compareHistory(t, python, importertest.Restored(t, dump)) })
	}
}

func compareHistory(t *testing.T, python string, from *rowtest.World) {
	t.Helper()
	m := servertest.Start(t, nil)
	var out strings.Builder
	if err := importer.Run(t.Context(), m.DB, importer.Options{From: from.DSN, Out: &out, Lines: true, Verify: true}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	rig.Eventually(t, "the master has made the summaries that the old one had not", func() (bool, error) {
		return metrics.CaughtUp(t.Context(), m.DB)
	})
	cmd := exec.CommandContext(t.Context(), python, "-c", readHistory, m.Address(), "ada", importertest.Password)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(printed)) {
		seen[strings.TrimSuffix(line, "\n")] = true
	}
	want := lines(t, from, historyOf)
	for _, text := range lines(t, from, trialsOf) {
		var r struct {
			ID, Experiment, Restarts, Batches, Checkpoints int
			HParams                                        map[string]any
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("trial|%d|%d|%s|%d|%d|%d", r.ID, r.Experiment, pythonJSON(t, r.HParams), r.Restarts, r.Batches, r.Checkpoints))
	}
	missing := 0
	for _, line := range want {
		if !seen[line] {
			if missing++; missing <= 10 {
				t.Errorf("Determined's client does not read %s", line)
			}
		}
		delete(seen, line)
	}
	if len(want) < 100 {
		t.Errorf("only %d objects were compared", len(want))
	}
	more := 0
	for line := range seen {
		if more++; more <= 10 {
			t.Errorf("Determined's client reads %s, which the old database does not have", line)
		}
	}
}

func lines(t *testing.T, from *rowtest.World, sql string) []string {
	t.Helper()
	var list []string
	if err := json.Unmarshal([]byte(from.Text(`SELECT coalesce(json_agg(x), '[]')::text FROM (`+sql+`) y (x)`)), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// pythonJSON writes a value as json.dumps of Python does, with sorted keys.
func pythonJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	quoted := false
	for i, c := range string(text) {
		b.WriteRune(c)
		if c == '"' && text[max(i-1, 0)] != '\\' {
			quoted = !quoted
		}
		if !quoted && (c == ',' || c == ':') {
			b.WriteByte(' ')
		}
	}
	return b.String()
}
