package importer

import (
	"context"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// rowsAtOnce is the number of reports after which the importer commits.
const rowsAtOnce = 200_000

// A part of the old metrics: the table, and what its rows become.
type metricsPart struct {
	table, group, steps, position, avg string
}

// Reports of training, of validation and of groups with other names count steps. What nodes report about themselves counts none: such a row is in the place
// of its time, in microseconds, or in the next one that the rows before it leave free.
var metricsParts = []metricsPart{
	{"raw_steps", "'training'", "m.total_batches", "m.total_batches", "m.metrics->'avg_metrics'"},
	{"raw_validations", "'validation'", "m.total_batches", "m.total_batches", "m.metrics->'validation_metrics'"},
	{"generic_metrics", "coalesce(nullif(m.metric_group, ''), 'generic')", "m.total_batches", "m.total_batches", "m.metrics->'avg_metrics'"},
	{"system_metrics", "coalesce(nullif(m.metric_group, ''), 'system')", "NULL::int", "m.place", "m.metrics->'avg_metrics'"},
}

var metricsColumns = []string{"trial_id", "run_id", "group_name", "steps", "position", "reported_at", "xid", "archived", "avg", "batches"}

// importedXID is the transaction that imported rows name as theirs: one before all others, so that the summarizer and the thresholds of webhooks, which follow new
// rows, have passed them. The summaries of imported trials are imported too.
const importedXID = "3"

// placed are the rows of system_metrics with their places. A place is at least one more than the one before: of t - n, the largest so far, and n more.
const placed = `(SELECT x.*, max(x.at - x.n) OVER (PARTITION BY x.trial_id, x.metric_group, x.trial_run_id ORDER BY x.n) + x.n AS place FROM (
	SELECT y.*, greatest(2147483648, (extract(epoch FROM coalesce(y.end_time, o.start_time)) * 1000000)::bigint) AS at,
		row_number() OVER (PARTITION BY y.trial_id, y.metric_group, y.trial_run_id ORDER BY coalesce(y.end_time, o.start_time), y.id) AS n
	FROM system_metrics y JOIN runs o ON o.id = y.trial_id WHERE y.trial_id BETWEEN %[7]d AND %[8]d) x)`

// query reads the reports of trials between two numbers.
func (m metricsPart) query(shift, first, last int) string {
	from := m.table
	if m.position == "m.place" {
		from = placed
	}
	return fmt.Sprintf(`SELECT m.trial_id + %d, m.trial_run_id, %s, %s, %s, coalesce(m.end_time, r.start_time), %s, m.archived,
		CASE jsonb_typeof(%[6]s) WHEN 'object' THEN %[6]s ELSE '{}' END, CASE jsonb_typeof(m.metrics->'batch_metrics') WHEN 'array' THEN m.metrics->'batch_metrics' END
		FROM `+from+` m JOIN runs r ON r.id = m.trial_id WHERE m.trial_id BETWEEN %[7]d AND %[8]d`,
		shift, m.group, m.steps, m.position, importedXID, m.avg, first, last)
}

// A trialRows is a trial of the old cluster with the number of its reports.
type trialRows struct {
	Trial int    `db:"trial"`
	Rows  int64  `db:"rows"`
	Mark  string `db:"mark"`
}

// copyMetrics copies the reports of all trials whose mark is new.
func (p *pass) copyMetrics(ctx context.Context) error {
	if err := passImported(ctx, p.db); err != nil {
		return err
	}
	p.show.begin("metrics", 0)
	list, total, err := p.unfinished(ctx, false)
	if err != nil {
		return err
	}
	p.show.begin("metrics", total)
	for len(list) > 0 {
		n, rows := 0, int64(0)
		for n < len(list) && (n == 0 || rows+list[n].Rows <= rowsAtOnce) {
			rows += list[n].Rows
			n++
		}
		if err := p.copyTrials(ctx, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	p.show.end()
	return analyze(ctx, p.db, "metrics", "import_trials")
}

// passImported moves the cursors of those who follow reports past what is imported: in a new database they stand at its very beginning.
func passImported(ctx context.Context, db *database.DB) error {
	for _, cursor := range []string{"metrics_cursor", "threshold_cursor"} {
		if err := db.Exec(ctx, `UPDATE `+cursor+` SET xid = '`+importedXID+`', id = 9223372036854775807 WHERE xid < '`+importedXID+`'`); err != nil {
			return err
		}
	}
	return nil
}

// unfinished lists the trials whose reports are to copy, in the order of their numbers, and counts these reports. Before their rows are copied, new trials are not
// here yet: they count if fresh is set.
func (p *pass) unfinished(ctx context.Context, fresh bool) (list []trialRows, total int64, err error) {
	// Of trials here, the mark of the copied reports; nil of those that an import leaves as they are.
	here, err := database.Map[int, *string](ctx, p.db, `SELECT n.old, CASE WHEN t.id IS NOT NULL AND NOT `+ours+` THEN coalesce(i.mark, '') END FROM import_numbers n
		LEFT JOIN trials t ON t.id = n.new LEFT JOIN experiments e ON e.id = t.experiment_id LEFT JOIN import_trials i ON i.trial_id = t.id WHERE n.import_id = $1 AND n.kind = 'trial'`, p.id)
	if err != nil {
		return nil, 0, err
	}
	var t trialRows
	var changed []int
	err = p.source.Each(ctx, `SELECT r.id, `+trialMark+` FROM runs r WHERE EXISTS (SELECT FROM run_id_task_id k WHERE k.run_id = r.id) ORDER BY r.id`, nil, []any{&t.Trial, &t.Mark}, func() error {
		mark, imported := here[t.Trial]
		if imported && mark != nil && *mark != t.Mark || !imported && fresh {
			list, changed = append(list, t), append(changed, t.Trial)
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		return nil, 0, err
	}
	counts := []string{}
	for _, m := range metricsParts {
		counts = append(counts, `SELECT trial_id, count(*) AS rows FROM `+m.table+` WHERE $1 OR trial_id = ANY($2) GROUP BY 1`)
	}
	rows, err := database.Map[int, int64](ctx, p.source.DB, `SELECT trial_id, sum(rows)::bigint FROM (`+strings.Join(counts, " UNION ALL ")+`) x GROUP BY 1`, 2*len(list) > len(here), changed)
	for i := range list {
		list[i].Rows = rows[list[i].Trial]
		total += list[i].Rows
	}
	return list, total, err
}

// copyTrials copies all reports of some trials, in place of those that were copied earlier.
func (p *pass) copyTrials(ctx context.Context, list []trialRows) error {
	from, to := list[0].Trial, list[len(list)-1].Trial
	ids, olds, marks, counts := make([]int, len(list)), make([]int, len(list)), make([]string, len(list)), make([]int64, len(list))
	for i, t := range list {
		ids[i], olds[i], marks[i], counts[i] = t.Trial+p.shift, t.Trial, t.Mark, t.Rows
	}
	return p.db.Alone(ctx, func(tx *database.DB) error {
		// The rows of an earlier pass, which may have been more.
		err := tx.Exec(ctx, `DELETE FROM metrics WHERE trial_id = ANY(ARRAY(SELECT trial_id FROM import_trials WHERE trial_id = ANY($1)))`, ids)
		if err != nil {
			return err
		}
		only := ""
		if to-from+1 > len(list) { // trials between them are done, or not here
			only = " AND m.trial_id IN (" + joined(olds) + ")"
		}
		for _, m := range metricsParts {
			n, err := tx.Receive(ctx, p.source, m.query(p.shift, from, to)+only, "metrics", metricsColumns)
			if fault.Is(err, fault.Conflict) {
				err = fmt.Errorf("trials %d to %d of the old cluster have two reports of one group at the same steps of the same run: %w", from, to, err)
			}
			if err != nil {
				return err
			}
			p.show.add(n)
		}
		// Masters make a summary that the old cluster did not have from the reports. A master that runs beside the import may have made it before
		// these reports were there, so it must make it again.
		if err := tx.Exec(ctx, `UPDATE trial_summaries SET stale = true, rebuilt_xid = NULL, rebuilt_id = NULL, rebuild_at = NULL, version = version + 1
			WHERE trial_id = ANY($1) AND (stale OR rebuild_at IS NOT NULL)`, ids); err != nil {
			return err
		}
		return tx.Exec(ctx, `INSERT INTO import_trials (trial_id, mark, rows) SELECT * FROM unnest($1::int[], $2::text[], $3::bigint[])
			ON CONFLICT (trial_id) DO UPDATE SET mark = excluded.mark, rows = excluded.rows`, ids, marks, counts)
	})
}

func joined(ids []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ","), "[]")
}
