package metrics

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/database"
)

// pendingRow is a row, or a part of one, as the summarizer reads it.
type pendingRow struct {
	XID      uint64          `db:"xid"`
	ID       int64           `db:"id"`
	TrialID  int             `db:"trial_id"`
	RunID    int             `db:"run_id"`
	Group    string          `db:"group_name"`
	Steps    *int            `db:"steps"`
	Position int64           `db:"position"`
	Archived bool            `db:"archived"`
	Replaces bool            `db:"replaces"` // a part, which replaces values that the row had before
	Was      json.RawMessage `db:"was"`      // these values; nil: not known
	Newest   bool            `db:"newest"`   // a part that replaces values, and no report of its group has a later step
	Lost     bool            `db:"lost"`     // a row that an earlier release has merged: it has no parts
	Metrics  json.RawMessage `db:"avg"`
	Stored   int             `db:"stored"` // bytes of the rows of the query up to this one, as PostgreSQL stores them
	Size     int             `db:"size"`   // bytes of this row, about as PostgreSQL stores it
}

// rowLimits are the numbers of rows, of their bytes as PostgreSQL stores them, and of their bytes as PostgreSQL sends them,
// after which a query ends.
type rowLimits struct{ rows, stored, bytes int }

// A source is SQL for the first rows in an order of which a condition is true. The condition names columns of pendingRow.
type source struct {
	sql   func(where, limit string) string
	order string
}

// replacesNothing are the columns of a row that is no part.
const replacesNothing = `false AS replaces, NULL::jsonb AS was, false AS newest`

// visible is the order in which rows become visible.
const visible = `xid, id`

// reported are the rows of metrics. A row that was merged is there once, as it is now.
var reported = source{order: visible, sql: func(where, limit string) string {
	return `SELECT xid, id, trial_id, run_id, group_name, steps, position, archived, ` + replacesNothing + `, false AS lost, ` + storedReportSQL + ` AS size, avg
		FROM metrics m WHERE ` + where + ` ORDER BY xid, id LIMIT ` + limit
}}

// brought are what reports have brought, each once: the rows without merges, and the parts of those with merges. What was brought stays at its
// place, so whoever reads in this order misses nothing and reads nothing twice, whatever is merged meanwhile.
var brought = source{order: visible, sql: func(where, limit string) string {
	return `SELECT * FROM (
		(SELECT xid, id, trial_id, run_id, group_name, steps, position, archived, ` + replacesNothing + `, merged AS lost, ` + storedReportSQL + ` AS size, avg
			FROM metrics m WHERE (` + where + `) AND (NOT merged OR NOT EXISTS (SELECT FROM metric_parts p WHERE p.xid = m.xid AND p.id = m.id)) ORDER BY xid, id LIMIT ` + limit + `)
		UNION ALL
		(SELECT xid, id, trial_id, run_id, group_name, steps, position, ` + partArchived + ` AS archived, replaces, was, newest, false, bytes, avg
			FROM metric_parts p WHERE ` + where + ` ORDER BY xid, id LIMIT ` + limit + `)) c ORDER BY xid, id LIMIT ` + limit
}}

// partArchived is SQL for whether the row of part p does not count: it is archived, or deleted.
const partArchived = `coalesce((SELECT m.archived FROM metrics m
	WHERE m.trial_id = p.trial_id AND m.group_name = p.group_name AND m.position = p.position AND m.run_id = p.run_id), true)`

// read reads the first rows of a source; more is true if further rows may follow.
func (s source) read(ctx context.Context, db *database.DB, most rowLimits, where string, args ...any) (list []pendingRow, more bool, err error) {
	list, full, err := database.RowsUpTo[pendingRow](ctx, db, most.bytes, s.within(where, args), append(args, most.rows, most.stored)...)
	if n := len(list); n > 0 {
		more = full || n == most.rows || list[n-1].Stored > most.stored
	}
	return list, more, err
}

// within is the query of read; its last two arguments are the most rows and bytes. It ends by the size with which PostgreSQL stores the rows,
// because a client that stops to read receives the rest nevertheless.
func (s source) within(where string, args []any) string {
	return fmt.Sprintf(`SELECT xid, id, trial_id, run_id, group_name, steps, position, archived, replaces, was, newest, lost, stored, size, avg FROM (
		SELECT *, sum(pg_column_size(avg) + coalesce(pg_column_size(was), 0)) OVER (ORDER BY %s ROWS UNBOUNDED PRECEDING) AS stored FROM (%s) r) m
		WHERE stored - pg_column_size(avg) - coalesce(pg_column_size(was), 0) <= $%d ORDER BY %[1]s`, s.order, s.sql(where, fmt.Sprintf("$%d", len(args)+1)), len(args)+2)
}

// afterCursor is SQL for what is not yet in the summaries.
const afterCursor = `xid >= (SELECT xid FROM metrics_cursor) AND (xid, id) > ((SELECT xid FROM metrics_cursor), (SELECT id FROM metrics_cursor))`

const (
	// waitingFrom is SQL for the position from which on some summary lacks reports.
	waitingFrom = `(SELECT xid, id FROM metrics_cursor UNION ALL
		SELECT coalesce(s.behind_xid, s.rebuilt_xid), coalesce(s.behind_id, s.rebuilt_id) FROM trial_summaries s WHERE ` + behind + ` ORDER BY 1, 2 LIMIT 1) f`
	waiting = `xid >= (SELECT xid FROM ` + waitingFrom + `) AND (xid, id) > ((SELECT xid FROM ` + waitingFrom + `), (SELECT id FROM ` + waitingFrom + `))
		AND ((xid, id) > ((SELECT xid FROM metrics_cursor), (SELECT id FROM metrics_cursor)) OR trial_id IN (SELECT s.trial_id FROM trial_summaries s WHERE ` + behind + `))
		ORDER BY xid DESC, id DESC LIMIT 20000`
)

// WaitingValues is SQL for a table with the newest values of the reports that are not yet in the summaries of their trials: a row for each
// trial, with a column for each of three groups. It reads a bounded number of reports, the newest ones.
const WaitingValues = `(
	SELECT m.trial_id, jsonb_object_agg(e.key, e.value ORDER BY m.run_id, m.position, m.xid) FILTER (WHERE m.group_name = 'training') AS training,
		jsonb_object_agg(e.key, e.value ORDER BY m.run_id, m.position, m.xid) FILTER (WHERE m.group_name = 'validation') AS validation,
		jsonb_object_agg(e.key, e.value ORDER BY m.run_id, m.position, m.xid) FILTER (WHERE m.group_name = 'system') AS system
	FROM ((SELECT trial_id, run_id, group_name, position, xid, avg FROM metrics WHERE NOT archived AND NOT merged AND ` + waiting + `)
		UNION ALL (SELECT trial_id, run_id, group_name, position, xid, avg FROM metric_parts p WHERE NOT ` + partArchived + ` AND ` + waiting + `)) m
	CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(m.avg) WHEN 'object' THEN m.avg ELSE '{}' END) e GROUP BY m.trial_id)`

// tailOf reads the reports of trials that are not yet in their summaries, as many as one transaction of the summarizer reads. The
// reports of other trials count towards summarizeBatch and summarizeStored.
func tailOf(ctx context.Context, db *database.DB, trials []int) ([]pendingRow, error) {
	list, _, err := database.RowsUpTo[pendingRow](ctx, db, summarizeBytes, `SELECT * FROM (`+brought.within(afterCursor, nil)+`) tail
		WHERE trial_id = ANY($3) AND NOT lost AND NOT archived ORDER BY xid, id`, summarizeBatch, summarizeStored, trials)
	return list, err
}
