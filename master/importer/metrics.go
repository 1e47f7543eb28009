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
// of its time, in microseconds, and a row of the same time in the next free one.
var metricsParts = []metricsPart{
	{"raw_steps", "'training'", "m.total_batches", "m.total_batches", "m.metrics->'avg_metrics'"},
	{"raw_validations", "'validation'", "m.total_batches", "m.total_batches", "m.metrics->'validation_metrics'"},
	{"generic_metrics", "m.metric_group", "m.total_batches", "m.total_batches", "m.metrics->'avg_metrics'"},
	{"system_metrics", "coalesce(m.metric_group, 'system')", "NULL::int", "(extract(epoch FROM coalesce(m.end_time, r.start_time)) * 1000000)::bigint" +
		" + row_number() OVER (PARTITION BY m.trial_id, m.metric_group, m.trial_run_id, coalesce(m.end_time, r.start_time) ORDER BY m.id) - 1", "m.metrics->'avg_metrics'"},
}

var metricsColumns = []string{"trial_id", "run_id", "group_name", "steps", "position", "reported_at", "xid", "archived", "avg", "batches"}

// importedXID is the transaction that imported rows name as theirs: one before all others, so that the summarizer and the thresholds of webhooks, which follow new
// rows, have passed them. The summaries of imported trials are imported too.
const importedXID = "3"

// query reads the reports of trials between two numbers.
func (m metricsPart) query(shift, from, to int) string {
	return fmt.Sprintf(`SELECT m.trial_id + %d, m.trial_run_id, %s, %s, %s, coalesce(m.end_time, r.start_time), %s, m.archived,
		CASE jsonb_typeof(%[6]s) WHEN 'object' THEN %[6]s ELSE '{}' END, CASE jsonb_typeof(m.metrics->'batch_metrics') WHEN 'array' THEN m.metrics->'batch_metrics' END
		FROM %[7]s m JOIN runs r ON r.id = m.trial_id WHERE m.trial_id BETWEEN %[8]d AND %[9]d`,
		shift, m.group, m.steps, m.position, importedXID, m.avg, m.table, from, to)
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
	todo, total, err := p.unfinished(ctx)
	if err != nil {
		return err
	}
	p.show.begin("metrics", total)
	for len(todo) > 0 {
		n, rows := 0, int64(0)
		for n < len(todo) && (n == 0 || rows+todo[n].Rows <= rowsAtOnce) {
			rows += todo[n].Rows
			n++
		}
		if err := p.copyTrials(ctx, todo[:n]); err != nil {
			return err
		}
		todo = todo[n:]
	}
	p.show.end()
	return nil
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

// unfinished lists the trials whose reports are to copy, in the order of their numbers, and counts these reports.
func (p *pass) unfinished(ctx context.Context) (todo []trialRows, total int64, err error) {
	done, err := database.Map[int, string](ctx, p.db, `SELECT i.trial_id, i.mark FROM import_trials i JOIN trials t ON t.id = i.trial_id`)
	if err != nil {
		return nil, 0, err
	}
	here, err := database.Map[int, bool](ctx, p.db, `SELECT t.id, NOT `+ours+` FROM trials t JOIN experiments e ON e.id = t.experiment_id`)
	if err != nil {
		return nil, 0, err
	}
	counts := []string{}
	for _, m := range metricsParts {
		counts = append(counts, `SELECT trial_id, count(*) AS rows FROM `+m.table+` GROUP BY 1`)
	}
	var t trialRows
	err = p.source.Each(ctx, `SELECT r.id, coalesce(c.rows, 0)::bigint, `+trialMark+` FROM runs r LEFT JOIN (SELECT trial_id, sum(rows) AS rows FROM (`+strings.Join(counts, " UNION ALL ")+`) x GROUP BY 1) c ON c.trial_id = r.id ORDER BY r.id`,
		nil, []any{&t.Trial, &t.Rows, &t.Mark}, func() error {
			id := t.Trial + p.shift
			if theirs, imported := here[id]; imported && theirs && done[id] != t.Mark {
				todo, total = append(todo, t), total+t.Rows
			}
			return nil
		})
	return todo, total, err
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
		return tx.Exec(ctx, `INSERT INTO import_trials (trial_id, mark, rows) SELECT * FROM unnest($1::int[], $2::text[], $3::bigint[])
			ON CONFLICT (trial_id) DO UPDATE SET mark = excluded.mark, rows = excluded.rows`, ids, marks, counts)
	})
}

func joined(ids []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ","), "[]")
}
