package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/importer"
	"github.com/detent-ml/detent/master/importer/download"
	"github.com/detent-ml/detent/master/importer/importertest"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// over imports over the REST API of a master.
func over(m *servertest.Master) func(*importer.Options) {
	who := download.Access{Token: m.Client("admin").Token()}
	return func(o *importer.Options) { o.From, o.Who = m.Address(), who }
}

// told are the columns that the API tells, by tables. It does not tell: passwords, the seeds of trials, archived reports, the storage that a program has named,
// and when a workspace or a group was made.
var told = []struct{ table, key, columns, where string }{
	{"users", "username", "id, username, display_name, admin, active, remote, agent_user", "true"},
	{"groups", "name", "id, name", "true"},
	{"group_members", "group_id, user_id", "group_id, user_id", "true"},
	{"role_assignments", "role_id, user_id, group_id, workspace_id", "role_id, user_id, group_id, workspace_id", "true"},
	{"workspaces", "id", "id, name, owner_id, archived, settings", "true"},
	{"projects", "id", "id, workspace_id, name, key, description, owner_id, archived, notes", "true"},
	{"templates", "name", "name, workspace_id, config", "true"},
	{"config_policies", "workspace_id, workload", "workspace_id, workload, source", "true"},
	{"webhooks", "id", "id, workspace_id, name, url, type, mode, off", "true"},
	{"webhook_triggers", "webhook_id, id", "webhook_id, type, condition", "true"},
	{"experiments", "id", "id, job_id, owner_id, project_id, parent_id, external_id, unmanaged, config, original_config, name, description, labels, notes, archived, desired, pool, state, started_at, best_trial_id, best_metric", "true"},
	{"tasks", "id", "id, type, job_id, owner_id, workspace_id, experiment_id", "type = 'TRIAL'"},
	{"trials", "id", "id, experiment_id, number, task_id, hparams, warm_start, external_id, archived, state, restarts, run_id, started_at, ended_at, metadata, log_policy_matched", "true"},
	{"trials", "id", "id, local_id", "id IN (SELECT id FROM trials WHERE id < 29 AND local_id IS NOT NULL)"},
	{"task_parts", "task_id, n", "task_id, n", "true"},
	{"trial_summaries", "trial_id", "trial_id, total_batches, latest_run, latest_steps, best_run, best_steps, searcher_value", "true"},
	{"allocations", "id", "id, task_id, run_id, slots, started_at, ended_at", "submitted_at IS NULL AND task_id NOT LIKE '21.%'"},
	{"usage", "allocation_id", "allocation_id, task_type, owner_id, username, workspace, project, experiment_id, slots, started_at, ended_at", "experiment_id IS DISTINCT FROM 21"},
	{"checkpoints", "uuid", "uuid, task_id, trial_id, steps, state, resources, metadata", "true"},
	{"models", "id", "id, name, workspace_id, owner_id, description, notes, labels, metadata, archived, newest, created_at", "true"},
	{"model_versions", "id", "id, model_id, version, checkpoint, name, comment, notes, labels, metadata, created_at", "true"},
	{"metrics", "trial_id, group_name, position, run_id", "trial_id, run_id, group_name, steps, position, reported_at, avg, batches", "NOT archived AND group_name IN ('training', 'validation')"},
	{"log_tasks", "task_id", "task_id, next, bytes", "task_id NOT LIKE '21.%'"},
}

// TestImportOverTheAPI: what a master tells over its REST API becomes the same rows as its database does, but for what the API does not have. The master has an
// imported history, and one that it has made itself.
func TestImportOverTheAPI(t *testing.T) {
	from, m := importertest.Old(t, importertest.Shape{Experiments: 20, Trials: 3, Steps: 60, Lines: 4}), servertest.StartWithRoles(t, nil)
	there, here := importInto(t, m, from), newDetent(t)
	c := m.Client("admin")
	made, err := c.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Activate: new(true), Config: new(
		"name: own\nentrypoint: e\nmax_restarts: 0\nsearcher: {name: random, max_trials: 3, metric: validation_loss, max_length: {batches: 100}}\nhyperparameters: {lr: {type: double, minval: 0, maxval: 1}}\n")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Ended(made.Experiment.ID)
	if text := here.take(from, over(m), func(o *importer.Options) { o.DryRun = true }); !strings.Contains(text, "nothing was imported (--dry-run)") || here.Int(`SELECT count(*) FROM experiments`) > 0 {
		t.Errorf("a dry run prints\n%s", text)
	}
	text := here.take(from, over(m))
	for _, want := range []string{"read over its REST API", "both sides have the same reports, trials and checkpoints", "2 people have no password here", ": ada grace\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	for _, r := range told {
		sql := fmt.Sprintf(`SELECT coalesce(string_agg(to_jsonb(x)::text, E'\n'), '') FROM (SELECT %s FROM %s WHERE %s ORDER BY %s) x`, r.columns, r.table, r.where, r.key)
		if ours, theirs := here.Text(sql), there.Text(sql); ours != theirs || ours == "" {
			t.Errorf("%s: %s", r.table, difference(ours, theirs))
		}
	}
	here.is(map[string]string{
		`SELECT count(*)::text FROM experiments e JOIN contexts c ON c.hash = e.context_hash WHERE e.id <= 20`: "19", // of one that has none, the master sends an empty archive
		`SELECT (password_hash = '` + auth.ForeignHash + `')::text FROM users WHERE username = 'ada'`:          "true",
		`SELECT (to_regnamespace('determined_import') IS NULL)::text`:                                          "true",
	})
	if _, err := client.Send(t.Context(), c, v1.ArchiveExperiment, v1.None{}, made.Experiment.ID); err != nil {
		t.Fatal(err)
	}
	here.take(from, over(m))
	here.is(map[string]string{fmt.Sprintf(`SELECT archived::text FROM experiments WHERE id = %d`, made.Experiment.ID): "true"})
	importsAPart(t, m, from)
}

// asAnother imports as a new user of the old cluster with one role.
func asAnother(t *testing.T, m *servertest.Master, name string, role v1.RoleAssignment) func(*importer.Options) {
	t.Helper()
	admin := m.Client("admin")
	made, err := client.Send(t.Context(), admin, v1.CreateUser, v1.PostUserRequest{User: &v1.User{Username: name, Active: true}})
	if err != nil {
		t.Fatal(err)
	}
	given := v1.AssignRolesRequest{UserRoleAssignments: []v1.UserRoleAssignment{{UserID: made.User.ID, RoleAssignment: role}}}
	if _, err := client.Send(t.Context(), admin, v1.AssignRoles, given); err != nil {
		t.Fatal(err)
	}
	return func(o *importer.Options) { o.From, o.Who = m.Address(), download.Access{Token: m.Client(name).Token()} }
}

// importsAPart: somebody who sees one workspace of a cluster with roles is told so before anything is copied, and imports this workspace if that was accepted.
func importsAPart(t *testing.T, m *servertest.Master, from *rowtest.World) {
	t.Helper()
	d := newDetent(t)
	asEve := asAnother(t, m, "eve", v1.RoleAssignment{Role: v1.Role{RoleID: int(auth.Viewer)}, ScopeWorkspaceID: new(2)})
	partial := func(o *importer.Options) { o.Partial = true }
	const told = "eve is no ClusterAdmin of the old cluster and sees only a part of it: 1 workspaces (Vision), 7 experiments, 1 models and "
	const noted = "note: this is only a part of the old cluster, which eve sees"
	text, err := d.tries(t.Context(), from, asEve)
	if !fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), told) || !strings.Contains(err.Error(), "--partial") {
		t.Errorf("without being accepted: %v\n%s", err, text)
	}
	d.is(map[string]string{`SELECT (to_regnamespace('determined_import') IS NULL)::text`: "true"})
	unverified := func(o *importer.Options) { o.Verify = false } // which leaves the copy
	asMallory := asAnother(t, m, "mallory", v1.RoleAssignment{Role: v1.Role{RoleID: int(auth.Viewer)}, ScopeWorkspaceID: new(3)})
	whole := newDetent(t)
	whole.take(from, over(m), unverified)
	copied := `SELECT (SELECT count(*) FROM determined_import.experiments) || ' ' || (SELECT count(*) FROM determined_import.raw_steps)`
	before := whole.Text(copied)
	whole.Exec(`UPDATE imports SET partial = true, asked_as = 'eve'`) // as if that import had been hers
	if text, err := whole.tries(t.Context(), from, asEve, func(o *importer.Options) { o.DryRun = true }); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "fetched as somebody who sees everything") {
		t.Errorf("a dry run by somebody who sees less: %v\n%s", err, text)
	}
	whole.is(map[string]string{copied: before})
	if text := d.take(from, asEve, func(o *importer.Options) { o.DryRun = true }); !strings.HasPrefix(text, told) || !strings.Contains(text, noted) {
		t.Errorf("a dry run prints\n%s", text)
	}
	if text := d.take(from, asEve, partial); !strings.HasPrefix(text, told) || !strings.Contains(text, noted) || !strings.Contains(text, "both sides have the same") {
		t.Errorf("the report is\n%s", text)
	}
	d.is(map[string]string{
		`SELECT string_agg(id::text, ' ' ORDER BY id) FROM experiments`: "1 4 7 10 13 16 19",
		`SELECT string_agg(name, ' ' ORDER BY id) FROM workspaces`:      "Uncategorized Vision",
		`SELECT partial::text FROM imports`:                             "true",
	})
	if text, err := d.tries(t.Context(), from, asMallory, partial); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "what eve sees of cluster") {
		t.Errorf("another part: %v\n%s", err, text)
	}
	d.take(from, over(m))
	d.is(map[string]string{`SELECT count(*)::text FROM experiments`: "21", `SELECT partial::text FROM imports`: "false"})
	if text, err := d.tries(t.Context(), from, asEve, partial); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "would take away rights") {
		t.Errorf("a part after the whole: %v\n%s", err, text)
	}
}

// difference is the first line in which two texts differ.
func difference(ours, theirs string) string {
	a, b := strings.Split(ours, "\n"), strings.Split(theirs, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fault.Clip(a[i]) + "\nin place of\n" + fault.Clip(b[i])
		}
	}
	return fmt.Sprintf("%d rows in place of %d", len(a), len(b))
}
