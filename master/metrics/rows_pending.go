package metrics

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/database"
)

// pendingRow is a row as the summarizer reads it.
type pendingRow struct {
	XID      uint64          `db:"xid"`
	ID       int64           `db:"id"`
	TrialID  int             `db:"trial_id"`
	RunID    int             `db:"run_id"`
	Group    string          `db:"group_name"`
	Steps    *int            `db:"steps"`
	Merged   bool            `db:"merged"`
	Archived bool            `db:"archived"`
	Metrics  json.RawMessage `db:"avg"`
	Stored   int             `db:"stored"` // bytes of the rows of the query up to this one, as PostgreSQL stores them
	Size     int             `db:"size"`   // bytes of this row, about as PostgreSQL stores it
}

const pendingColumns = `xid, id, trial_id, run_id, group_name, steps, merged, archived`

// rowLimits are the numbers of rows, of their bytes as PostgreSQL stores them, and of their bytes as PostgreSQL sends them,
// after which a query ends.
type rowLimits struct{ rows, stored, bytes int }

// nextRows reads rows in the order in which they became visible; more is true if further rows may follow.
func nextRows(ctx context.Context, db *database.DB, most rowLimits, where string, args ...any) (list []pendingRow, more bool, err error) {
	list, full, err := database.RowsUpTo[pendingRow](ctx, db, most.bytes, pendingSQL(pendingColumns, where, args), append(args, most.rows, most.stored)...)
	if n := len(list); n > 0 {
		more = full || n == most.rows || list[n-1].Stored > most.stored
	}
	return list, more, err
}

// pendingSQL is the query of nextRows and of tailOf. It ends by the size with which PostgreSQL stores the rows, because a client that stops
// to read receives the rest nevertheless.
func pendingSQL(columns, where string, args []any) string {
	return fmt.Sprintf(`SELECT `+columns+`, stored, `+storedReportSQL+` AS size, avg FROM (
		SELECT *, sum(pg_column_size(avg)) OVER (ORDER BY xid, id ROWS UNBOUNDED PRECEDING) AS stored FROM (
			SELECT `+columns+`, avg, batches FROM metrics WHERE %s ORDER BY xid, id LIMIT $%d) r) m
		WHERE stored - pg_column_size(avg) <= $%d ORDER BY xid, id`, where, len(args)+1, len(args)+2)
}

// afterCursor is SQL for the reports that are not yet in the summaries.
const afterCursor = `xid >= (SELECT xid FROM metrics_cursor) AND (xid, id) > ((SELECT xid FROM metrics_cursor), (SELECT id FROM metrics_cursor))`

// WaitingValues is SQL for a table with the newest values of the reports that are not yet in the summaries of their trials: a row for each
// trial, with a column for each of three groups. It reads a bounded number of reports.
const WaitingValues = `(
	SELECT m.trial_id, jsonb_object_agg(e.key, e.value ORDER BY m.position) FILTER (WHERE m.group_name = 'training') AS training,
		jsonb_object_agg(e.key, e.value ORDER BY m.position) FILTER (WHERE m.group_name = 'validation') AS validation,
		jsonb_object_agg(e.key, e.value ORDER BY m.position) FILTER (WHERE m.group_name = 'system') AS system
	FROM (SELECT trial_id, group_name, position, avg FROM metrics WHERE ` + afterCursor + ` AND NOT archived ORDER BY xid, id LIMIT 20000) m
	CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(m.avg) WHEN 'object' THEN m.avg ELSE '{}' END) e GROUP BY m.trial_id)`

// tailOf reads the reports of trials that are not yet in their summaries, as many as one transaction of the summarizer reads. The
// reports of other trials count towards summarizeBatch and summarizeStored.
func tailOf(ctx context.Context, db *database.DB, trials []int) ([]pendingRow, error) {
	list, _, err := database.RowsUpTo[pendingRow](ctx, db, summarizeBytes, `SELECT * FROM (`+pendingSQL(pendingColumns, afterCursor, nil)+`) tail
		WHERE trial_id = ANY($3) AND NOT merged AND NOT archived ORDER BY xid, id`, summarizeBatch, summarizeStored, trials)
	return list, err
}
