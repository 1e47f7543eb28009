package importer_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/importer"
	"github.com/detent-ml/detent/master/importer/importertest"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

func prefix(name string) func(*importer.Options) {
	return func(o *importer.Options) { o.Prefix = name }
}

// is compares what queries of the new database return.
func (d detent) is(want map[string]string) {
	d.T.Helper()
	for sql, text := range want {
		if got := d.Text(sql); got != text {
			d.T.Errorf("%s: %s in place of %s", sql, got, text)
		}
	}
}

// newExperiment makes an experiment in the old cluster, like experiment 13.
func newExperiment(from *rowtest.World, id int) {
	from.T.Helper()
	from.Exec(`INSERT INTO experiments SELECT $1, state, config, model_definition, start_time, end_time, archived, parent_id, owner_id, progress, original_config, 'made later', job_id, project_id, 0, 0, NULL, false, NULL FROM experiments WHERE id = 13`, id)
}

// TestNothingHereIsOverwritten: what was made here between two passes stays, and what cannot be imported beside it is named.
func TestNothingHereIsOverwritten(t *testing.T) {
	from, empty, beside := newOld(t), newDetent(t), newDetent(t)
	beside.Experiment(rowtest.LossSearcher)
	empty.take(from)
	beside.take(from, prefix("old/"))
	mine, other := empty.Experiment(rowtest.LossSearcher), beside.Experiment(rowtest.LossSearcher)
	newExperiment(from, mine)
	if text, err := empty.tries(t.Context(), from); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "the old cluster has experiments 61") {
		t.Errorf("two experiments 61: %v\n%s", err, text)
	}
	empty.is(map[string]string{`SELECT name || notes FROM experiments WHERE id = 61`: "test"})
	beside.take(from, prefix("old/"))
	if name := beside.Text(`SELECT name || notes FROM experiments WHERE id = $1`, other); name != "test" || beside.Text(`SELECT notes FROM experiments WHERE id = 1061`) != "made later" {
		t.Errorf("experiment %d is %q now", other, name)
	}
}

// TestDeletedStaysDeleted: what was deleted here does not come back, and what was deleted in the old cluster is named.
func TestDeletedStaysDeleted(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	d.take(from)
	d.Exec(`DELETE FROM experiments WHERE id = 20`)
	d.Exec(`UPDATE experiments SET desired = 'deleted', state = 'DELETING', delete_requests = 1 WHERE id = 22`)
	d.Exec(`UPDATE checkpoints SET state = 'DELETED' WHERE uuid = md5('checkpoint31-1')::uuid`)
	from.Exec(`UPDATE checkpoints_v2 SET size = 7 WHERE uuid = md5('checkpoint31-1')::uuid`)
	from.Exec(`DELETE FROM experiments WHERE id = 23`)
	text := d.take(from, func(o *importer.Options) { o.Verify = false })
	if !strings.Contains(text, "1 experiments were deleted in the old cluster after they were imported") {
		t.Errorf("the report is\n%s", text)
	}
	d.is(map[string]string{
		`SELECT count(*)::text FROM experiments WHERE id = 20`:                   "0",
		`SELECT state || ' ' || desired FROM experiments WHERE id = 22`:          "DELETING deleted",
		`SELECT state FROM checkpoints WHERE uuid = md5('checkpoint31-1')::uuid`: "DELETED",
		`SELECT count(*)::text FROM experiments WHERE id = 23`:                   "1",
	})
	from.Exec(`UPDATE checkpoints_v2 SET size = 1024 WHERE uuid = md5('checkpoint31-1')::uuid`)
	if text := d.take(from); !strings.Contains(text, "2 experiments were not compared") {
		t.Errorf("the report is\n%s", text)
	}
}

// TestASummaryThatCameBeforeItsReports: a master that makes the summary of an imported trial before the trial's reports are copied makes it again.
func TestASummaryThatCameBeforeItsReports(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	// The master is as fast as can be.
	d.Exec(`CREATE FUNCTION at_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.stale := false; NEW.rebuild_at := now() + interval '1 minute'; RETURN NEW; END $$`)
	d.Exec(`CREATE TRIGGER at_once BEFORE INSERT ON trial_summaries FOR EACH ROW WHEN (NEW.stale) EXECUTE FUNCTION at_once()`)
	d.take(from)
	for more := true; more; {
		var err error
		if more, err = metrics.Summarize(t.Context(), d.DB); err != nil {
			t.Fatal(err)
		}
	}
	want := from.Text(`SELECT count(*)::text FROM raw_steps WHERE trial_id = 11 AND NOT archived`)
	if got := d.Text(`SELECT coalesce(summary #>> '{avg_metrics,loss,count}', 'none') FROM trial_summaries WHERE trial_id = 11`); got != want {
		t.Errorf("the summary of trial 11 has %s reports, want %s", got, want)
	}
}

// TestNamesMove: users and places that somebody has made here before take no number from the old ones, and old names may be swapped and used again.
func TestNamesMove(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	d.Exec(`INSERT INTO users (username) VALUES ('bob')`)
	d.Exec(`INSERT INTO workspaces (name, owner_id) VALUES ('mine', 1)`)
	d.take(from)
	d.Exec(`INSERT INTO users (username) VALUES ('carol')`)
	for _, sql := range []string{
		`UPDATE workspaces SET name = 'x' WHERE id = 2`, `UPDATE workspaces SET name = 'Vision' WHERE id = 3`, `UPDATE workspaces SET name = 'Old things' WHERE id = 2`,
		`UPDATE models SET name = 'x' WHERE id = 1`, `UPDATE models SET name = 'net' WHERE id = 2`, `UPDATE models SET name = 'bare' WHERE id = 1`,
		`UPDATE projects SET key = 'XXXXX' WHERE id = 2`, `UPDATE projects SET key = 'FACES' WHERE id = 3`, `UPDATE projects SET key = 'ENDSA' WHERE id = 2`,
		`UPDATE users SET username = 'countess' WHERE id = 3`, `UPDATE groups SET group_name = 'sight' WHERE id = 4`,
		`INSERT INTO users (id, username, admin, active, remote) VALUES (10, 'ada', false, true, false), (11, 'dora', false, true, false)`,
	} {
		from.Exec(sql)
	}
	d.take(from)
	d.is(map[string]string{
		`SELECT string_agg(u.username, ' ' ORDER BY n.old) FROM import_numbers n JOIN users u ON u.id = n.new WHERE kind = 'user'`:           "admin determined countess grace gone sso ada dora",
		`SELECT string_agg(w.name, ' ' ORDER BY n.old) FROM import_numbers n JOIN workspaces w ON w.id = n.new WHERE kind = 'workspace'`:     "Uncategorized Old things Vision",
		`SELECT string_agg(p.key, ' ' ORDER BY n.old) FROM import_numbers n JOIN projects p ON p.id = n.new WHERE kind = 'project'`:          "UNC0A ENDSA FACES",
		`SELECT string_agg(name, ' ' ORDER BY id) FROM models`:                                                                               "bare net",
		`SELECT string_agg(name, ' ' ORDER BY id) FROM groups`:                                                                               "sight empty",
		`SELECT string_agg(username, ' ' ORDER BY username) FROM users WHERE id NOT IN (SELECT new FROM import_numbers WHERE kind = 'user')`: "bob carol",
	})
}

// TestRightsStayBehind: beside existing work nobody gets rights for what was here, and no pool is closed.
func TestRightsStayBehind(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	d.Experiment(rowtest.LossSearcher)
	d.Exec(`INSERT INTO users (username, password_hash) VALUES ('ada', 'hers')`)
	d.Exec(`INSERT INTO groups (name) VALUES ('vision')`)
	from.Exec(`INSERT INTO role_assignments VALUES (3, 1, 1)`) // ada is an administrator there
	from.Exec(`UPDATE users SET active = false WHERE username = 'admin'`)
	if text := d.take(from, prefix("old/")); !strings.Contains(text, "roles for the whole old cluster were not imported") {
		t.Errorf("the report is\n%s", text)
	}
	d.is(map[string]string{
		`SELECT coalesce(string_agg(username, ' '), '') FROM users WHERE admin`:                                                "admin",
		`SELECT count(*)::text FROM role_assignments WHERE workspace_id IS NULL`:                                               "0",
		`SELECT count(*)::text FROM group_members m JOIN groups g ON g.id = m.group_id WHERE g.name = 'vision'`:                "0",
		`SELECT count(*)::text FROM group_members m JOIN groups g ON g.id = m.group_id WHERE g.name = 'old/vision'`:            "2",
		`SELECT count(*)::text FROM pool_bindings`:                                                                             "0",
		`SELECT active::text FROM users WHERE username = 'admin'`:                                                              "true",
		`SELECT count(*)::text FROM role_assignments a JOIN workspaces w ON w.id = a.workspace_id WHERE w.name = 'old/Vision'`: "1",
	})
}

// TestRightsThatWereTaken: who lost a role, a group or a binding in the old cluster between two passes has lost it here.
func TestRightsThatWereTaken(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	d.take(from)
	for _, sql := range []string{`DELETE FROM role_assignments WHERE group_id = 3`, `DELETE FROM user_group_membership WHERE user_id = 4 AND group_id = 4`, `DELETE FROM rp_workspace_bindings`,
		`DELETE FROM task_config_policies WHERE workspace_id = 2`, `DELETE FROM templates`, `DELETE FROM workspace_pins`, `UPDATE users SET active = false WHERE id IN (1, 4)`} {
		from.Exec(sql)
	}
	d.take(from)
	d.is(map[string]string{
		`SELECT count(*)::text FROM role_assignments WHERE user_id = 3`:                                                                          "0",
		`SELECT string_agg(user_id::text, ' ') FROM group_members WHERE group_id = 4`:                                                            "3",
		`SELECT (SELECT count(*) FROM pool_bindings) || ' ' || (SELECT count(*) FROM templates) || ' ' || (SELECT count(*) FROM workspace_pins)`: "0 0 0",
		`SELECT count(*)::text FROM config_policies WHERE workspace_id = 2`:                                                                      "0",
		`SELECT string_agg(username || ' ' || active || ' ' || session_epoch, ', ' ORDER BY id) FROM users WHERE id IN (1, 4)`:                   "admin true 0, grace false 1",
	})
}

// TestTwoClusters: two old clusters come beside each other, and their passes do not meet.
func TestTwoClusters(t *testing.T) {
	a, b, d := newOld(t), newOld(t), newDetent(t)
	d.Experiment(rowtest.LossSearcher)
	b.Exec(`UPDATE cluster_id SET cluster_id = 'b7a3a6b0-0000-4000-8000-0000000000bb'`)
	// UUIDs of another cluster are others.
	b.Exec(`UPDATE run_id_task_id SET task_id = 'b' || task_id`)
	b.Exec(`UPDATE tasks SET task_id = 'b' || task_id`)
	b.Exec(`UPDATE allocations SET task_id = 'b' || task_id, allocation_id = 'b' || allocation_id`)
	b.Exec(`UPDATE allocation_workspace_info SET allocation_id = 'b' || allocation_id`)
	b.Exec(`UPDATE checkpoints_v2 SET uuid = md5('b' || uuid)::uuid, task_id = 'b' || task_id`)
	b.Exec(`UPDATE run_checkpoints SET checkpoint_id = md5('b' || checkpoint_id)::uuid`)
	b.Exec(`UPDATE model_versions SET checkpoint_uuid = md5('b' || checkpoint_uuid)::uuid`)
	b.Exec(`UPDATE trial_source_infos SET checkpoint_uuid = md5('b' || checkpoint_uuid)::uuid`)
	b.Exec(`UPDATE experiments SET external_experiment_id = 'b' || external_experiment_id`)
	d.take(a, prefix("a/"))
	d.take(b, prefix("b/"))
	d.take(a, prefix("a/"))
	if _, err := d.tries(t.Context(), b, prefix("a/")); !fault.Is(err, fault.Conflict) {
		t.Errorf("another cluster with the same prefix: %v", err)
	}
	d.is(map[string]string{`SELECT count(*)::text FROM experiments`: "121", `SELECT count(DISTINCT shift)::text FROM imports`: "2"})
}

// TestLinesAfterRetention: lines that are new are copied, also when the old cluster has deleted older ones meanwhile.
func TestLinesAfterRetention(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	d.take(from)
	from.Exec(`DELETE FROM task_logs WHERE id % 8 < 4`)
	from.Exec(`INSERT INTO task_logs (id, task_id, allocation_id, log) SELECT 900000 + s, task_id, task_id || '.1', 'a new line' FROM run_id_task_id, generate_series(1, 3) s WHERE run_id = 2 AND task_id NOT LIKE '%-1'`)
	d.take(from)
	d.is(map[string]string{
		`SELECT sum(lines)::text FROM log_chunks c JOIN log_tasks l ON l.id = c.log_task JOIN trials t ON t.task_id = l.task_id WHERE t.id = 2`: "11",
		`SELECT sum(lines)::text FROM log_chunks`: "483",
	})
}

// TestOneAtATime: a second import waits for nothing, and says why it does not begin.
func TestOneAtATime(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	for range 50 { // the lock has ended when an import has
		if err := importer.Alone(t.Context(), d.DB, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	err := importer.Alone(t.Context(), d.DB, func() error {
		_, err := d.tries(t.Context(), from)
		return err
	})
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "another import") {
		t.Errorf("beside another import: %v", err)
	}
}

// TestOddRows: rows that a database of Determined may have, and seldom has.
func TestOddRows(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	for _, sql := range []string{
		`UPDATE projects SET key = NULL WHERE id = 3`,
		`UPDATE models SET labels = '{a,NULL}' WHERE id = 1`,
		`UPDATE generic_metrics SET metric_group = ''`,
		`INSERT INTO webhooks VALUES (3, 'https://chat.example.com/two', 'SLACK', NULL, 'done', 'WORKSPACE')`,
		`INSERT INTO system_metrics SELECT trial_id, end_time + interval '1 microsecond', metrics, NULL, trial_run_id, false, 1600000000 + id % 1000, partition_type, metric_group FROM system_metrics`,
		`DELETE FROM run_id_task_id WHERE run_id = 31`,
		`UPDATE experiments SET config = config || '{"bind_mounts": [{"host_path": 5}], "name": null}' WHERE id = 21`,
		`UPDATE experiments SET config = jsonb_set(config, '{reproducibility,experiment_seed}', '"many"') WHERE id = 22`,
		`UPDATE experiments SET config = jsonb_set(config, '{checkpoint_storage}', '{"type": "hdfs", "hdfs_url": "x"}') WHERE id = 25`,
		`UPDATE experiments SET config = jsonb_set(config, '{resources,priority}', '"high"') WHERE id = 26`,
		`UPDATE experiments SET owner_id = 77 WHERE id = 27`, // whom somebody who sees a part of a cluster does not see
	} {
		from.Exec(sql)
	}
	for range 2 {
		text := d.take(from)
		for _, want := range []string{"1 trials have no task there", "configurations lost bind_mounts (1: experiments 21)", "configurations lost reproducibility (1: experiments 22)", "checkpoints are in hdfs", "configurations lost resources.priority (1: experiments 26)"} {
			if !strings.Contains(text, want) {
				t.Errorf("the report lacks %q:\n%s", want, text)
			}
		}
	}
	d.is(map[string]string{
		`SELECT count(*)::text FROM experiments`:                                                                    "60",
		`SELECT u.username FROM experiments e JOIN users u ON u.id = e.owner_id WHERE e.id = 27`:                    "admin",
		`SELECT labels::text FROM models WHERE id = 1`:                                                              "{a}",
		`SELECT name || ' ' || pool FROM experiments WHERE id = 21`:                                                 "Experiment 21 default",
		`SELECT count(*)::text FROM webhooks WHERE name = 'done'`:                                                   "2",
		`SELECT (count(DISTINCT position) = count(*))::text FROM metrics WHERE trial_id = 8 AND group_name = 'cpu'`: "true",
	})
}

// TestTheFork: a database with each migration of the public fork is imported, with rows that use what the migration adds. What is not imported is named: who may use a
// restricted pool, and the pools that were made while it ran. What only the fork has in a configuration stays in it.
func TestTheFork(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	from.Exec(`UPDATE experiments SET config = jsonb_set(config, '{resources,prefer_gpu_topology}', to_jsonb(CASE WHEN id = 12 THEN 'soft' ELSE 'strong' END)) WHERE id IN (12, 13)`)
	wants := map[string][]string{
		"20260925000000": {"note: pool late was made while the old cluster ran (Ready)", "note: pool broken was made while the old cluster ran (Failed)"},
		"20261005000000": {"note: pool specified was made while the old cluster ran (Pending)"},
		"20261006061744": {"note: pool a100 was for administrators and ada, grace; here", "note: pool h100 was for administrators only; here", "det rp bindings add h100 WORKSPACE"},
	}
	var all []string
	importertest.Fork(from, func(migration string) {
		all = append(all, wants[migration]...)
		text := d.take(from, func(o *importer.Options) { o.DryRun = true })
		for _, want := range append(all, "schema "+migration) {
			if !strings.Contains(text, want) {
				t.Errorf("with migration %s the report lacks %q:\n%s", migration, want, text)
			}
		}
		if strings.Contains(text, "not-to-be-shown") {
			t.Errorf("the report has a secret:\n%s", text)
		}
		delete(wants, migration)
	})
	if len(wants) > 0 {
		t.Errorf("not migrated: %v", wants)
	}
	text := d.take(from)
	for _, want := range append(all, "both sides have the same reports, trials and checkpoints") {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	// Pools are open to everybody or bound as an operator decides, so the import neither makes nor binds any of them.
	d.is(map[string]string{`SELECT string_agg(pool, ' ') FROM pool_bindings`: "gpu", `SELECT count(*)::text FROM experiments`: "60",
		`SELECT string_agg(config #>> '{resources,prefer_gpu_topology}', ' ' ORDER BY id) FROM experiments`: "soft strong"})
}

// TestOldHost: the old master's name is stored for an import with new numbers, once.
func TestOldHost(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	named := func(o *importer.Options) { o.Host = "det.old.example.org" }
	if _, err := d.tries(t.Context(), from, named); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "--workspace-prefix") {
		t.Errorf("without new numbers: %v", err)
	}
	d.Experiment(rowtest.LossSearcher)
	for range 2 {
		d.take(from, prefix("old/"), named)
	}
	d.is(map[string]string{`SELECT host || ' ' || (SELECT prefix FROM imports i WHERE i.id = import_id) FROM import_hosts`: "det.old.example.org old/"})
}
