package metrics

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/trial"
)

// Row is a stored report.
type Row struct {
	ID         int64           `db:"id"`
	XID        uint64          `db:"xid"`
	TrialID    int             `db:"trial_id"`
	RunID      int             `db:"run_id"`
	Group      string          `db:"group_name"`
	Steps      *int            `db:"steps"`
	Position   int64           `db:"position"` // its place within its group, with the run
	ReportedAt time.Time       `db:"reported_at"`
	Metrics    json.RawMessage `db:"avg"`
	Batches    json.RawMessage `db:"batches"`
}

// SQL: reportsOfT is the trial that has the reports of trial t, of the runs up to pastRunT; reportsOf and pastRun are those of the trial $1.
var (
	reportsOfT = trial.ReportsOf("t")
	pastRunT   = trial.PastRun("t")
	reportsOf  = `(SELECT ` + reportsOfT + ` FROM trials t WHERE t.id = $1)`
	pastRun    = `(SELECT ` + pastRunT + ` FROM trials t WHERE t.id = $1)`
)

const rowColumns = `id, xid, trial_id, run_id, group_name, steps, position, reported_at, avg, batches`

// maxPage is the number of reports to read with one query.
const maxPage = 1000

const (
	firstPage = 64      // reports of the first query of a group, whose size is not known
	pageBytes = 1 << 20 // bytes of reports, after which a page ends
)

// Each calls fn with the reports of trials, without archived ones, page by page: by
// trial, then by step, or by time if the group has no steps. An empty group means all
// groups.
func Each(ctx context.Context, db *database.DB, trials []int, group string, fn func(page []Row) error) error {
	for _, trial := range trials {
		groups := []string{group}
		if group == "" {
			var err error
			if groups, err = Groups(ctx, db, trial); err != nil {
				return err
			}
		}
		for _, g := range groups {
			if _, err := EachAfter(ctx, db, trial, g, BeforeFirst(), fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// GroupPosition is the position of a report within its group.
type GroupPosition struct {
	position int64
	run      int
}

// BeforeFirst is the position before the first report.
func BeforeFirst() GroupPosition { return GroupPosition{-1, -1} }

// EachAfter calls fn with the reports of a trial's group after a position, page by page, and
// returns the position of the last one.
func EachAfter(ctx context.Context, db *database.DB, trial int, group string, after GroupPosition, fn func([]Row) error) (GroupPosition, error) {
	err := inPages(func(limit int) ([]Row, bool, error) {
		return database.RowsUpTo[Row](ctx, db, pageBytes, `SELECT `+rowColumns+` FROM metrics
			WHERE trial_id = `+reportsOf+` AND group_name = $2 AND (position, run_id) > ($3, $4) AND run_id <= `+pastRun+` AND NOT archived
			ORDER BY position, run_id LIMIT $5`, trial, group, after.position, after.run, limit)
	}, func(page []Row) error {
		last := GroupPosition{page[len(page)-1].Position, page[len(page)-1].RunID}
		for i := range page {
			page[i].TrialID = trial
		}
		if err := fn(page); err != nil {
			return err
		}
		after = last
		return nil
	})
	return after, err
}

// inPages calls fn with pages of rows until there are no more. read reads at most so many, and says whether it
// has ended a page because of its bytes.
func inPages[T any](read func(limit int) (page []T, full bool, err error), fn func(page []T) error) error {
	for limit := firstPage; ; {
		page, full, err := read(limit)
		if err != nil {
			return err
		}
		n := len(page)
		if n > 0 {
			if err := fn(page); err != nil {
				return err
			}
		}
		if !full && n < limit {
			return nil
		}
		limit = nextPage(limit, n, full)
	}
}

// nextPage is how many rows to read after a page of n: PostgreSQL sends all that a query selects, also what is
// beyond the bytes of the page.
func nextPage(limit, n int, full bool) int {
	if full {
		return max(n, 1)
	}
	return min(2*limit, maxPage)
}

// Groups lists the groups of a trial's reports. The recursive query jumps from group
// to group in the index, and does not read all its entries.
func Groups(ctx context.Context, db *database.DB, trial int) ([]string, error) {
	return database.Scalars[string](ctx, db, `
		WITH RECURSIVE of AS MATERIALIZED (SELECT `+reportsOf+` AS id), g(group_name) AS (
			SELECT min(group_name) FROM metrics WHERE trial_id = (SELECT id FROM of)
			UNION ALL
			SELECT (SELECT min(m.group_name) FROM metrics m WHERE m.trial_id = (SELECT id FROM of) AND m.group_name > g.group_name) FROM g WHERE g.group_name IS NOT NULL)
		SELECT group_name FROM g WHERE group_name IS NOT NULL`, trial)
}

// ValidationsAt reads validations by their keys, for many trials at once.
func ValidationsAt(ctx context.Context, db *database.DB, keys map[int]summary.Validation, most int) (map[int]Row, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var trials, runs, steps []int
	for trial, k := range keys {
		trials, runs, steps = append(trials, trial), append(runs, k.Run), append(steps, k.Steps)
	}
	list, err := database.Rows[Row](ctx, db, `
		SELECT m.id, m.xid, k.t AS trial_id, m.run_id, m.group_name, m.steps, m.position, m.reported_at, CASE WHEN octet_length(m.avg::text) <= $4 THEN m.avg ELSE '{}' END AS avg, NULL::jsonb AS batches
		FROM unnest($1::int[], $2::int[], $3::int[]) AS k(t, r, s)
		JOIN trials t ON t.id = k.t JOIN metrics m ON m.trial_id = `+reportsOfT+` AND m.group_name = 'validation' AND m.run_id = k.r AND m.position = k.s`, trials, runs, steps, most)
	return each.Keyed(list, func(m Row) int { return m.TrialID }), err
}
