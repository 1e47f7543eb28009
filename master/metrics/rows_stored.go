package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/report"
)

// The reports of a trial have a limit in bytes (NewWriter). The summarizer counts what is stored
// (trial_summaries.bytes), because it reads each row anyway. A master reads this count when a trial begins to report,
// and again after some further bytes, so that most commits read and write nothing for it.

const (
	// reportRow estimates the bytes of a row of metrics without its values, with its entries in the indexes. The SQL
	// below has the same number.
	reportRow = 160
	// storedReportSQL is SQL for the size of row m of metrics.
	storedReportSQL = `(160 + octet_length(m.group_name) + pg_column_size(m.avg) + coalesce(pg_column_size(m.batches), 0))`
	// recounted: after 1/recounted of the limit the reports of a trial are counted again. A report may need four times as many bytes as its text.
	recounted = 16
	// maxRecount is the number of rows behind the summaries that a count reads. While an old transaction on the
	// server keeps the summaries back, there are more.
	maxRecount = 100_000
)

// metricRoom is what a trial has stored.
type metricRoom struct {
	stored int64 // when it was counted
	added  int64 // bytes of text that this master has accepted since
}

// fitting rejects the reports of trials that have no room for them, and returns the others. Only the flush calls it. It may
// count a report twice, if a commit fails; then it counts again sooner.
func (w *Writer) fitting(ctx context.Context, batch []*database.Queued[*Report]) ([]*database.Queued[*Report], error) {
	limit := w.limit
	if limit <= 0 {
		return batch, nil
	}
	rooms, err := w.rooms(ctx, batch, limit)
	if err != nil {
		return nil, err
	}
	fits := batch
	for i, q := range batch {
		room := rooms[q.Item.TrialID]
		if q.Err = q.Item.refused(room.stored, limit); q.Err == nil {
			room.added += reportRow + int64(q.Item.text)
		}
		switch {
		case q.Err != nil && len(fits) == len(batch): // the first one
			fits = slices.Clone(batch[:i])
		case q.Err == nil && len(fits) < len(batch):
			fits = append(fits, q)
		}
	}
	return fits, nil
}

// refused rejects a report if its trial has stored too much. The reports of the nodes may take half of the limit, so
// that they do not end a training.
func (r *Report) refused(stored, limit int64) error {
	switch nodes := slices.Contains(report.NodeGroups(), r.Group); {
	case nodes && stored >= limit/2:
		return fault.New(fault.TooLarge, "the reports of trial %d take %s in the database; those about its nodes may take half of the limit of %s for one trial, and are rejected from then on: "+
			"turn profiling off, or report less often; operators can raise database_limits.trial_metrics_mb", r.TrialID, database.SizeText(stored), database.SizeText(limit))
	case stored >= limit:
		return fault.New(fault.TooLarge, "the reports of trial %d take %s in the database, and the limit for one trial is %s: "+
			"report less often, and upload large values as files; operators can raise database_limits.trial_metrics_mb", r.TrialID, database.SizeText(stored), database.SizeText(limit))
	}
	return nil
}

// rooms returns what the trials of a batch have stored.
func (w *Writer) rooms(ctx context.Context, batch []*database.Queued[*Report], limit int64) (map[int]*metricRoom, error) {
	now, rooms := time.Now(), map[int]*metricRoom{}
	var unknown []int
	for _, q := range batch {
		id := q.Item.TrialID
		if _, done := rooms[id]; done {
			continue
		}
		room, known, _ := w.stored.Get(id, now)
		if !known {
			room = &metricRoom{}
		}
		if rooms[id] = room; !known || room.added > limit/recounted {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return rooms, nil
	}
	type count struct {
		TrialID int   `db:"trial_id"`
		Bytes   int64 `db:"bytes"`
		All     bool  `db:"counted"` // the reports behind the summaries are counted too
	}
	list, err := database.Rows[count](ctx, w.db, `
		WITH behind AS MATERIALIZED ((SELECT m.trial_id, `+storedReportSQL+` AS bytes FROM metrics m WHERE NOT m.merged AND `+afterCursor+` LIMIT $2)
			UNION ALL (SELECT trial_id, bytes FROM metric_parts WHERE `+afterCursor+` LIMIT $2))
		SELECT u.id AS trial_id, (coalesce(s.bytes, 0) + coalesce(b.bytes, 0))::bigint AS bytes, (SELECT count(*) FROM behind) < $2 AS counted
		FROM unnest($1::int[]) AS u(id) LEFT JOIN trial_summaries s ON s.trial_id = u.id
		LEFT JOIN (SELECT trial_id, sum(bytes) AS bytes FROM behind GROUP BY 1) b ON b.trial_id = u.id`, unknown, maxRecount)
	for _, c := range list {
		room := rooms[c.TrialID]
		if !c.All {
			c.Bytes = max(c.Bytes, room.stored+room.added)
		}
		*room = metricRoom{stored: c.Bytes}
		w.stored.Put(c.TrialID, room, now)
	}
	return rooms, err
}
