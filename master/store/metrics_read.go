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

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/detent-ml/detent/master/fault"
)

// MetricRow is a report as it is read back.
type MetricRow struct {
	ID         int64           `db:"id"`
	XID        uint64          `db:"xid"`
	TrialID    int             `db:"trial_id"`
	RunID      int             `db:"run_id"`
	Group      string          `db:"grp"`
	Steps      *int            `db:"steps"`
	ReportedAt time.Time       `db:"reported_at"`
	Metrics    json.RawMessage `db:"avg"`
	Batches    json.RawMessage `db:"batches"`
}

const metricRowColumns = `id, xid, trial_id, run_id, grp, steps, reported_at, avg, batches`

// metricsPage bounds what is held in memory while reports are streamed.
const metricsPage = 1000

// EachMetric calls fn with the reports of trials that still count, page by page:
// by trial, then by step; those of groups without steps by time. An empty group
// means all groups.
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
			if err := db.eachOfGroup(ctx, trial, g, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachOfGroup pages through one group along its key.
func (db *DB) eachOfGroup(ctx context.Context, trial int, group string, fn func([]MetricRow) error) error {
	ord, run := int64(-1), -1
	for {
		page, err := rows[pagedRow](ctx, db, `SELECT `+metricRowColumns+`, ord FROM metrics
			WHERE trial_id = $1 AND grp = $2 AND (ord, run_id) > ($3, $4) AND NOT archived
			ORDER BY ord, run_id LIMIT $5`, trial, group, ord, run, metricsPage)
		if err != nil {
			return err
		}
		if len(page) > 0 {
			list := make([]MetricRow, len(page))
			for i, p := range page {
				list[i] = p.MetricRow
			}
			if err := fn(list); err != nil {
				return err
			}
			ord, run = page[len(page)-1].Ord, page[len(page)-1].RunID
		}
		if len(page) < metricsPage {
			return nil
		}
	}
}

// pagedRow is a row with its place in its group.
type pagedRow struct {
	MetricRow
	Ord int64 `db:"ord"`
}

// MetricGroups lists the groups that a trial has reported, found by hopping
// through the index instead of reading it.
func (db *DB) MetricGroups(ctx context.Context, trial int) ([]string, error) {
	return scalars[string](ctx, db, `
		WITH RECURSIVE g(grp) AS (
			SELECT min(grp) FROM metrics WHERE trial_id = $1
			UNION ALL
			SELECT (SELECT min(m.grp) FROM metrics m WHERE m.trial_id = $1 AND m.grp > g.grp) FROM g WHERE g.grp IS NOT NULL)
		SELECT grp FROM g WHERE grp IS NOT NULL`, trial)
}

// ValidationsAt reads validations by their keys, for many trials at once.
func (db *DB) ValidationsAt(ctx context.Context, keys map[int]ValidationKey) (map[int]MetricRow, error) {
	var trials, runs, steps []int
	for trial, k := range keys {
		trials, runs, steps = append(trials, trial), append(runs, k.Run), append(steps, k.Steps)
	}
	list, err := rows[MetricRow](ctx, db, `
		SELECT m.id, m.xid, m.trial_id, m.run_id, m.grp, m.steps, m.reported_at, m.avg, NULL::jsonb AS batches
		FROM unnest($1::int[], $2::int[], $3::int[]) AS k(t, r, s)
		JOIN metrics m ON m.trial_id = k.t AND m.grp = 'validation' AND m.run_id = k.r AND m.ord = k.s`, trials, runs, steps)
	found := make(map[int]MetricRow, len(list))
	for _, m := range list {
		found[m.TrialID] = m
	}
	return found, err
}

// TrialSummaries reads the summaries of trials, with the reports folded in that the
// summarizer has not reached yet: who reads a trial sees what it reported. Trials
// without reports are not in the answer. While more reports wait for the summarizer
// than one of its transactions takes, the newest of them are missing.
func (db *DB) TrialSummaries(ctx context.Context, trials []int) (map[int]TrialSummary, error) {
	var list []summaryRow
	var tail []metricRow
	err := db.Snapshot(ctx, func(tx *DB) (err error) {
		tail, err = rows[metricRow](ctx, tx, `
			SELECT `+metricColumns+` FROM (
				SELECT * FROM metrics WHERE xid >= (SELECT xid FROM metrics_cursor)
					AND (xid, id) > ((SELECT xid FROM metrics_cursor), (SELECT id FROM metrics_cursor))
				ORDER BY xid, id LIMIT $2) AS tail
			WHERE trial_id = ANY($1) AND NOT merged AND NOT archived ORDER BY xid, id`, trials, summarizeBatch)
		if err != nil {
			return err
		}
		list, err = rows[summaryRow](ctx, tx, `
			SELECT t.id AS trial_id, coalesce(s.summary, '{}') AS summary, coalesce(s.total_batches, 0) AS total_batches,
				s.latest_run, s.latest_steps, s.best_run, s.best_steps, s.searcher_value, coalesce(s.stale, false) AS stale,
				`+searcherColumns+`
			FROM trials t JOIN experiments e ON e.id = t.experiment_id LEFT JOIN trial_summaries s ON s.trial_id = t.id
			WHERE t.id = ANY($1) AND (s.trial_id IS NOT NULL OR t.id = ANY($2))`, trials, reportedBy(tail))
		return err
	})
	if err != nil {
		return nil, err
	}
	return foldTail(list, tail)
}

// reportedBy names the trials of rows, each once.
func reportedBy(list []metricRow) []int {
	trials := map[int]bool{}
	for _, r := range list {
		trials[r.TrialID] = true
	}
	return slices.Sorted(maps.Keys(trials))
}

// foldTail adds to summaries the reports that came after them. A stale summary stays
// as it is: some of what it holds was archived, and only the summarizer makes it anew.
func foldTail(list []summaryRow, tail []metricRow) (map[int]TrialSummary, error) {
	byTrial := make(map[int]*summaryRow, len(list))
	for i := range list {
		s := &list[i]
		var err error
		if s.sum, err = s.summary(); err != nil {
			return nil, err
		}
		byTrial[s.TrialID] = s
	}
	for _, r := range tail {
		if s := byTrial[r.TrialID]; s != nil && !s.Stale {
			if err := s.foldRow(r); err != nil {
				return nil, err
			}
		}
	}
	sums := make(map[int]TrialSummary, len(list))
	for id, s := range byTrial {
		sums[id] = s.sum
	}
	return sums, nil
}

// BestValidation is the best value of an experiment's searcher metric. It reads
// the search's events, which are there as soon as a report was answered.
func (db *DB) BestValidation(ctx context.Context, experiment int) (float64, error) {
	type best struct {
		Smaller bool     `db:"smaller"`
		Min     *float64 `db:"min"`
		Max     *float64 `db:"max"`
	}
	const value = `(SELECT %s((body->>'metric')::double precision) FROM search_events
		WHERE experiment_id = e.id AND kind = 'validated' AND body->>'metric' IS NOT NULL) AS %[1]s`
	b, err := row[best](ctx, db, fmt.Sprintf("experiment %d", experiment), `
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

// Point is one place of a series, with the value of each metric that was asked
// for; NaN where the report lacks it.
type Point struct {
	Steps  int
	At     time.Time
	Values []float64
}

// SeriesQuery asks for some metrics of one group of a trial.
type SeriesQuery struct {
	TrialID   int
	Group     string
	Names     []string
	From      int // steps, inclusive
	To        int // steps, inclusive; 0 is no end
	MaxPoints int // 0 is all
}

// Series reads metrics over steps, thinned to what was asked for at most.
func (db *DB) Series(ctx context.Context, q SeriesQuery) ([]Point, error) {
	if q.To <= 0 {
		q.To = math.MaxInt32
	}
	args := []any{q.TrialID, q.Group, q.From, q.To}
	columns := make([]string, len(q.Names))
	for i, name := range q.Names {
		args = append(args, name)
		columns[i] = fmt.Sprintf(`avg->$%d`, len(args)) // read by drawable, which costs half of what a cast does
	}
	list, err := db.Query(ctx, `SELECT steps, reported_at, `+strings.Join(columns, ", ")+` FROM metrics
		WHERE trial_id = $1 AND grp = $2 AND ord BETWEEN $3 AND $4 AND steps IS NOT NULL AND NOT archived
		ORDER BY ord, run_id`, args...)
	if err != nil {
		return nil, asFault(err)
	}
	defer list.Close()
	var points []Point
	into := make([]any, 2+len(q.Names))
	values := make([]pgtype.DriverBytes, len(q.Names))
	for i := range values {
		into[2+i] = &values[i]
	}
	for list.Next() {
		p := Point{Values: make([]float64, len(q.Names))}
		into[0], into[1] = &p.Steps, &p.At
		if err := list.Scan(into...); err != nil {
			return nil, asFault(err)
		}
		has := len(q.Names) == 0
		for i, v := range values {
			value, ok := drawable(v)
			p.Values[i], has = value, has || ok
		}
		if has {
			points = append(points, p)
		}
	}
	return Downsample(points, q.MaxPoints), asFault(list.Err())
}

// drawable reads a number out of a report, or one of those that JSON has none
// for; anything else cannot be drawn and is NaN.
func drawable(raw []byte) (float64, bool) {
	if len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		v, err := strconv.ParseFloat(string(raw), 64)
		return v, err == nil || errors.Is(err, strconv.ErrRange) // then it is infinite
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

// Downsample keeps at most limit points of a series, and its shape: the points are cut
// into buckets of equal width in steps, and of each bucket the points stay where a
// metric is smallest and largest. A peak never vanishes.
func Downsample(points []Point, limit int) []Point {
	if limit <= 0 || len(points) <= limit {
		return points
	}
	metrics := max(1, len(points[0].Values))
	buckets := max(1, limit/(2*metrics))
	first, last := points[0].Steps, points[len(points)-1].Steps
	width := max(1, (last-first+buckets)/buckets)
	kept := make([]Point, 0, limit)
	for begin := 0; begin < len(points); {
		edge := first + ((points[begin].Steps-first)/width+1)*width
		end := begin
		for end < len(points) && points[end].Steps < edge {
			end++
		}
		kept = append(kept, extremes(points[begin:end])...)
		begin = end
	}
	if len(kept) > limit { // more metrics than there is room for
		kept = kept[:limit]
	}
	return kept
}

// extremes are the points of a bucket where some metric is smallest or largest.
func extremes(bucket []Point) []Point {
	keep := make([]bool, len(bucket))
	for m := range bucket[0].Values {
		low, high := -1, -1
		for i, p := range bucket {
			v := p.Values[m]
			if math.IsNaN(v) {
				continue
			}
			if low < 0 || v < bucket[low].Values[m] {
				low = i
			}
			if high < 0 || v > bucket[high].Values[m] {
				high = i
			}
		}
		if low >= 0 {
			keep[low], keep[high] = true, true
		}
	}
	var out []Point
	for i, k := range keep {
		if k {
			out = append(out, bucket[i])
		}
	}
	return out
}

// ValidationNames lists the names of metrics in validations of an experiment: of the
// first trials' first ones, which is enough to see how its program calls them.
func (db *DB) ValidationNames(ctx context.Context, experiment int) ([]string, error) {
	return scalars[string](ctx, db, `
		SELECT DISTINCT n.name FROM (SELECT id FROM trials WHERE experiment_id = $1 ORDER BY number LIMIT 20) t
		CROSS JOIN LATERAL (SELECT avg FROM metrics m WHERE m.trial_id = t.id AND m.grp = 'validation' AND jsonb_typeof(m.avg) = 'object' LIMIT 20) m
		CROSS JOIN LATERAL (SELECT jsonb_object_keys(m.avg) AS name LIMIT 1000) n ORDER BY n.name LIMIT 1000`, experiment)
}

// SearcherMetric is the metric that the searcher of a trial's experiment looks at; ""
// for none.
func (db *DB) SearcherMetric(ctx context.Context, trial int) (string, error) {
	return scalar[string](ctx, db, `SELECT coalesce(e.config->'searcher'->>'metric', '') FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = $1`, trial)
}
