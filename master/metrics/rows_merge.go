package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/report"
)

// PostgreSQL compares a report whose key exists with the stored report, and adds what is new. The master does not read stored
// reports: a trial can have thousands of report.MaxText bytes each, and repeat a thousand of them at once.

// mergeBytes limits what one commit compares: the estimated bytes of the stored reports. The other reports wait for the next
// commit, so that one trial's long reports do not delay those of others.
const mergeBytes = 4 << 20

// gained describes what a report adds that the search of its trial needs.
type gained struct {
	validation bool // the report is new, or it adds the searcher's metric to a stored one
	time       bool // it adds the searcher's time metric
}

// mergeReports adds the reports that were not fresh to the rows with their keys.
func mergeReports(ctx context.Context, db *database.DB, batch []*database.Queued[*Report], fresh []bool, facts map[int]trialFacts) ([]gained, error) {
	gains := make([]gained, len(batch))
	var late []*database.Queued[*Report]
	var places []int // of the late reports in the batch
	for i, q := range batch {
		switch n := len(late); {
		case fresh[i]:
			gains[i] = gained{true, true}
		case n > 0 && late[n-1].Item.key() == q.Item.key(): // a batch is sorted by keys, and compares one report of each
			q.Again = true
		default:
			late, places = append(late, q), append(places, i)
		}
	}
	if len(late) == 0 {
		return gains, nil
	}
	found, err := compareReports(ctx, db, late, facts)
	if err != nil {
		return nil, err
	}
	var changed []*database.Queued[*Report]
	for i, q := range late {
		d, there := found[i+1]
		switch {
		case !there: // the row was deleted meanwhile, with its experiment
			q.Err = fault.New(fault.NotFound, "trial %d not found", q.Item.TrialID)
		case d.Waits:
			q.Again = true
		default:
			if q.Err = d.check(q.Item); q.Err == nil && (d.Added > 0 || d.AddsBatches || d.Other != nil) {
				changed = append(changed, q)
				gains[places[i]] = gained{d.AddsMetric, d.AddsTime}
			}
		}
	}
	return gains, updateReports(ctx, db, changed)
}

// A difference is what PostgreSQL finds when it compares a report with the stored one.
type difference struct {
	Place        int     `db:"place"` // of the report, from 1
	Waits        bool    `db:"waits"` // the stored reports of those before it have mergeBytes
	Other        *string `db:"other"` // a metric whose stored value is another one
	Was          string  `db:"was"`   // the beginning of that value
	Is           string  `db:"is"`    // and of the reported one
	OtherBatches bool    `db:"other_batches"`
	Added        int     `db:"added"` // metrics that the stored report lacks
	AddsBatches  bool    `db:"adds_batches"`
	AddsMetric   bool    `db:"adds_metric"`
	AddsTime     bool    `db:"adds_time"`
	Names        int     `db:"names"` // of the stored report, if the report adds metrics
	Text         int     `db:"text"`  // bytes of both together, if the report adds anything
}

// compareReports locks the rows with the keys of these reports, and compares them in the order of the reports. The size of a
// row is estimated, because a size without compression can only be computed from the whole value. Values are equal as for
// jsonb; numbers are also equal if they are the same double. A row is decompressed once (old || '{}'), not once for each name.
func compareReports(ctx context.Context, db *database.DB, list []*database.Queued[*Report], facts map[int]trialFacts) (map[int]difference, error) {
	args := keyArgs(list)
	metrics, times := make([]*string, len(list)), make([]*string, len(list))
	for i, q := range list {
		if f, known := facts[q.Item.TrialID]; known && q.Item.Group == report.Validation {
			metrics[i], times[i] = f.Metric, f.TimeMetric
		}
	}
	found, err := database.Rows[difference](ctx, db, `
		WITH s AS (
			SELECT u.place, u.avg AS new, u.batches AS new_batches, u.metric, u.time, m.avg AS old, m.batches AS old_batches
			FROM unnest($1::int[], $2::text[], $3::bigint[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[])
				WITH ORDINALITY AS u(trial, group_name, position, run, avg, batches, metric, time, place)
			JOIN metrics m ON m.trial_id = u.trial AND m.group_name = u.group_name AND m.position = u.position AND m.run_id = u.run ORDER BY u.place FOR UPDATE OF m),
		sized AS (SELECT *, sum(size) OVER (ORDER BY place) - size > $9 AS waits
			FROM (SELECT *, `+estimated("old")+` + coalesce(`+estimated("old_batches")+`, 0) AS size FROM s) s)
		SELECT s.place, s.waits, c.other, `+beginning("c.old -> c.other")+` AS was, `+beginning("c.new -> c.other")+` AS is,
			coalesce(c.new_batches <> c.old_batches, false) AS other_batches, coalesce(c.added, 0) AS added, coalesce(c.adds_batches, false) AS adds_batches,
			coalesce(c.adds_metric, false) AS adds_metric, coalesce(c.adds_time, false) AS adds_time,
			CASE WHEN c.added > 0 AND jsonb_typeof(c.old) = 'object' THEN (SELECT count(*) FROM jsonb_object_keys(c.old)) ELSE 0 END AS names,
			CASE WHEN c.added > 0 OR c.adds_batches THEN
				octet_length(c.old::text) + coalesce(c.added_text, 0) + coalesce(octet_length(coalesce(c.old_batches, c.new_batches)::text), 0) ELSE 0 END AS text
		FROM sized s LEFT JOIN LATERAL (
			SELECT d.*, d.old_batches IS NULL AND d.new_batches IS NOT NULL AS adds_batches, k.*
			FROM (SELECT s.new::jsonb AS new, s.new_batches::jsonb AS new_batches, s.old || '{}' AS old, s.old_batches, s.metric, s.time
				WHERE NOT s.waits OFFSET 0) d
			CROSS JOIN LATERAL (
				SELECT count(*) FILTER (WHERE NOT k.there) AS added,
					sum(octet_length(to_jsonb(k.key)::text) + octet_length(k.value::text) + 4) FILTER (WHERE NOT k.there) AS added_text,
					bool_or(NOT k.there AND k.key = d.metric) AS adds_metric, bool_or(NOT k.there AND k.key = d.time) AS adds_time,
					min(k.key) FILTER (WHERE k.there AND k.was <> k.value AND (`+database.FloatAt("k.was")+` = `+database.FloatAt("k.value")+`) IS NOT TRUE) AS other
				FROM (SELECT e.key, e.value, d.old ? e.key AS there, d.old -> e.key AS was
					FROM jsonb_each(CASE WHEN d.new = d.old THEN '{}' ELSE d.new END) e OFFSET 0) k) k
			OFFSET 0) c ON true
		ORDER BY s.place`, append(args, metrics, times, mergeBytes)...)
	return each.Keyed(found, func(d difference) int { return d.Place }), database.BadData(err)
}

// estimated is SQL for the size of a JSON value without compression.
func estimated(column string) string {
	return `pg_column_size(` + column + `) * CASE WHEN pg_column_compression(` + column + `) IS NULL THEN 1 ELSE 20 END`
}

// beginning is SQL for the beginning of a JSON value as text, for a message. The text of a long list takes half a second.
func beginning(value string) string {
	return `coalesce(CASE WHEN pg_column_size(` + value + `) > 8192 THEN 'a long ' || jsonb_typeof(` + value + `) ELSE left((` + value + `)::text, 61) END, '')`
}

// keyArgs returns the keys of reports, their metrics and their batches.
func keyArgs(list []*database.Queued[*Report]) []any {
	n := len(list)
	trials, groups, positions, runs := make([]int32, n), make([]string, n), make([]int64, n), make([]int32, n)
	avgs, batches := make([]string, n), make([]*string, n)
	for i, q := range list {
		k := q.Item.key()
		trials[i], groups[i], positions[i], runs[i] = int32(k.trial), k.group, k.position, int32(k.run)
		avgs[i], batches[i] = string(q.Item.Metrics), orNull(q.Item.Batches)
	}
	return []any{trials, groups, positions, runs, avgs, batches}
}

// check rejects a report that contradicts the stored one, or for which the row has no room: reports of one key have the bounds
// of one report together.
func (d difference) check(r *Report) error {
	where := fmt.Sprintf("trial %d, run %d, group %s", r.TrialID, r.RunID, r.Group)
	if r.Steps != nil {
		where += fmt.Sprintf(", step %d", *r.Steps)
	} else {
		where += ", time " + r.At.UTC().Format(time.RFC3339Nano)
	}
	bad := func(format string, args ...any) error {
		return fault.New(fault.Invalid, "%s: "+format, append([]any{where}, args...)...)
	}
	switch {
	case d.Other != nil && !r.Newer:
		return fault.Wrap(fault.Invalid, ErrOther, "%s: metric %q was reported before with another value, %s then and %s now", where, *d.Other, fault.ClipTo(d.Was, 60), fault.ClipTo(d.Is, 60))
	case d.OtherBatches:
		return bad("batchMetrics were reported before with other values")
	case d.Added > 0 && d.Names+d.Added > report.MaxNames:
		return bad("the reports have %d names of metrics together; %d are allowed: report fewer names at one step", d.Names+d.Added, report.MaxNames)
	case d.Text > report.MaxText:
		return bad("the reports have %d bytes together; %d are allowed: report less at one step", d.Text, report.MaxText)
	}
	return nil
}

// laterLooks is how many later reports a commit reads to find out whether a replaced value is the newest one. There may be a million archived ones, and the commit is
// everybody's: if so many do not tell, the summary is rebuilt where that matters. Reports of the commit itself do not count: the summarizer adds them after the part.
const laterLooks = 100

// updateReports adds what reports add to the rows with their keys, which are locked. The old values stay, unless a report has newer ones.
//
// The summarizer gets what a report brings as a part at the position of this transaction, and what the row had before at the position where
// the row was until now: as a part too, unless the summary has it already. A row of this transaction itself simply grows.
//
// A part has the values that it replaces, too, so that the summary can forget them: unless a transaction with a later number has brought
// them, which the summarizer reads after this part.
func updateReports(ctx context.Context, db *database.DB, list []*database.Queued[*Report]) error {
	if len(list) == 0 {
		return nil
	}
	newer := each.Of(list, func(q *database.Queued[*Report]) bool { return q.Item.Newer })
	err := db.Exec(ctx, `
		WITH old AS MATERIALIZED (
			SELECT m.trial_id, m.group_name, m.position, m.run_id, m.steps, m.xid, m.id, m.merged, NOT m.merged AND m.xid = pg_current_xact_id() AS fresh, u.avg::jsonb AS new, u.newer,
				u.batches::jsonb AS new_batches, m.batches IS NULL AND u.batches IS NOT NULL AS adds_batches, `+storedReportSQL+` AS bytes,
				CASE jsonb_typeof(m.avg) WHEN 'object' THEN m.avg || '{}' ELSE '{}' END AS avg
			FROM unnest($1::int[], $2::text[], $3::bigint[], $4::int[], $5::text[], $6::text[], $7::boolean[]) AS u(trial, group_name, position, run, avg, batches, newer)
			JOIN metrics m ON m.trial_id = u.trial AND m.group_name = u.group_name AND m.position = u.position AND m.run_id = u.run),
		whole AS (
			INSERT INTO metric_parts (xid, id, trial_id, run_id, group_name, steps, position, whole, bytes, avg)
			SELECT o.xid, o.id, o.trial_id, o.run_id, o.group_name, o.steps, o.position, true, o.bytes, o.avg
			FROM old o JOIN metrics_cursor c ON true LEFT JOIN trial_summaries s ON s.trial_id = o.trial_id
			WHERE NOT o.merged AND NOT o.fresh AND ((o.xid, o.id) > (c.xid, c.id) OR s.stale)),
		parts AS (
			INSERT INTO metric_parts (xid, id, trial_id, run_id, group_name, steps, position, replaces, was, newest, bytes, avg)
			SELECT pg_current_xact_id(), o.id, o.trial_id, o.run_id, o.group_name, o.steps, o.position, k.replaces,
				CASE WHEN o.xid < pg_current_xact_id() THEN k.was END,
				k.replaces AND (SELECT count(*) < `+fmt.Sprint(laterLooks)+` AND coalesce(bool_and(l.archived OR l.xid = pg_current_xact_id()), true) FROM (
					SELECT m.archived, m.xid FROM metrics m WHERE m.trial_id = o.trial_id AND m.group_name = o.group_name AND m.position > o.position ORDER BY m.position LIMIT `+fmt.Sprint(laterLooks)+`) l),
				pg_column_size(k.avg) + CASE WHEN o.adds_batches THEN pg_column_size(o.new_batches) ELSE 0 END, k.avg
			FROM old o CROSS JOIN LATERAL (
				SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') AS avg, coalesce(bool_or(e.there), false) AS replaces,
					jsonb_object_agg(e.key, e.was) FILTER (WHERE e.there) AS was
				FROM (SELECT e.key, e.value, o.avg ? e.key AS there, o.avg -> e.key AS was FROM jsonb_each(o.new) e OFFSET 0) e
				WHERE NOT e.there OR o.newer AND e.was <> e.value AND (`+database.FloatAt("e.was")+` = `+database.FloatAt("e.value")+`) IS NOT TRUE) k
			WHERE NOT o.fresh)
		UPDATE metrics m SET avg = o.new || o.avg || CASE WHEN o.newer THEN o.new ELSE '{}' END, batches = coalesce(m.batches, o.new_batches),
			merged = NOT o.fresh, xid = pg_current_xact_id()
		FROM old o WHERE m.trial_id = o.trial_id AND m.group_name = o.group_name AND m.position = o.position AND m.run_id = o.run_id`, append(keyArgs(list), newer)...)
	return database.BadData(err)
}
