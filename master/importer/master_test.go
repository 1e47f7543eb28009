package importer_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/importer"
	"github.com/detent-ml/detent/master/importer/importertest"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/search/onward"
	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// importInto imports into the database of a running master.
func importInto(t *testing.T, m *servertest.Master, from *rowtest.World) detent {
	t.Helper()
	d := detent{&rowtest.World{T: t, DB: m.DB}}
	d.take(from, func(o *importer.Options) { o.Verify = false })
	return d
}

// TestMasterShowsWhatWasImported: a running master answers for everything that was imported, whatever state, age and gaps it has.
func TestMasterShowsWhatWasImported(t *testing.T) {
	from, m := newOld(t), servertest.Start(t, nil)
	// The old cluster's folder of checkpoints is where the master can read it.
	from.Exec(`UPDATE experiments SET config = jsonb_set(config, '{checkpoint_storage,host_path}', to_jsonb($1::text))`, m.Storage)
	weights := fmt.Sprintf("%s/checkpoints/%s", m.Storage, from.Text(`SELECT md5('checkpoint1-1')::uuid::text`))
	if err := os.MkdirAll(weights, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"weights": "the weights", "metadata.json": "{}"} {
		if err := os.WriteFile(weights+"/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d := importInto(t, m, from)
	c := m.Client("admin")
	get := func(path string, args ...any) string {
		t.Helper()
		answer, err := c.Raw(t.Context(), "GET", fmt.Sprintf(path, args...), nil)
		if err != nil {
			t.Errorf("%s: %v", fmt.Sprintf(path, args...), err)
		}
		return string(answer)
	}
	for _, path := range []string{"/api/v1/experiments?limit=200", "/api/v1/users", "/api/v1/workspaces", "/api/v1/workspaces/2", "/api/v1/workspaces/2/projects", "/api/v1/projects/2", "/api/v1/templates",
		"/api/v1/templates/gpu-defaults", "/api/v1/models", "/api/v1/models/net/versions", "/api/v1/models/bare", "/api/v1/job-queues-v2", "/api/v1/tasks", "/api/v1/config-policies/workspaces/2/EXPERIMENT",
		"/api/v1/resources/allocation/aggregated?startDate=2026-02-01&endDate=2026-02-10&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"} {
		get("%s", path)
	}
	for id := 1; id <= importertest.Small.Experiments; id++ {
		var e struct{ Experiment struct{ Name string } }
		if err := json.Unmarshal([]byte(get("/api/v1/experiments/%d", id)), &e); err != nil || e.Experiment.Name != fmt.Sprintf("experiment %d", id) {
			t.Errorf("experiment %d: %v %+v", id, err, e.Experiment)
		}
		for _, part := range []string{"/trials", "/checkpoints", "/validation-history"} {
			get("/api/v1/experiments/%d%s", id, part)
		}
		if id%10 != 9 {
			get("/api/v1/experiments/%d/model_def", id)
		}
	}
	for id := 1; id <= 120; id += 7 {
		get("/api/v1/trials/%d", id)
		get("/api/v1/trials/time-series?trialIds=%d&maxDatapoints=100&startBatches=0&endBatches=1000&metricIds=training.loss&metricIds=validation.loss", id)
		if logs := get("/api/v1/trials/%d/logs?limit=100", id); id%2 == 0 && !strings.Contains(logs, fmt.Sprintf("of trial %d", id)) {
			t.Errorf("the log of trial %d: %s", id, logs)
		}
	}
	for _, uuid := range strings.Fields(d.Text(`SELECT string_agg(uuid::text, ' ') FROM checkpoints`)) {
		get("/api/v1/checkpoints/%s", uuid)
	}
	// A checkpoint is read where Determined stored it.
	archive, err := c.CheckpointArchive(t.Context(), from.Text(`SELECT md5('checkpoint1-1')::uuid::text`))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	unpacked, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	if files, err := io.ReadAll(unpacked); err != nil || !bytes.Contains(files, []byte("the weights")) {
		t.Errorf("the files of a checkpoint: %v, %d bytes", err, len(files))
	}
	found, err := c.Raw(t.Context(), "POST", "/api/v1/runs", []byte(`{"limit": 200}`))
	if err != nil || !strings.Contains(string(found), `"localId":"FACES-6"`) {
		t.Errorf("runs: %v %s", err, found[:min(len(found), 2000)])
	}
	m.Until("summaries of trials that had none", func() bool {
		all, err := metrics.CaughtUp(t.Context(), m.DB)
		return all && err == nil
	})
	want := from.Text(`SELECT count(*)::text FROM raw_steps WHERE trial_id = 11 AND NOT archived`)
	if got := d.Text(`SELECT summary #>> '{avg_metrics,loss,count}' FROM trial_summaries WHERE trial_id = 11`); got != want {
		t.Errorf("the summary of trial 11 has %s reports in place of %s", got, want)
	}
}

// TestOldPasswordsWork: people sign in with the passwords of the old cluster, which are stored as ours from then on.
func TestOldPasswordsWork(t *testing.T) {
	m := servertest.Start(t, nil)
	d := importInto(t, m, newOld(t))
	sign := func(user, password string) error {
		c, err := client.New(client.Options{Master: m.Address()})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.Login(t.Context(), user, password)
		return err
	}
	if err := sign("ada", importertest.Password+"x"); err == nil {
		t.Error("a wrong password opens a session")
	}
	for i := range 2 {
		if err := sign("ada", importertest.Password); err != nil {
			t.Fatal(err)
		}
		if stored := d.Text(`SELECT password_hash FROM users WHERE username = 'ada'`); auth.IsForeign(stored) {
			t.Errorf("after sign-in %d the hash is still Determined's", i+1)
		}
	}
	for user, want := range map[string]string{"gone": "not active", "sso": "invalid credentials"} {
		if err := sign(user, importertest.Password); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", user, err)
		}
	}
}

// TestImportedExperimentsGoOn: an experiment that had not ended is paused here and goes on when somebody activates it, one that had ended is continued, and a
// later pass leaves both alone.
func TestImportedExperimentsGoOn(t *testing.T) {
	from, m := newOld(t), servertest.Start(t, nil)
	d := importInto(t, m, from)
	c := m.Client("admin")
	if _, err := client.Send(t.Context(), c, v1.ContinueExperiment, v1.ContinueExperimentRequest{ID: 17, OverrideConfig: new("resources: {slots_per_trial: 1}")}); err != nil {
		t.Fatal(err)
	}
	if err := client.Act(t.Context(), c, v1.ActivateExperiment, 1); err != nil {
		t.Fatal(err)
	}
	reports := map[int]int{}
	for experiment, trial := range map[int]int{1: 1, 17: d.Int(`SELECT min(id) FROM trials WHERE experiment_id = 17`)} {
		m.Until("reports of a new run", func() bool {
			return d.Int(`SELECT count(*) FROM metrics m JOIN allocations a ON a.task_id = (SELECT task_id FROM trials WHERE id = $1) AND a.run_id = m.run_id
				WHERE m.trial_id = $1 AND a.submitted_at IS NOT NULL`, trial) > 0
		})
		m.Ended(experiment)
		reports[trial] = d.Int(`SELECT count(*) FROM metrics WHERE trial_id = $1`, trial)
	}
	d.take(from)
	for trial, want := range reports {
		if n := d.Int(`SELECT count(*) FROM metrics WHERE trial_id = $1`, trial); n != want || d.Text(`SELECT state FROM trials WHERE id = $1`, trial) != "COMPLETED" {
			t.Errorf("after another pass trial %d has %d reports in place of %d", trial, n, want)
		}
	}
}

// TestImportedSearchesGoOn: a search that had not ended is canceled here, and a new one learns from its trials and makes the others.
func TestImportedSearchesGoOn(t *testing.T) {
	from, m := newOld(t), servertest.Start(t, nil)
	const old, planned, tried = 12, 6, 3
	from.Exec(`UPDATE experiments SET config = jsonb_set(config, '{searcher}', '{"name": "adaptive_asha", "metric": "loss", "max_trials": 6, "max_length": {"batches": 100}}') WHERE id = $1`, old)
	from.Exec(`UPDATE runs SET state = 'ACTIVE', end_time = NULL WHERE id = (SELECT max(id) FROM runs WHERE experiment_id = $1)`, old)
	d := importInto(t, m, from)
	c := m.Client("admin")
	if _, err := client.Send(t.Context(), c, v1.ContinueExperiment, v1.ContinueExperimentRequest{ID: old}); err == nil || !strings.Contains(err.Error(), "det experiment continue 12 --new-search") {
		t.Errorf("a search of the old cluster continues: %v", err)
	}
	shown, err := client.Call(t.Context(), c, v1.GetExperiment, old)
	if err != nil {
		t.Fatal(err)
	}
	config, err := onward.Successor(shown.Experiment.Config, old, tried)
	if err == nil { // the old pool is not here
		config, err = expconf.ApplyOverrides("config", config, []string{"resources.resource_pool=default", "resources.slots_per_trial=1"})
	}
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: new(string(config)), ParentID: new(old), Activate: new(true)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Ended(made.Experiment.ID)
	if !slices.ContainsFunc(made.Remarks, func(r string) bool { return strings.Contains(r, "this search learns from 4 trials of experiment 12") }) {
		t.Errorf("the remarks are %q", made.Remarks)
	}
	d.is(map[string]string{
		fmt.Sprintf(`SELECT jsonb_array_length(body #> '{experiments,0,trials}')::text FROM search_events WHERE experiment_id = %d AND kind = 'learned'`, made.Experiment.ID): fmt.Sprint(tried + 1),
		fmt.Sprintf(`SELECT count(*)::text FROM trials WHERE experiment_id = %d`, made.Experiment.ID):                                                                         fmt.Sprint(planned - tried),
		fmt.Sprintf(`SELECT (context_hash = (SELECT context_hash FROM experiments WHERE id = %d))::text FROM experiments WHERE id = %d`, old, made.Experiment.ID):             "true",
	})
}
