package download

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// reportsAtOnce and linesAtOnce are how many are in memory; bytesAtOnce bounds both.
const (
	reportsAtOnce = 2000
	linesAtOnce   = 2000
	bytesAtOnce   = 8 << 20
)

// An unfetched trial has changed since its reports were fetched, or they never were.
type unfetched struct {
	ID      int             `db:"id"`
	Task    []string        `db:"tasks"`
	Pool    string          `db:"pool"`
	Wanted  string          `db:"wanted"`
	Live    bool            `db:"live"`
	Reports bool            `db:"reports"` // reports and attempts are to fetch
	Lines   bool            `db:"lines"`   // the log is
	Summary json.RawMessage `db:"summary"`
}

// trials fetches code, reports, attempts and logs.
func (d *copying) trials(ctx context.Context) error {
	codes, err := d.numbers(ctx, `SELECT id FROM experiments WHERE NOT code_known AND NOT unmanaged ORDER BY id`)
	if err != nil {
		return err
	}
	d.Begin("codes", int64(len(codes)))
	if err := parallel(ctx, codes, func(ctx context.Context, id int) error {
		defer d.tell(1)
		if err := d.code(ctx, id); err != nil {
			return fmt.Errorf("the code of experiment %d: %w", id, err)
		}
		return nil
	}); err != nil {
		return err
	}
	var list []unfetched
	err = d.in(ctx, func(tx *database.DB) (err error) {
		list, err = database.Rows[unfetched](ctx, tx, `SELECT * FROM (
			SELECT r.id, ARRAY(SELECT t.task_id FROM run_id_task_id t WHERE t.run_id = r.id ORDER BY t.task_id) AS tasks, coalesce(e.pool, '') AS pool, r.wanted,
				r.end_time IS NULL AS live, r.fetched IS DISTINCT FROM r.wanted AS reports, $1 AND r.logged IS DISTINCT FROM r.wanted AS lines, coalesce(r.summary_metrics, '{}') AS summary
			FROM runs r JOIN experiments e ON e.id = r.experiment_id) x WHERE reports OR lines ORDER BY id DESC`, d.Logs)
		return err
	})
	if err != nil {
		return err
	}
	d.Begin("trials", int64(len(list)))
	return parallel(ctx, list, func(ctx context.Context, t unfetched) error {
		err := d.trial(ctx, t)
		d.tell(1)
		switch {
		case fault.Is(err, fault.NotFound) && gone(ctx, d.c, v1.GetTrial, t.ID):
			d.note(fmt.Sprintf("trial %d was deleted in the old cluster while it was read", t.ID))
		case fault.Is(err, fault.Forbidden) && d.hidden(err, fmt.Sprintf("the reports or the log of trial %d", t.ID)):
		case err != nil:
			return fmt.Errorf("trial %d: %w", t.ID, err)
		}
		return nil
	})
}

// trial fetches what a trial lacks. Rows are stored in short transactions while the old master sends: one that waited for it would hold up the summaries of all trials
// here, which follow the oldest transaction. The mark of a trial, which comes last, says that everything is there; without one everything is fetched again.
func (d *copying) trial(ctx context.Context, t unfetched) error {
	if t.Reports {
		if err := d.attempts(ctx, t); err != nil {
			return err
		}
		if err := d.reports(ctx, t); err != nil {
			return err
		}
	}
	if !t.Lines {
		return nil
	}
	for _, task := range t.Task {
		if err := d.lines(ctx, t.ID, task); err != nil {
			return err
		}
	}
	return d.soon(ctx, func(tx *database.DB) error {
		return tx.Exec(ctx, `UPDATE runs SET logged = $2 WHERE id = $1`, t.ID, t.Wanted)
	})
}

// attempts fetches the tasks of a trial with their attempts.
func (d *copying) attempts(ctx context.Context, t unfetched) error {
	var tasks, attempts []row
	for _, id := range t.Task {
		got, err := client.Call(ctx, d.c, v1.GetTask, id)
		if absent(err) {
			continue
		}
		if err != nil {
			return err
		}
		tasks = append(tasks, row{"task_id": id, "task_type": "TRIAL", "start_time": got.Task.StartTime, "end_time": got.Task.EndTime})
		for _, a := range got.Task.Allocations {
			attempts = append(attempts, row{"allocation_id": a.AllocationID, "task_id": id, "resource_pool": t.Pool, "slots": a.Slots, "state": short(a.State, "STATE_"), "start_time": a.StartTime, "end_time": a.EndTime,
				"exit_reason": a.ExitReason, "status_code": a.StatusCode})
		}
	}
	return d.soon(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `DELETE FROM allocations WHERE task_id = ANY($1)`, t.Task); err != nil {
			return err
		}
		if err := tx.Exec(ctx, `DELETE FROM tasks WHERE task_id = ANY($1)`, t.Task); err != nil {
			return err
		}
		if err := put(ctx, tx, "tasks", "task_id, task_type, start_time, end_time, log_version", each1(tasks, "log_version", 1)); err != nil {
			return err
		}
		if err := put(ctx, tx, "allocations", "allocation_id, task_id, resource_pool, slots, state, start_time, end_time, exit_reason, status_code", attempts); err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE tasks k SET job_id = e.job_id FROM run_id_task_id t JOIN runs r ON r.id = t.run_id JOIN experiments e ON e.id = r.experiment_id WHERE t.task_id = k.task_id AND k.task_id = ANY($1)`, t.Task)
	})
}

func each1(rows []row, column string, value any) []row {
	for _, r := range rows {
		r[column] = value
	}
	return rows
}

// groupsOf lists the groups of a trial's reports, as the summary has them, with the largest number of reports that one of its metrics has.
func groupsOf(summary json.RawMessage) map[string]int64 {
	groups := map[string]int64{"training": 0, "validation": 0}
	var parts map[string]map[string]struct {
		Count int64 `json:"count"`
	}
	if json.Unmarshal(summary, &parts) != nil {
		return groups
	}
	for name, metrics := range parts {
		switch name {
		case "avg_metrics":
			name = "training"
		case "validation_metrics":
			name = "validation"
		}
		groups[name] = max(groups[name], 0)
		for _, m := range metrics {
			groups[name] = max(groups[name], m.Count)
		}
	}
	return groups
}

// tableOf is the table of the old database that has the reports of a group.
func tableOf(group string) string {
	switch group {
	case "training":
		return "raw_steps"
	case "validation":
		return "raw_validations"
	case "cpu", "gpu", "memory", "disk", "network": // what nodes report about themselves counts no steps
		return "system_metrics"
	}
	return "generic_metrics"
}

// reports fetches the reports of a trial, in place of those that are there.
func (d *copying) reports(ctx context.Context, t unfetched) error {
	err := d.in(ctx, func(tx *database.DB) error {
		for _, sql := range []string{`UPDATE runs SET fetched = NULL, summary_metrics_timestamp = NULL, best_validation_id = NULL, latest_validation_id = NULL WHERE id = $1`,
			`DELETE FROM raw_steps WHERE trial_id = $1`,
			`DELETE FROM raw_validations WHERE trial_id = $1`, `DELETE FROM generic_metrics WHERE trial_id = $1`, `DELETE FROM system_metrics WHERE trial_id = $1`} {
			if err := tx.Exec(ctx, sql, t.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for group, counted := range groupsOf(t.Summary) {
		n, err := d.group(ctx, t.ID, group, tableOf(group))
		if err != nil {
			return fmt.Errorf("group %q: %w", group, err)
		}
		if n < counted && !t.Live {
			d.note(fmt.Sprintf("trials have fewer reports than their summaries say: trial %d has %d reports in group %q, and its summary %d", t.ID, n, group, counted))
		}
	}
	return d.in(ctx, func(tx *database.DB) error {
		// The time is a part of the importer's mark of the trial: one whose reports nobody saw is copied again when they are there.
		return tx.Exec(ctx, `
			UPDATE runs r SET fetched = wanted, summary_metrics_timestamp = to_timestamp(0), restart_id = greatest(restart_id, x.run), last_activity = x.at,
				best_validation_id = (SELECT v.id FROM raw_validations v WHERE v.trial_id = r.id AND v.total_batches = r.best_batches ORDER BY v.archived, v.trial_run_id DESC LIMIT 1),
				latest_validation_id = (SELECT v.id FROM raw_validations v WHERE v.trial_id = r.id AND v.total_batches = r.latest_batches ORDER BY v.archived, v.trial_run_id DESC LIMIT 1)
			FROM (SELECT coalesce(max(m.trial_run_id), 0) AS run, max(m.end_time) AS at FROM (SELECT trial_run_id, end_time FROM raw_steps WHERE trial_id = $1 UNION ALL SELECT trial_run_id, end_time FROM raw_validations WHERE trial_id = $1) m) x
			WHERE r.id = $1`, t.ID)
	})
}

// group fetches the reports of one group.
func (d *copying) group(ctx context.Context, trial int, group, table string) (n int64, err error) {
	key := "avg_metrics"
	if group == "validation" {
		key = "validation_metrics"
	}
	var batch []row
	size := 0
	send := func() error {
		err := d.soon(ctx, func(tx *database.DB) error {
			return put(ctx, tx, table, "trial_id, end_time, metrics, total_batches, trial_run_id, archived, metric_group", batch)
		})
		batch, size = batch[:0], 0
		return err
	}
	for r, err := range d.c.TrialMetrics(ctx, group, trial) {
		switch {
		case err != nil:
			return n, err
		case r.TrialID != trial || r.Group != "" && r.Group != group:
			return n, fault.New(fault.Invalid, "the old master sends a report of trial %d, group %q", r.TrialID, fault.Clip(r.Group))
		}
		if n++; n > maxRecords {
			return n, fault.New(fault.TooLarge, "the old master sends reports without an end: %d so far", n)
		}
		var end any
		if !r.EndTime.IsZero() {
			end = r.EndTime
		}
		var steps any
		if table != "system_metrics" {
			steps = r.TotalBatches
		}
		batch = append(batch, row{"trial_id": trial, "end_time": end, "metrics": underKey(r.Metrics, key), "total_batches": steps, "trial_run_id": r.TrialRunID, "archived": r.Archived, "metric_group": group})
		if size += len(r.Metrics); len(batch) == reportsAtOnce || size > bytesAtOnce {
			if err := send(); err != nil {
				return n, err
			}
		}
	}
	return n, send()
}

// underKey is a report as Determined's database has it: its values are under a key.
func underKey(metrics v1.Struct, key string) any {
	var parts map[string]json.RawMessage
	if json.Unmarshal(metrics, &parts) != nil {
		return nil
	}
	if _, there := parts[key]; there {
		return json.RawMessage(metrics)
	}
	return map[string]any{key: json.RawMessage(metrics)}
}

// lines fetches the log of a task, in place of what is there.
func (d *copying) lines(ctx context.Context, trial int, task string) error {
	err := d.in(ctx, func(tx *database.DB) error {
		return errors.Join(tx.Exec(ctx, `UPDATE runs SET logged = NULL WHERE id = $1`, trial), tx.Exec(ctx, `DELETE FROM task_logs WHERE task_id = $1`, task))
	})
	if err != nil {
		return err
	}
	var batch []row
	size, last := 0, int64(-1)
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		text, err := json.Marshal(batch)
		if err != nil {
			return err
		}
		batch, size = batch[:0], 0
		return d.soon(ctx, func(tx *database.DB) error {
			return tx.Exec(ctx, `INSERT INTO task_logs SELECT id, task_id, allocation_id, agent_id, container_id, rank_id, source, stdtype, level, timestamp AT TIME ZONE 'UTC', convert_to(log, 'UTF8')
				FROM jsonb_to_recordset($1::jsonb) AS x (id bigint, task_id text, allocation_id text, agent_id text, container_id text, rank_id int, source text, stdtype text, level text, timestamp timestamptz, log text)`, storable(text))
		})
	}
	for r, err := range d.c.TaskLogs(ctx, task, client.LogQuery{}) {
		if absent(err) && !(d.part && fault.Is(err, fault.Forbidden)) {
			break
		}
		if err != nil {
			return err
		}
		var l v1.TaskLogsResponse
		if err := v1.Unmarshal(r.Raw, &l); err != nil {
			return fault.New(fault.Invalid, "the log of task %s: %w", task, err)
		}
		// The number of a line rises; a log in Elasticsearch has texts in its place.
		id, err := strconv.ParseInt(l.ID, 10, 64)
		if err != nil || id <= last {
			id = last + 1
		}
		last = id
		batch = append(batch, row{"id": id, "task_id": task, "allocation_id": l.AllocationID, "agent_id": l.AgentID, "container_id": l.ContainerID, "rank_id": l.RankID, "source": l.Source, "stdtype": l.Stdtype,
			"level": short(l.Level, "LOG_LEVEL_"), "timestamp": l.Timestamp, "log": l.Log})
		if size += len(l.Log); len(batch) == linesAtOnce || size > bytesAtOnce {
			if err := send(); err != nil {
				return err
			}
		}
	}
	return send()
}
