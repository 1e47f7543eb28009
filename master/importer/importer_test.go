package importer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/importer"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/sleep"
)

// TestImport: everything of an old cluster is here under its number.
func TestImport(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	from.Exec(`INSERT INTO local_id_redirect VALUES (1, NULL, 'OTHER', 4)`)
	text := d.take(from)
	for _, want := range []string{"both sides have the same reports, trials and checkpoints", "configurations lost never_heard_of (1: experiments 14)", "restart its masters", "  s3 ours runs: read ", "  shared_fs /data checkpoints: read ",
		`note: the config policy of workspace "Old things" for EXPERIMENT is not imported: `} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	for _, c := range []struct{ what, old, ours string }{
		{"cluster", `SELECT cluster_id FROM cluster_id`, `SELECT id::text FROM cluster`},
		{"users", `SELECT string_agg(id || username || admin || active || remote || coalesce(display_name, ''), ',' ORDER BY id) FROM users`,
			`SELECT string_agg(id || username || admin || active || remote || display_name, ',' ORDER BY id) FROM users`},
		{"agent user", `SELECT '1003'`, `SELECT agent_user->>'uid' FROM users WHERE id = 3`},
		{"groups", `SELECT 'vision 3 4'`, `SELECT g.name || ' ' || string_agg(m.user_id::text, ' ' ORDER BY m.user_id) FROM groups g JOIN group_members m ON m.group_id = g.id GROUP BY g.id`},
		{"roles", `SELECT '1|1|-|-,2|3|-|2,4|-|4|-'`, `SELECT string_agg(concat_ws('|', role_id, coalesce(user_id::text, '-'), coalesce(group_id::text, '-'), coalesce(workspace_id::text, '-')), ',' ORDER BY role_id) FROM role_assignments`},
		{"workspaces", `SELECT string_agg(id || name || archived, ',' ORDER BY id) FROM workspaces`, `SELECT string_agg(id || name || archived, ',' ORDER BY id) FROM workspaces`},
		{"settings", `SELECT '{"agent_user": {"uid": 1003, "user": "ada"}, "checkpoint_storage": {"type": "s3", "bucket": "vision", "prefix": "runs"}, "default_compute_pool": "gpu"}'`, `SELECT settings::text FROM workspaces WHERE id = 2`},
		{"projects", `SELECT string_agg(id || name || key || archived || workspace_id, ',' ORDER BY id) FROM projects`, `SELECT string_agg(id || name || key || archived || workspace_id, ',' ORDER BY id) FROM projects`},
		{"policies", `SELECT '2'`, `SELECT count(*)::text FROM config_policies`},
		{"experiments", `SELECT string_agg(concat_ws('|', id, config->>'name', owner_id, project_id, parent_id, archived, notes, best_trial_id, unmanaged, external_experiment_id, start_time), ',' ORDER BY id) FROM experiments`,
			`SELECT string_agg(concat_ws('|', id, config->>'name', owner_id, project_id, parent_id, archived, notes, best_trial_id, unmanaged, external_id, started_at), ',' ORDER BY id) FROM experiments`},
		{"states", `SELECT string_agg(n || s, ' ' ORDER BY n) FROM (VALUES (1, 'PAUSED'), (2, 'PAUSED'), (3, 'CANCELED'), (4, 'CANCELED'), (5, 'COMPLETED'), (6, 'ERROR'), (9, 'COMPLETED'), (10, 'ERROR')) x (n, s)`,
			`SELECT string_agg(id || state, ' ' ORDER BY id) FROM experiments WHERE id IN (1, 2, 3, 4, 5, 6, 9, 10)`},
		{"trials", `SELECT string_agg(concat_ws('|', r.id, experiment_id, hparams, restarts, archived, external_run_id, log_retention_days, log_policy_matched, m.metadata, t.seed), ',' ORDER BY r.id) FROM runs r JOIN trials_v2 t ON t.run_id = r.id LEFT JOIN runs_metadata m ON m.run_id = r.id`,
			`SELECT string_agg(concat_ws('|', id, experiment_id, hparams, restarts, archived, external_id, log_retention_days, log_policy_matched, metadata, seed), ',' ORDER BY id) FROM trials`},
		{"local ids", `SELECT string_agg(p.key || '-' || r.local_id, ',' ORDER BY r.id) FROM runs r JOIN projects p ON p.id = r.project_id WHERE r.local_id IS NOT NULL`, `SELECT string_agg(local_id, ',' ORDER BY id) FROM trials`},
		{"continued", `SELECT count(*)::text FROM runs WHERE id % 10 = 0`, `SELECT count(*)::text FROM task_parts`},
		{"earlier names", `SELECT 'OTHER-4 1'`, `SELECT name || ' ' || trial_id FROM earlier_names WHERE name LIKE 'OTHER%'`},
		{"best values", `SELECT sum(searcher_metric_value)::numeric(20, 9)::text FROM runs`, `SELECT sum(searcher_value)::numeric(20, 9)::text FROM trial_summaries`},
		{"stale summaries", `SELECT count(*)::text FROM runs WHERE id % 11 = 0`, `SELECT count(*)::text FROM trial_summaries WHERE stale`},
		{"archived", `SELECT count(*)::text FROM raw_steps WHERE archived`, `SELECT count(*)::text FROM metrics WHERE archived`},
		{"reports of nodes", `SELECT count(*)::text FROM system_metrics`, `SELECT count(*)::text FROM metrics WHERE steps IS NULL AND group_name = 'cpu'`},
		{"checkpoints", `SELECT string_agg(concat_ws('|', uuid, state, size, coalesce((metadata->>'steps_completed')::int, 0)), ',' ORDER BY uuid) FROM checkpoints_v2`, `SELECT string_agg(concat_ws('|', uuid, state, size, steps), ',' ORDER BY uuid) FROM checkpoints`},
		{"storages", `SELECT 'azure directory gcs s3 shared_fs'`, `SELECT string_agg(DISTINCT b.config->>'type', ' ') FROM checkpoints k JOIN storage_backends b ON b.id = k.storage_id`},
		{"webhooks", `SELECT '1done SLACK WORKSPACE EXPERIMENT_STATE_CHANGE,2lines DEFAULT SPECIFIC TASK_LOG CUSTOM'`,
			`SELECT string_agg(w.id || w.name || ' ' || w.type || ' ' || w.mode || (SELECT string_agg(' ' || t.type, '' ORDER BY t.id) FROM webhook_triggers t WHERE t.webhook_id = w.id), ',' ORDER BY w.id) FROM webhooks w WHERE off`},
		{"models", `SELECT 'bare|0|1 net|3|3'`, `SELECT string_agg(concat_ws('|', name, newest, owner_id), ' ' ORDER BY name) FROM models`},
		{"sources", `SELECT 'FINE_TUNING|1|1 INFERENCE'`, `SELECT string_agg(concat_ws('|', kind, model_id, version), ' ' ORDER BY kind) FROM trial_sources`},
		{"labels", `SELECT string_agg(id || ' ' || (SELECT string_agg(l, '|' ORDER BY l) FROM jsonb_array_elements_text(config->'labels') l), ',' ORDER BY id) FROM experiments`,
			`SELECT string_agg(id || ' ' || (SELECT string_agg(l, '|' ORDER BY l) FROM unnest(labels) l), ',' ORDER BY id) FROM experiments`},
		{"submitted texts", `SELECT string_agg(id || coalesce(original_config, ''), ',' ORDER BY id) FROM experiments`, `SELECT string_agg(id || original_config, ',' ORDER BY id) FROM experiments`},
		{"places in configurations", `SELECT string_agg(concat_ws('|', e.id, w.name, p.name), ',' ORDER BY e.id) FROM experiments e JOIN projects p ON p.id = e.project_id JOIN workspaces w ON w.id = p.workspace_id`,
			`SELECT string_agg(concat_ws('|', id, config->>'workspace', config->>'project'), ',' ORDER BY id) FROM experiments`},
		{"group numbers", `SELECT string_agg(id || group_name, ',' ORDER BY id) FROM groups WHERE user_id IS NULL`, `SELECT string_agg(id || name, ',' ORDER BY id) FROM groups`},
		{"pins", `SELECT string_agg(user_id || ' ' || workspace_id, ',') FROM workspace_pins`, `SELECT string_agg(user_id || ' ' || workspace_id, ',') FROM workspace_pins`},
		{"bindings", `SELECT string_agg(pool_name || ' ' || workspace_id, ',') FROM rp_workspace_bindings`, `SELECT string_agg(pool || ' ' || workspace_id, ',') FROM pool_bindings`},
		{"templates", `SELECT string_agg(concat_ws('|', name, workspace_id, config), ',' ORDER BY name) FROM templates`, `SELECT string_agg(concat_ws('|', name, workspace_id, config), ',' ORDER BY name) FROM templates`},
		{"notes of projects", `SELECT string_agg(concat_ws('|', id, coalesce(description, ''), coalesce(notes, '[]')), ',' ORDER BY id) FROM projects`, `SELECT string_agg(concat_ws('|', id, description, notes), ',' ORDER BY id) FROM projects`},
		{"contents of models", `SELECT string_agg(concat_ws('|', id, workspace_id, coalesce(description, ''), coalesce(notes, ''), coalesce(labels, '{}'), coalesce(metadata, '{}'), archived), ',' ORDER BY id) FROM models`,
			`SELECT string_agg(concat_ws('|', id, workspace_id, description, notes, labels, metadata, archived), ',' ORDER BY id) FROM models`},
		{"versions", `SELECT string_agg(concat_ws('|', id, model_id, version, checkpoint_uuid, coalesce(name, ''), coalesce(comment, ''), coalesce(notes, ''), coalesce(labels, '{}'), coalesce(metadata, '{}')), ',' ORDER BY id) FROM model_versions`,
			`SELECT string_agg(concat_ws('|', id, model_id, version, checkpoint, name, comment, notes, labels, metadata), ',' ORDER BY id) FROM model_versions`},
		{"tasks", `SELECT string_agg(task_id, ',' ORDER BY task_id) FROM run_id_task_id`,
			`SELECT string_agg(id, ',' ORDER BY id) FROM (SELECT id FROM tasks UNION ALL SELECT task_id || '-' || n FROM task_parts) x`},
		{"allocations", `SELECT string_agg(allocation_id || a.slots, ',' ORDER BY allocation_id) FROM allocations a JOIN run_id_task_id r ON r.task_id = a.task_id`,
			`SELECT string_agg(id || slots, ',' ORDER BY id) FROM allocations`},
		{"addresses of webhooks", `SELECT string_agg(id || url, ',' ORDER BY id) FROM webhooks`, `SELECT string_agg(id || url, ',' ORDER BY id) FROM webhooks`},
		{"the first log", `SELECT max(r.run_id)::text FROM run_id_task_id r JOIN task_logs l ON l.task_id = r.task_id`,
			`SELECT t.id::text FROM log_chunks c JOIN log_tasks l ON l.id = c.log_task JOIN trials t ON t.task_id = l.task_id ORDER BY l.id LIMIT 1`},
		{"usage", `SELECT count(*)::text FROM allocations WHERE start_time IS NOT NULL`, `SELECT count(*)::text FROM usage`},
		{"of notebooks", `SELECT '8'`, `SELECT (extract(epoch FROM ended_at - started_at) * slots / 3600)::int::text FROM usage WHERE task_type = 'NOTEBOOK'`},
		{"lines", `SELECT count(*)::text FROM task_logs`, `SELECT sum(lines)::text FROM log_chunks`},
	} {
		if want, got := from.Text(c.old), d.Text(c.ours); want != got {
			t.Errorf("%s:\n%s\nin place of\n%s", c.what, fault.Clip(got), fault.Clip(want))
		}
	}
	if n := d.Int(`SELECT count(*) FROM metrics m, metrics_cursor c WHERE (m.xid, m.id) > (c.xid, c.id)`); n > 0 {
		t.Errorf("the summarizer would fold %d imported reports into summaries that have them", n)
	}
	stored := d.Text(`SELECT password_hash FROM users WHERE username = 'ada'`)
	if !auth.IsForeign(stored) {
		t.Errorf("ada's password is stored as %q", stored)
	}
	// The next objects get numbers after the imported ones.
	if n := d.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('next', 1) RETURNING id`); n != 4 {
		t.Errorf("the next workspace has the number %d", n)
	}
}

// TestSecondPass: a second pass copies what has changed, and nothing else.
func TestSecondPass(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	d.take(from)
	first := d.sum()
	xmin := d.Text(`SELECT max(xmin::text::bigint)::text FROM metrics`)
	if text := d.take(from); !strings.Contains(text, "metrics      0,") {
		t.Errorf("a second pass without changes copies metrics:\n%s", text)
	}
	if d.sum() != first || d.Text(`SELECT max(xmin::text::bigint)::text FROM metrics`) != xmin {
		t.Errorf("a second pass without changes changes rows:\n%s\nin place of\n%s", d.sum(), first)
	}
	preview := func(want string) {
		t.Helper()
		if text := d.take(from, func(o *importer.Options) { o.DryRun = true }); !strings.Contains(text, "this cluster was imported before: "+want) || !strings.Contains(text, "Another pass needs") {
			t.Errorf("a dry run does not say %q:\n%s", want, text)
		}
	}
	preview("0 of its trials are new or have changed since, with 0 reports")
	if text, err := d.tries(t.Context(), from, prefix("old/"), func(o *importer.Options) { o.DryRun = true }); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "continues only without one") {
		t.Errorf("a dry run with another prefix: %v\n%s", err, text)
	}
	// Trial 4 restarts from step 30, and goes on; experiment 1 ends; a user and an experiment are new; one has a new name.
	from.Exec(`UPDATE raw_steps SET archived = true WHERE trial_id = 4 AND total_batches > 30`)
	from.Exec(`INSERT INTO raw_steps SELECT 4, now(), '{"avg_metrics": {"loss": 7}}', s, 3, false, 1999000000 + s, 'training', 'TRAINING' FROM generate_series(31, 33) s`)
	from.Exec(`UPDATE runs SET restart_id = 3, restarts = 2 WHERE id = 4`)
	from.Exec(`UPDATE experiments SET state = 'COMPLETED', end_time = now() WHERE id = 2`)
	from.Exec(`INSERT INTO users (id, username, password_hash, admin, active, remote) VALUES (9, 'new', 'x', false, true, false)`)
	from.Exec(`INSERT INTO jobs VALUES ('b7a3a6b0-0000-4000-8000-000000000099', 'EXPERIMENT', 9, '0')`)
	from.Exec(`INSERT INTO experiments SELECT 99, state, config, model_definition, start_time, end_time, archived, parent_id, 9, progress, original_config, notes, 'b7a3a6b0-0000-4000-8000-000000000099', project_id, 0, 0, NULL, false, NULL FROM experiments WHERE id = 13`)
	from.Exec(`UPDATE workspaces SET name = 'Sight' WHERE id = 2`)
	preview("1 of its trials are new or have changed since, with " + from.Text(`SELECT sum(n)::text FROM (SELECT count(*) AS n FROM raw_steps WHERE trial_id = 4 UNION ALL SELECT count(*) FROM raw_validations WHERE trial_id = 4
		UNION ALL SELECT count(*) FROM generic_metrics WHERE trial_id = 4 UNION ALL SELECT count(*) FROM system_metrics WHERE trial_id = 4) x`) + " reports")
	d.take(from)
	for sql, want := range map[string]string{
		`SELECT count(*)::text FROM metrics WHERE trial_id = 4 AND NOT archived AND group_name = 'training'`: from.Text(`SELECT count(*)::text FROM raw_steps WHERE trial_id = 4 AND NOT archived`),
		`SELECT run_id::text FROM trials WHERE id = 4`:                                                       "3",
		`SELECT state FROM experiments WHERE id = 2`:                                                         "COMPLETED",
		`SELECT owner_id::text FROM experiments WHERE id = 99`:                                               "9",
		`SELECT name FROM workspaces WHERE id = 2`:                                                           "Sight",
	} {
		if got := d.Text(sql); got != want {
			t.Errorf("%s: %s in place of %s", sql, got, want)
		}
	}
}

// TestInterrupted: an import that is interrupted anywhere, and repeated, ends with the same rows.
func TestInterrupted(t *testing.T) {
	from, whole, d := newOld(t), newDetent(t), newDetent(t)
	began := time.Now()
	whole.take(from)
	took, want := time.Since(began), whole.sum()
	times := 4
	if os.Getenv("DETENT_THOROUGH") != "" {
		times = 100
	}
	for i := range times {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_ = sleep.For(ctx, took*time.Duration(i+1)/time.Duration(times))
			cancel()
		}()
		text, err := d.tries(ctx, from)
		cancel()
		if err != nil && ctx.Err() == nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	d.take(from)
	if got := d.sum(); got != want {
		t.Errorf("after %d interruptions:\n%s\nin place of\n%s", times, got, want)
	}
}

// TestKilled: an import whose process is killed anywhere, and repeated, ends with the same rows.
func TestKilled(t *testing.T) {
	if from := os.Getenv("DETENT_IMPORT_FROM"); from != "" { // the process that is killed
		d := detent{&rowtest.World{T: t, DSN: os.Getenv("DETENT_IMPORT_INTO")}}
		d.DB = d.Open(2)
		d.take(&rowtest.World{T: t, DSN: from})
		return
	}
	from, whole, d := newOld(t), newDetent(t), newDetent(t)
	began := time.Now()
	whole.take(from)
	took, want := time.Since(began), whole.sum()
	times := 2
	if os.Getenv("DETENT_THOROUGH") != "" {
		times = 100
	}
	for range times {
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(took)+took/20)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestKilled$") // its context ends it with SIGKILL
		cmd.Env = append(os.Environ(), "DETENT_IMPORT_FROM="+from.DSN, "DETENT_IMPORT_INTO="+d.DSN)
		if out, err := cmd.CombinedOutput(); err != nil && ctx.Err() == nil {
			t.Fatalf("%v\n%s", err, out)
		}
		cancel()
	}
	until := time.Now().Add(time.Minute)
	for text, err := d.tries(t.Context(), from); err != nil; text, err = d.tries(t.Context(), from) {
		if !fault.Is(err, fault.Conflict) || time.Now().After(until) { // the database still ends what the killed process had begun
			t.Fatalf("%v\n%s", err, text)
		}
	}
	if got := d.sum(); got != want {
		t.Errorf("after %d kills:\n%s\nin place of\n%s", times, got, want)
	}
}

// TestBesideExistingWork: with a prefix, an old cluster comes beside what is here, with new numbers.
func TestBesideExistingWork(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	mine := d.Experiment(`{"name": "single", "metric": "loss"}`)
	d.Trial(mine, 0, 1)
	d.Exec(`INSERT INTO users (username, password_hash) VALUES ('ada', 'hers')`)
	if text, err := d.tries(t.Context(), from); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "--workspace-prefix") {
		t.Errorf("without a prefix: %v\n%s", err, text)
	}
	prefixed := func(o *importer.Options) { o.Prefix = "old/" }
	for range 2 {
		d.take(from, prefixed)
	}
	for sql, want := range map[string]string{
		`SELECT string_agg(name, ' ' ORDER BY id) FROM workspaces`:                                                            "Uncategorized old/Uncategorized old/Vision old/Old things",
		`SELECT count(*) || ' ' || min(id) || ' ' || max(id) FROM experiments WHERE id > 1000`:                                "60 1001 1060",
		`SELECT count(*)::text FROM experiments`:                                                                              "61",
		`SELECT password_hash FROM users WHERE username = 'ada'`:                                                              "hers",
		`SELECT string_agg(name, ' ' ORDER BY id) FROM models`:                                                                "old/net old/bare",
		`SELECT u.username FROM experiments e JOIN users u ON u.id = e.owner_id WHERE e.id = 1002`:                            "ada",
		`SELECT (id = $1)::text FROM cluster`:                                                                                 "false",
		`SELECT state FROM experiments WHERE id = (SELECT min(id) FROM experiments)`:                                          "PAUSED",
		`SELECT (count(*) > 0)::text FROM metrics WHERE trial_id = 1001`:                                                      "true",
		`SELECT string_agg(DISTINCT e.config #>> '{checkpoint_storage,storage_path}', '') FROM experiments e WHERE id > 1000`: "checkpoints",
	} {
		var args []any
		if strings.Contains(sql, "$1") {
			args = []any{from.Text(`SELECT cluster_id FROM cluster_id`)}
		}
		if got := d.Text(sql, args...); got != want {
			t.Errorf("%s: %s in place of %s", sql, got, want)
		}
	}
	if _, err := d.tries(t.Context(), from, func(o *importer.Options) { o.Prefix = "other/" }); !fault.Is(err, fault.Conflict) {
		t.Errorf("with another prefix: %v", err)
	}
}

// TestRefusals: an import says what is wrong with the old database.
func TestRefusals(t *testing.T) {
	d := newDetent(t)
	for _, c := range []struct {
		from *rowtest.World
		want string
	}{
		{d.World, "the database is not of Determined"},
		{func() *rowtest.World {
			o := newOld(t)
			o.Exec(`INSERT INTO gopg_migrations VALUES (3, 20990101000000, now())`)
			return o
		}(), "schema 20990101000000"},
	} {
		if text, err := d.tries(t.Context(), c.from); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v in place of %q\n%s", err, c.want, text)
		}
	}
	nowhere := *d.World
	nowhere.DSN = "postgres://nobody:secret@127.0.0.1:1/none"
	if _, err := d.tries(t.Context(), &nowhere); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("an address where nobody answers: %v", err)
	}
}

// TestDryRun: a dry run says what would be lost, and imports nothing.
func TestDryRun(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	before := d.sum()
	text := d.take(from, func(o *importer.Options) { o.DryRun = true })
	for _, want := range []string{"experiments     60", "have not ended", "configurations would lose never_heard_of (1: experiments 14)", "nothing was imported"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if d.sum() != before || d.Int(`SELECT count(*) FROM imports`) > 0 {
		t.Error("a dry run wrote rows")
	}
}

// FuzzTranslate: whatever the old cluster has as a configuration, the imported one can be read.
func FuzzTranslate(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `{"name": 3}`, `{"name": "a", "searcher": {"name": "adaptive", "metric": 7}, "x": {"y": 1}}`, `{"name": "a", "reproducibility": {"experiment_seed": 1}, "checkpoint_storage": {"type": "hdfs"}}`,
		`{"name": "a", "reproducibility": {"experiment_seed": 1}, "resources": {"slots_per_trial": "many"}, "bind_mounts": {"0": 1}}`, `{"name": "a", "pbs": {}, "slurm": {"sbatch_args": []}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if !json.Valid(src) || bytes.Contains(src, []byte(`\u0000`)) {
			return
		}
		config, _ := importer.Translate(12, src)
		if _, err := expconf.ParseConfigJSON(config); err != nil {
			t.Errorf("%s became %s: %v", src, config, err)
		}
	})
}
