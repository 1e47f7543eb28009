package metrics

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/metrics/series"
)

// CurveQuery chooses metrics of one group of a trial.
type CurveQuery struct {
	TrialID   int
	Group     string
	Names     []string
	From      int  // steps, inclusive
	To        *int // steps, inclusive; nil: no end
	MaxPoints int  // 0: all
}

// Curve reads metrics over steps, at most MaxPoints points.
func Curve(ctx context.Context, db *database.DB, q CurveQuery) ([]series.Point, error) {
	to := math.MaxInt32
	if q.To != nil {
		to = *q.To
	}
	args := []any{q.TrialID, q.Group, q.From, to, append([]string{}, q.Names...)}
	columns := make([]string, len(q.Names))
	for i, name := range q.Names {
		args = append(args, name)
		columns[i] = fmt.Sprintf(`, avg->$%d`, len(args)) // report.Float parses the value in half the time of a cast
	}
	// The reducer has to know where the series ends before it reads it.
	reports := ` FROM metrics WHERE trial_id = ` + reportsOf + ` AND group_name = $2 AND position BETWEEN $3 AND $4 AND steps IS NOT NULL AND run_id <= ` + pastRun + ` AND NOT archived`
	sql := `SELECT steps, reported_at, coalesce((SELECT steps` + reports + ` AND ($5::text[] = '{}' OR avg ?| $5) ORDER BY position DESC LIMIT 1), 0)` +
		strings.Join(columns, "") + reports + ` ORDER BY position, run_id`
	r := series.Reducer{Limit: q.MaxPoints}
	p := series.Point{Values: make([]float64, len(q.Names))}
	values := make([]database.RawBytes, len(q.Names))
	into := []any{&p.Steps, &p.At, &r.Last}
	for i := range values {
		into = append(into, &values[i])
	}
	err := db.Each(ctx, sql, args, into, func() error {
		has := len(q.Names) == 0
		for i, v := range values {
			value, ok := report.Float(v)
			if !ok {
				value = series.Lacking
			}
			p.Values[i], has = value, has || ok
		}
		if has {
			r.Add(p)
		}
		return nil
	})
	return r.Points(), err
}

// maxSearchReports is the maximum number of reports that one part of a search's trials reads.
const maxSearchReports = 300_000

// Curves reads a metric of trials over steps. It reads at most maxSearchReports reports, in the
// order of the trials' ids. The result is complete for the first `whole` trials; whole is at least 1.
func Curves(ctx context.Context, db *database.DB, trials []int, group, name string) (curves map[int][]series.Point, whole int, err error) {
	curves = make(map[int][]series.Point, len(trials))
	var trial, steps, n int
	var value database.RawBytes
	err = db.Each(ctx, `
		SELECT t.id, m.steps, m.avg->$3 FROM trials t JOIN metrics m ON m.trial_id = `+reportsOfT+` AND m.run_id <= `+pastRunT+`
		WHERE t.id = ANY($1) AND m.group_name = $2 AND m.steps IS NOT NULL AND NOT m.archived
		ORDER BY t.id, m.position, m.run_id LIMIT $4`, []any{trials, group, name, maxSearchReports}, []any{&trial, &steps, &value}, func() error {
		n++
		if v, ok := report.Float(value); ok {
			curves[trial] = append(curves[trial], series.Point{Steps: steps, Values: []float64{v}})
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	whole = len(trials)
	if n == maxSearchReports { // the reports of the last trial, and of those after it, are not all here
		for i, id := range trials {
			if id == trial {
				whole = max(1, i)
			}
		}
	}
	return curves, whole, nil
}
