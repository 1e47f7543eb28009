package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// MetricRow is a stored report.
type MetricRow struct {
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

const metricRowColumns = `id, xid, trial_id, run_id, group_name, steps, position, reported_at, avg, batches`

// metricsPage is the number of reports to read with one query.
const metricsPage = 1000

const (
	firstMetricsPage = 64      // reports of the first query of a group, whose size is not known
	metricsPageBytes = 1 << 20 // bytes of reports, after which a page ends
)

// EachMetric calls fn with the reports of trials, without archived ones, page by page: by
// trial, then by step, or by time if the group has no steps. An empty group means all
// groups.
func (db *DB) EachMetric(ctx context.Context, trials []int, group string, fn func(page []MetricRow) error) error {
	for _, trial := range trials {
		groups := []string{group}
		if group == "" {
			var err error
			if groups, err = db.MetricGroups(ctx, trial); err != nil {
				return err
			}
		}
		for _, g := range groups {
			if _, err := db.MetricsAfter(ctx, trial, g, FirstMetric(), fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// MetricKey is the position of a report within its group.
type MetricKey struct {
	position int64
	run      int
}

// FirstMetric is the position before the first report.
func FirstMetric() MetricKey { return MetricKey{-1, -1} }

// MetricsAfter calls fn with the reports of a trial's group after a position, page by page, and
// returns the position of the last one.
func (db *DB) MetricsAfter(ctx context.Context, trial int, group string, after MetricKey, fn func([]MetricRow) error) (MetricKey, error) {
	err := inPages(func(limit int) ([]MetricRow, bool, error) {
		return database.RowsUpTo[MetricRow](ctx, db.DB, metricsPageBytes, `SELECT `+metricRowColumns+` FROM metrics
			WHERE trial_id = $1 AND group_name = $2 AND (position, run_id) > ($3, $4) AND NOT archived
			ORDER BY position, run_id LIMIT $5`, trial, group, after.position, after.run, limit)
	}, func(page []MetricRow) error {
		last := MetricKey{page[len(page)-1].Position, page[len(page)-1].RunID}
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
	for limit := firstMetricsPage; ; {
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
	return min(2*limit, metricsPage)
}

// MetricGroups lists the groups of a trial's reports. The recursive query jumps from group
// to group in the index, and does not read all its entries.
func (db *DB) MetricGroups(ctx context.Context, trial int) ([]string, error) {
	return database.Scalars[string](ctx, db.DB, `
		WITH RECURSIVE g(group_name) AS (
			SELECT min(group_name) FROM metrics WHERE trial_id = $1
			UNION ALL
			SELECT (SELECT min(m.group_name) FROM metrics m WHERE m.trial_id = $1 AND m.group_name > g.group_name) FROM g WHERE g.group_name IS NOT NULL)
		SELECT group_name FROM g WHERE group_name IS NOT NULL`, trial)
}

// ValidationsAt reads validations by their keys, for many trials at once.
func (db *DB) ValidationsAt(ctx context.Context, keys map[int]ValidationKey, most int) (map[int]MetricRow, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var trials, runs, steps []int
	for trial, k := range keys {
		trials, runs, steps = append(trials, trial), append(runs, k.Run), append(steps, k.Steps)
	}
	list, err := database.Rows[MetricRow](ctx, db.DB, `
		SELECT m.id, m.xid, m.trial_id, m.run_id, m.group_name, m.steps, m.position, m.reported_at, CASE WHEN octet_length(m.avg::text) <= $4 THEN m.avg ELSE '{}' END AS avg, NULL::jsonb AS batches
		FROM unnest($1::int[], $2::int[], $3::int[]) AS k(t, r, s)
		JOIN metrics m ON m.trial_id = k.t AND m.group_name = 'validation' AND m.run_id = k.r AND m.position = k.s`, trials, runs, steps, most)
	return database.Keyed(list, func(m MetricRow) int { return m.TrialID }), err
}

// TrialSummaries returns the summaries of trials, including the reports that the summarizer
// has not processed yet. The result omits trials without reports. If more than
// summarizeBatch reports wait for the summarizer, or large ones, the result lacks the newest.
func (db *DB) TrialSummaries(ctx context.Context, trials []int) (map[int]TrialSummary, error) {
	var list []summaryRow
	var tail []metricRow
	err := db.Snapshot(ctx, func(tx *DB) (err error) {
		if tail, err = tx.tailOf(ctx, trials); err != nil {
			return err
		}
		list, err = database.Rows[summaryRow](ctx, tx.DB, `
			SELECT t.id AS trial_id, coalesce(s.summary, '{}') AS summary, coalesce(s.total_batches, 0) AS total_batches,
				s.latest_run, s.latest_steps, s.best_run, s.best_steps, s.searcher_value, coalesce(s.stale, false) AS stale,
				coalesce(s.incomplete, '') AS incomplete, NULL::xid8 AS rebuilt_xid, NULL::bigint AS rebuilt_id, false AS oversized, `+searcherColumns+`
			FROM trials t JOIN experiments e ON e.id = t.experiment_id LEFT JOIN trial_summaries s ON s.trial_id = t.id
			WHERE t.id = ANY($1) AND (s.trial_id IS NOT NULL OR t.id = ANY($2))`, trials, reportedBy(tail))
		return err
	})
	if err != nil {
		return nil, err
	}
	return foldTail(list, tail)
}

// reportedBy returns the trials of rows, each once.
func reportedBy(list []metricRow) []int {
	trials := map[int]bool{}
	for _, r := range list {
		trials[r.TrialID] = true
	}
	return slices.Sorted(maps.Keys(trials))
}

// foldTail adds later reports to summaries. It leaves stale summaries unchanged: they
// include archived reports, and only the summarizer rebuilds them.
func foldTail(list []summaryRow, tail []metricRow) (map[int]TrialSummary, error) {
	byTrial := make(map[int]*summaryRow, len(list))
	for i := range list {
		s := &list[i]
		var err error
		if s.sum, err = s.summary(); err != nil {
			return nil, err
		}
		s.Summary = nil // it is decoded
		byTrial[s.TrialID] = s
	}
	for _, r := range tail {
		if s := byTrial[r.TrialID]; s != nil && !s.Stale {
			s.foldRow(r)
		}
	}
	sums := make(map[int]TrialSummary, len(list))
	for id, s := range byTrial {
		sums[id] = s.sum
	}
	return sums, nil
}

// BestValidation returns the best value of an experiment's searcher metric. It reads the
// search's events, which exist as soon as a report is answered.
func (db *DB) BestValidation(ctx context.Context, experiment int) (float64, error) {
	type best struct {
		Smaller bool     `db:"smaller"`
		Min     *float64 `db:"min"`
		Max     *float64 `db:"max"`
	}
	const value = `(SELECT %s((body->>'metric')::double precision) FROM search_events
		WHERE experiment_id = e.id AND kind = 'validated' AND body->>'metric' IS NOT NULL) AS %[1]s`
	b, err := database.Row[best](ctx, db.DB, fmt.Sprintf("experiment %d", experiment), `
		SELECT coalesce((e.config->'searcher'->>'smaller_is_better')::boolean, true) AS smaller, `+
		fmt.Sprintf(value, "min")+`, `+fmt.Sprintf(value, "max")+` FROM experiments e WHERE e.id = $1`, experiment)
	switch {
	case err != nil:
		return 0, err
	case b.Min == nil || b.Max == nil:
		return 0, fault.New(fault.NotFound, "experiment %d has no validation with its searcher's metric yet", experiment)
	case b.Smaller:
		return *b.Min, nil
	}
	return *b.Max, nil
}

// Point is a report of a series, with the value of each requested metric.
type Point struct {
	Steps  int
	At     time.Time
	Values []float64
}

// lacking is the value of a metric that a report lacks: a NaN with bits of its own, because a report
// can have a NaN too.
var lacking = math.Float64frombits(0x7ff8_0000_0000_0def)

// Lacks is true if the report does not have a metric as a number, which may be NaN.
func (p Point) Lacks(metric int) bool {
	return math.Float64bits(p.Values[metric]) == math.Float64bits(lacking)
}

// SeriesQuery chooses metrics of one group of a trial.
type SeriesQuery struct {
	TrialID   int
	Group     string
	Names     []string
	From      int  // steps, inclusive
	To        *int // steps, inclusive; nil: no end
	MaxPoints int  // 0: all
}

// Series reads metrics over steps, at most MaxPoints points.
func (db *DB) Series(ctx context.Context, q SeriesQuery) ([]Point, error) {
	to := math.MaxInt32
	if q.To != nil {
		to = *q.To
	}
	args := []any{q.TrialID, q.Group, q.From, to, append([]string{}, q.Names...)}
	columns := make([]string, len(q.Names))
	for i, name := range q.Names {
		args = append(args, name)
		columns[i] = fmt.Sprintf(`, avg->$%d`, len(args)) // drawable parses the value in half the time of a cast
	}
	// The reducer has to know where the series ends before it reads it.
	const series = ` FROM metrics WHERE trial_id = $1 AND group_name = $2 AND position BETWEEN $3 AND $4 AND steps IS NOT NULL AND NOT archived`
	sql := `SELECT steps, reported_at, coalesce((SELECT steps` + series + ` AND ($5::text[] = '{}' OR avg ?| $5) ORDER BY position DESC LIMIT 1), 0)` +
		strings.Join(columns, "") + series + ` ORDER BY position, run_id`
	r := reducer{limit: q.MaxPoints}
	p := Point{Values: make([]float64, len(q.Names))}
	values := make([]database.RawBytes, len(q.Names))
	into := []any{&p.Steps, &p.At, &r.last}
	for i := range values {
		into = append(into, &values[i])
	}
	err := db.Each(ctx, sql, args, into, func() error {
		has := len(q.Names) == 0
		for i, v := range values {
			value, ok := drawable(v)
			if !ok {
				value = lacking
			}
			p.Values[i], has = value, has || ok
		}
		if has {
			r.add(p)
		}
		return nil
	})
	return r.points(), err
}

// drawable parses a number of a report, also NaN and infinities, which JSON has as strings.
// Other values cannot be drawn, and become NaN; the result is false then.
func drawable(raw []byte) (float64, bool) {
	if len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		v, err := strconv.ParseFloat(string(raw), 64)
		return v, err == nil || errors.Is(err, strconv.ErrRange) // out of range is ±Inf
	}
	switch string(raw) {
	case `"NaN"`:
		return math.NaN(), true
	case `"Infinity"`:
		return math.Inf(1), true
	case `"-Infinity"`:
		return math.Inf(-1), true
	}
	return math.NaN(), false
}

// ValidationNames lists the names of metrics in the first validations of an experiment's
// first trials; other trials run the same program.
func (db *DB) ValidationNames(ctx context.Context, experiment int) ([]string, error) {
	return database.Scalars[string](ctx, db.DB, `
		SELECT DISTINCT n.name FROM (SELECT id FROM trials WHERE experiment_id = $1 ORDER BY number LIMIT 20) t
		CROSS JOIN LATERAL (SELECT avg FROM metrics m WHERE m.trial_id = t.id AND m.group_name = 'validation' AND jsonb_typeof(m.avg) = 'object' LIMIT 20) m
		CROSS JOIN LATERAL (SELECT jsonb_object_keys(m.avg) AS name LIMIT 1000) n ORDER BY n.name LIMIT 1000`, experiment)
}

// SearcherMetric returns searcher.metric of a trial's experiment; "" for none.
func (db *DB) SearcherMetric(ctx context.Context, trial int) (string, error) {
	return database.Scalar[string](ctx, db.DB, `SELECT coalesce(e.config->'searcher'->>'metric', '') FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = $1`, trial)
}
