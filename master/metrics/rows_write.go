package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf/objectives"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/search"
)

// newestRuns returns the newest run of each trial of a batch.
func newestRuns(ctx context.Context, db *database.DB, batch []*database.Queued[*Report]) (map[int]int, error) {
	return database.Map[int, int](ctx, db, `SELECT id, run_id FROM trials WHERE id = ANY($1) ORDER BY id FOR KEY SHARE`, trialsOf(batch))
}

// trialsOf lists the trials of a sorted batch.
func trialsOf(batch []*database.Queued[*Report]) []int {
	var ids []int
	for _, q := range batch {
		if n := len(ids); n == 0 || ids[n-1] != q.Item.TrialID {
			ids = append(ids, q.Item.TrialID)
		}
	}
	return ids
}

// current rejects a report that is not of its trial's newest run.
func (r *Report) current(runs map[int]int) error {
	run, ok := runs[r.TrialID]
	switch {
	case !ok:
		return fault.New(fault.NotFound, "trial %d not found", r.TrialID)
	case r.RunID < run:
		return fault.New(fault.Conflict, "run %d of trial %d has ended and run %d has replaced it: reports of run %[1]d are rejected",
			r.RunID, r.TrialID, run)
	case r.RunID > run:
		return fault.New(fault.Invalid, "trial %d has no run %d yet; its newest run is %d", r.TrialID, r.RunID, run)
	}
	return nil
}

// insertReport locks trials as a foreign key does. A claim of a new run, which rolls a trial
// back, then waits for the batch, and the batch sees the run of an earlier claim.
const insertReport = `
	WITH t AS MATERIALIZED (SELECT id, run_id FROM trials WHERE id = ANY($9) ORDER BY id FOR KEY SHARE)
	INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg, batches)
	SELECT u.t, u.r, g, s, o, coalesce(at, now()), a::jsonb, b::jsonb
	FROM unnest($1::int[], $2::int[], $3::text[], $4::int[], $5::bigint[], $6::timestamptz[], $7::text[], $8::text[])
		AS u(t, r, g, s, o, at, a, b)
	JOIN t ON t.id = u.t AND t.run_id = u.r`

// insertNew stores a sorted batch in one statement. It returns false if a report was not new
// or not of its trial's newest run; the other reports may be stored then.
func insertNew(ctx context.Context, db *database.DB, batch []*database.Queued[*Report]) (bool, error) {
	args, place := insertArgs(batch)
	n, err := db.Affect(ctx, insertReport, args...)
	if fault.Is(err, fault.Conflict) { // a key is taken
		return false, nil
	}
	return n == int64(len(batch)) && len(place) == len(batch), database.BadData(err)
}

// insertReports stores the reports of a sorted batch whose key is new and whose run is their
// trial's newest; fresh[i] reports whether report i was stored.
func insertReports(ctx context.Context, db *database.DB, batch []*database.Queued[*Report]) (fresh []bool, err error) {
	fresh = make([]bool, len(batch))
	args, place := insertArgs(batch)
	var k key
	err = db.Each(ctx, insertReport+` ON CONFLICT DO NOTHING RETURNING trial_id, run_id, group_name, position`, args, []any{&k.trial, &k.run, &k.group, &k.position}, func() error {
		fresh[place[k]] = true
		return nil
	})
	return fresh, database.BadData(err)
}

// insertArgs returns the arguments of insertReport, and the index of each key in the batch.
// If several reports have the same key, the first is stored and the others are compared
// with it.
func insertArgs(batch []*database.Queued[*Report]) (args []any, index map[key]int) {
	n := len(batch)
	trials, runs, groups := make([]int32, 0, n), make([]int32, 0, n), make([]string, 0, n)
	steps, positions, times := make([]*int, 0, n), make([]int64, 0, n), make([]*time.Time, 0, n)
	avgs, lists := make([]string, 0, n), make([]*string, 0, n)
	index = make(map[key]int, n)
	for i, q := range batch {
		r := q.Item
		k := r.key()
		if _, twice := index[k]; twice {
			continue
		}
		index[k] = i
		trials, runs, groups = append(trials, int32(r.TrialID)), append(runs, int32(r.RunID)), append(groups, r.Group)
		steps, positions, times = append(steps, r.Steps), append(positions, k.position), append(times, orNil(r.At))
		avgs, lists = append(avgs, string(r.Metrics)), append(lists, orNull(r.Batches))
	}
	return []any{trials, runs, groups, steps, positions, times, avgs, lists, trialsOf(batch)}, index
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func orNull(raw json.RawMessage) *string {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	s := string(raw)
	return &s
}

// validations returns the events of a batch: one for each new validation, and one for each
// report that adds the searcher's metric to a stored validation.
func validations(batch []*database.Queued[*Report], gains []gained, facts map[int]trialFacts) ([]Validated, error) {
	var list []Validated
	for i, q := range batch {
		f, known := facts[q.Item.TrialID]
		if !gains[i].validation || q.Item.Group != report.Validation || !known || f.Metric == nil {
			continue
		}
		var values map[string]json.RawMessage
		if err := json.Unmarshal(q.Item.Metrics, &values); err != nil {
			return nil, err
		}
		v := search.Validation{Run: q.Item.RunID, Steps: optional.Value(q.Item.Steps)}
		var err error
		if v.Metric, v.Unfit, err = summary.FiniteIn(values[*f.Metric]); err == nil && f.TimeMetric != nil && gains[i].time {
			v.Time, _, err = summary.FiniteIn(values[*f.TimeMetric])
		}
		if err == nil && len(f.Objectives) > 0 {
			v.Values, err = valuesOf(f.Objectives, values)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, Validated{ExperimentID: f.ExperimentID, Trial: f.Number, Validation: v})
	}
	return list, nil
}

// valuesOf returns the metrics of a report that a search with several metrics compares.
func valuesOf(config []byte, reported map[string]json.RawMessage) (map[string]any, error) {
	var list objectives.List
	if json.Unmarshal(config, &list) != nil { // it was imported, and its search does not run here: the reports of others must not fail with it
		return nil, nil
	}
	values := map[string]any{}
	for _, m := range list {
		number, unfit, err := summary.FiniteIn(reported[m.Name])
		switch {
		case err != nil:
			return nil, err
		case number != nil:
			values[m.Name] = *number
		case unfit != "":
			values[m.Name] = unfit
		}
	}
	return values, nil
}
