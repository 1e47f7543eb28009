package control

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
)

// TestWhichStoragesAreSwept: a part of a bucket that is the experiment's own is swept; what experiments share only where the operator
// wants that; and nothing where each attempt has completed.
func TestWhichStoragesAreSwept(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	unclean := checkpoints.Unswept{ID: 12, State: "ERROR", Pool: "default", Since: &began, Until: began.Add(time.Hour), Unclean: true}
	clean, unstarted, gone := unclean, unclean, unclean
	clean.Unclean, unstarted.Since, gone.Pool = false, nil, "gone"
	pools := pool.Set{{Name: "default", Driver: "raw_exec"}}
	const folder = "{type: shared_fs, host_path: /data}"
	for name, c := range map[string]struct {
		u       checkpoints.Unswept
		which   Sweeps
		storage string
		unread  error
		pools   pool.Set
		want    bool
	}{
		"S3":                             {unclean, SweepOwn, "{type: s3, bucket: b, prefix: vision/12}", nil, pools, true},
		"S3 without a prefix of its own": {unclean, SweepAll, "{type: s3, bucket: b, prefix: vision/120}", nil, pools, false},
		"S3 without a prefix":            {unclean, SweepAll, "{type: s3, bucket: b}", nil, pools, false},
		"Google":                         {unclean, SweepOwn, "{type: gcs, bucket: b, prefix: '12'}", nil, pools, true},
		"Azure":                          {unclean, SweepOwn, "{type: azure, container: c/12, account_url: 'https://a.example'}", nil, pools, false},
		"Azure, if it is wanted":         {unclean, SweepAll, "{type: azure, container: c, account_url: 'https://a.example'}", nil, pools, true},
		"a folder":                       {unclean, SweepOwn, folder, nil, pools, false},
		"a folder, if it is wanted":      {unclean, SweepAll, folder, nil, pools, true},
		"a directory, if it is wanted":   {unclean, SweepAll, "{type: directory, container_path: /c}", nil, pools, true},
		"HDFS":                           {unclean, SweepAll, "{type: hdfs, hdfs_url: 'http://h', hdfs_path: /x}", nil, pools, false},
		"each attempt completed":         {clean, SweepAll, folder, nil, pools, false},
		"no attempt started":             {unstarted, SweepAll, folder, nil, pools, false},
		"a pool that does not exist":     {gone, SweepAll, folder, nil, nil, false},
		"a configuration of nobody":      {unclean, SweepAll, folder, errors.New("unread"), pools, false},
	} {
		raw, _, err := expconf.Parse("test", []byte("checkpoint_storage: "+c.storage))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := sweepOf(c.u, c.which, c.pools, expconf.Config{CheckpointStorage: raw.CheckpointStorage}, c.unread)
		if (got.Sweep != nil) != c.want || got.Reason != checkpoints.BySweep || len(got.Removals) != 0 || got.Events {
			t.Errorf("%s: %+v, want a sweep: %t", name, got, c.want)
		}
		if got.Sweep != nil && (!got.Sweep.Since.Equal(began) || !got.Sweep.Until.Equal(c.u.Until) || got.Pool != "default" || got.Saw != "ERROR") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// longFailed creates an experiment whose first attempt failed, and which ended three days ago.
func (b *bench) longFailed() int {
	b.t.Helper()
	e := b.experiment(keeping)
	for _, code := range []int{1, 0} {
		b.exec(`UPDATE allocations SET not_before = NULL`)
		b.settle()
		b.claim(b.newest(e))
		b.settle()
		b.exit(b.newest(e), code)
		b.settle()
		b.settle()
	}
	b.exec(`UPDATE allocations SET started_at = started_at - interval '3 days', ended_at = ended_at - interval '3 days', assigned_at = assigned_at - interval '3 days'
		WHERE task_id IN (SELECT task_id FROM trials WHERE experiment_id = $1)`, e)
	b.exec(`UPDATE experiments SET ended_at = ended_at - interval '3 days' WHERE id = $1`, e)
	return e
}

// pass looks for experiments to sweep, as a leader does every hour.
func (b *bench) pass() {
	b.t.Helper()
	if err := b.term.createSweeps(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.settle()
}

// TestSweepsOfEndedExperiments: an experiment with an attempt that failed is swept once, whatever becomes of the sweep, and a
// sweep blocks no other removal for longer than it runs.
func TestSweepsOfEndedExperiments(t *testing.T) {
	b := newBench(t, "n1")
	b.term.cfg.Sweeps = SweepAll
	e := b.longFailed()
	b.pass()
	task, what := b.gcTask(e)
	b.says("it is swept", what, "sweep")
	b.pass()
	b.says("once", b.text(`SELECT count(*)::text FROM collections`), "1")

	for run := range maxGCTries {
		attempt := fmt.Sprintf("%s.%d", task, run+1)
		b.exec(`UPDATE allocations SET not_before = NULL WHERE id = $1`, attempt)
		b.settle()
		b.claim(attempt)
		b.settle()
		if err := checkpoints.RecordRemoval(t.Context(), b.db, task, checkpoints.RemovalReport{Error: "access denied"}); err != nil {
			t.Fatal(err)
		}
		b.exit(attempt, 1)
		b.settle()
		b.settle()
	}
	b.says("its end", b.text(`SELECT (ended_at IS NOT NULL) || ' ' || (SELECT count(*) FROM allocations WHERE task_id = k.id) FROM tasks k WHERE id = $1`, task), "true 3")
	b.exec(`UPDATE tasks SET created_at = created_at - interval '2 hours' WHERE id = $1`, task)
	b.pass()
	b.says("not again", b.text(`SELECT count(*)::text FROM collections`), "1")

	b.exec(`UPDATE experiments SET desired = 'deleted', delete_requests = 1, state = 'DELETING' WHERE id = $1`, e)
	b.settle()
	_, what = b.gcTask(e)
	b.says("it is deleted", what, "deletion events")
}

// TestSweepsHaveALimit: a leader makes a limited number of sweeps in an hour, and reads past experiments without anything to sweep.
func TestSweepsHaveALimit(t *testing.T) {
	b := newBench(t, "n1")
	e := b.longFailed()
	b.pass()
	b.says("shared folders", b.text(`SELECT count(*)::text FROM collections`), "0")
	b.term.cfg.Sweeps = SweepAll
	b.exec(`UPDATE experiments SET swept_at = NULL`)
	// Copies of the experiment, most of which have no attempt.
	for range sweepBatch + maxSweeps + 3 {
		b.exec(`INSERT INTO experiments (owner_id, project_id, config, original_config, seed, name, desired, state, ended_at, pool, slots_per_trial, gc_applied)
			SELECT owner_id, project_id, config, '', 1, 'copy', desired, state, ended_at, pool, slots_per_trial, gc_requests FROM experiments WHERE id = $1`, e)
	}
	b.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots, ended_at)
		SELECT e.id || '.copy', 'TRIAL', e.job_id, e.owner_id, 1, e.id, 'copy', e.pool, 1, now() FROM experiments e WHERE e.id > $1`, e+sweepBatch)
	b.exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state, started_at, ended_at, outcome)
		SELECT k.id || '.1', k.id, 1, k.pool, 1, 42, 'TERMINATED', now() - interval '4 days', now() - interval '3 days', 'lost' FROM tasks k WHERE k.name = 'copy'`)
	if err := b.term.createSweeps(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.says("at once", b.text(`SELECT count(*)::text FROM collections WHERE reason = 'sweep'`), fmt.Sprint(maxSweeps))
	b.says("without anything to sweep", b.text(`SELECT count(*)::text FROM experiments WHERE swept_at IS NOT NULL AND id <= $1`, e+sweepBatch), fmt.Sprint(sweepBatch+1))
	b.exec(`UPDATE tasks SET ended_at = now(), created_at = now() - interval '2 hours' WHERE type = 'CHECKPOINT_GC'`)
	if err := b.term.createSweeps(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.says("an hour later", b.text(`SELECT count(*)::text FROM collections WHERE reason = 'sweep'`), fmt.Sprint(maxSweeps+4))
}
