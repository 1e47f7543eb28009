package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/search"
)

// newestRuns returns the newest run of each trial of a batch.
func (db *DB) newestRuns(ctx context.Context, batch []*queued[*Report]) (map[int]int, error) {
	type newest struct {
		ID  int `db:"id"`
		Run int `db:"run_id"`
	}
	list, err := rows[newest](ctx, db, `SELECT id, run_id FROM trials WHERE id = ANY($1) ORDER BY id FOR KEY SHARE`, trialsOf(batch))
	runs := make(map[int]int, len(list))
	for _, n := range list {
		runs[n.ID] = n.Run
	}
	return runs, err
}

// trialsOf lists the trials of a sorted batch.
func trialsOf(batch []*queued[*Report]) []int {
	var ids []int
	for _, q := range batch {
		if n := len(ids); n == 0 || ids[n-1] != q.item.TrialID {
			ids = append(ids, q.item.TrialID)
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
	INSERT INTO metrics (trial_id, run_id, grp, steps, ord, reported_at, avg, batches)
	SELECT u.t, u.r, g, s, o, coalesce(at, now()), a::jsonb, b::jsonb
	FROM unnest($1::int[], $2::int[], $3::text[], $4::int[], $5::bigint[], $6::timestamptz[], $7::text[], $8::text[])
		AS u(t, r, g, s, o, at, a, b)
	JOIN t ON t.id = u.t AND t.run_id = u.r`

// insertNew stores a sorted batch in one statement. It returns false if a report was not new
// or not of its trial's newest run; the other reports may be stored then.
func (db *DB) insertNew(ctx context.Context, batch []*queued[*Report]) (bool, error) {
	args, place := insertArgs(batch)
	n, err := db.exec(ctx, insertReport, args...)
	if fault.Is(err, fault.Conflict) { // a key is taken
		return false, nil
	}
	return n == int64(len(batch)) && len(place) == len(batch), badData(err)
}

// insertReports stores the reports of a sorted batch whose key is new and whose run is their
// trial's newest; fresh[i] reports whether report i was stored.
func (db *DB) insertReports(ctx context.Context, batch []*queued[*Report]) (fresh []bool, err error) {
	fresh = make([]bool, len(batch))
	args, place := insertArgs(batch)
	rows, err := db.Query(ctx, insertReport+` ON CONFLICT DO NOTHING RETURNING trial_id, run_id, grp, ord`, args...)
	if err != nil {
		return nil, badData(err)
	}
	defer rows.Close()
	for rows.Next() {
		var k key
		if err := rows.Scan(&k.trial, &k.run, &k.group, &k.ord); err != nil {
			return nil, err
		}
		fresh[place[k]] = true
	}
	return fresh, badData(rows.Err())
}

// insertArgs returns the arguments of insertReport, and the index of each key in the batch.
// If several reports have the same key, the first is stored and the others are compared
// with it.
func insertArgs(batch []*queued[*Report]) (args []any, index map[key]int) {
	n := len(batch)
	trials, runs, groups := make([]int32, 0, n), make([]int32, 0, n), make([]string, 0, n)
	steps, ords, times := make([]*int, 0, n), make([]int64, 0, n), make([]*time.Time, 0, n)
	avgs, lists := make([]string, 0, n), make([]*string, 0, n)
	index = make(map[key]int, n)
	for i, q := range batch {
		r := q.item
		k := r.key()
		if _, twice := index[k]; twice {
			continue
		}
		index[k] = i
		trials, runs, groups = append(trials, int32(r.TrialID)), append(runs, int32(r.RunID)), append(groups, r.Group)
		steps, ords, times = append(steps, r.Steps), append(ords, k.ord), append(times, orNil(r.At))
		avgs, lists = append(avgs, string(r.Metrics)), append(lists, orNull(r.Batches))
	}
	return []any{trials, runs, groups, steps, ords, times, avgs, lists, trialsOf(batch)}, index
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

// storedReport is a row of metrics with the same key as a later report.
type storedReport struct {
	TrialID int             `db:"trial_id"`
	RunID   int             `db:"run_id"`
	Group   string          `db:"grp"`
	Ord     int64           `db:"ord"`
	Metrics json.RawMessage `db:"avg"`
	Batches json.RawMessage `db:"batches"`

	values  map[string]any
	text    int // bytes of metrics and batches, with what was added; 0: nothing was
	changed bool
}

// mergeReports adds the reports that were not fresh to the rows with their keys. It returns
// the metrics that each report of the batch added: all if it is fresh, else the new names;
// nil if it repeats a report or was rejected.
func (db *DB) mergeReports(ctx context.Context, batch []*queued[*Report], fresh []bool) ([]map[string]any, error) {
	added := make([]map[string]any, len(batch))
	var late []*Report
	for i, q := range batch {
		if !fresh[i] {
			late = append(late, q.item)
		} else if q.item.Group == Validation {
			values, err := decode(q.item.Metrics)
			if err != nil {
				return nil, err
			}
			added[i] = values
		}
	}
	if len(late) == 0 {
		return added, nil
	}
	found, err := db.lockReports(ctx, late)
	if err != nil {
		return nil, err
	}
	for i, q := range batch {
		if !fresh[i] {
			added[i], q.err = found[q.item.key()].merge(q.item)
		}
	}
	for _, s := range found {
		if !s.changed {
			continue
		}
		avg, err := json.Marshal(s.values)
		if err != nil {
			return nil, err
		}
		_, err = db.exec(ctx, `
			UPDATE metrics SET avg = avg || $5::text::jsonb, batches = $6::text::jsonb, merged = true, xid = pg_current_xact_id()
			WHERE trial_id = $1 AND run_id = $2 AND grp = $3 AND ord = $4`,
			s.TrialID, s.RunID, s.Group, s.Ord, string(avg), orNull(s.Batches))
		if err != nil {
			return nil, badData(err)
		}
	}
	return added, nil
}

// lockReports finds and locks the rows with the keys of these reports.
func (db *DB) lockReports(ctx context.Context, list []*Report) (map[key]*storedReport, error) {
	var trials, runs []int32
	var groups []string
	var ords []int64
	for _, r := range list {
		k := r.key()
		trials, runs = append(trials, int32(k.trial)), append(runs, int32(k.run))
		groups, ords = append(groups, k.group), append(ords, k.ord)
	}
	there, err := rows[storedReport](ctx, db, `
		SELECT trial_id, run_id, grp, ord, avg, batches FROM metrics
		WHERE (trial_id, grp, ord, run_id) IN (SELECT * FROM unnest($1::int[], $2::text[], $3::bigint[], $4::int[]))
		ORDER BY trial_id, grp, ord, run_id FOR UPDATE`, trials, groups, ords, runs)
	found := make(map[key]*storedReport, len(there))
	for i := range there {
		s := &there[i]
		found[key{s.TrialID, s.Group, s.Ord, s.RunID}] = s
	}
	return found, err
}

// merge compares a report with the row of its key, and adds the metrics that the row lacks.
func (s *storedReport) merge(r *Report) (added map[string]any, err error) {
	if s == nil { // the row was deleted meanwhile, with its experiment
		return nil, fault.New(fault.NotFound, "trial %d not found", r.TrialID)
	}
	if s.values == nil {
		if s.values, err = decode(s.Metrics); err != nil {
			return nil, err
		}
	}
	values, err := decode(r.Metrics)
	if err != nil {
		return nil, fault.New(fault.Invalid, "metrics: %v", err)
	}
	where := fmt.Sprintf("trial %d, run %d, group %s", r.TrialID, r.RunID, r.Group)
	if r.Steps != nil {
		where += fmt.Sprintf(", step %d", *r.Steps)
	} else {
		where += ", time " + r.At.UTC().Format(time.RFC3339Nano)
	}
	added = map[string]any{}
	for name, v := range values {
		old, there := s.values[name]
		switch {
		case !there:
			added[name] = v
		case !sameJSON(old, v):
			return nil, fault.New(fault.Invalid, "%s: metric %q was reported before with another value, %s then and %s now",
				where, name, brief(old), brief(v))
		}
	}
	if len(r.Batches) > 0 && !bytes.Equal(r.Batches, []byte("null")) {
		same, err := sameText(s.Batches, r.Batches)
		switch {
		case err != nil:
			return nil, fault.New(fault.Invalid, "batchMetrics: %v", err)
		case len(s.Batches) == 0:
			s.Batches, s.changed = r.Batches, true
		case !same:
			return nil, fault.New(fault.Invalid, "%s: batchMetrics were reported before with other values", where)
		}
	}
	if len(added) == 0 {
		return nil, nil
	}
	if err := s.hold(added, where); err != nil {
		return nil, err
	}
	s.changed = true
	return added, nil
}

// hold adds metrics to the row, if it has room: reports of one key have the bounds of one report together.
func (s *storedReport) hold(added map[string]any, where string) error {
	text, err := json.Marshal(added)
	if err != nil {
		return err
	}
	more := measure(text)
	if s.text == 0 {
		s.text = len(s.Metrics) + len(s.Batches)
	}
	switch {
	case len(s.values)+more.names > maxReportNames:
		return fault.New(fault.Invalid, "%s: the reports have %d names of metrics together; %d are allowed: report fewer names at one step",
			where, len(s.values)+more.names, maxReportNames)
	case s.text+more.text > maxReportText:
		return fault.New(fault.Invalid, "%s: the reports have %d bytes together; %d are allowed: report less at one step",
			where, s.text+more.text, maxReportText)
	}
	maps.Copy(s.values, added)
	s.text += more.text
	return nil
}

// validations returns the events of a batch: one for each new validation, and one for each
// report that adds the searcher's metric to a stored validation.
func validations(batch []*queued[*Report], fresh []bool, added []map[string]any, facts map[int]trialFacts) ([]NewEvent, error) {
	var events []NewEvent
	for i, q := range batch {
		f, known := facts[q.item.TrialID]
		if added[i] == nil || q.err != nil || q.item.Group != Validation || !known || f.Metric == nil {
			continue
		}
		if _, has := added[i][*f.Metric]; !has && !fresh[i] {
			continue // the report adds other metrics to a validation whose event exists
		}
		v := search.Validation{Run: q.item.RunID}
		if q.item.Steps != nil {
			v.Steps = *q.item.Steps
		}
		v.Metric, v.Unfit = number(added[i][*f.Metric])
		if f.TimeMetric != nil {
			v.Time, _ = number(added[i][*f.TimeMetric])
		}
		body, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		events = append(events, NewEvent{ExperimentID: f.ExperimentID, Trial: f.Number, Kind: search.Validated, Body: body})
	}
	return events, nil
}

// number returns a metric as a finite number, or its text if it is not one.
func number(v any) (*float64, string) {
	switch x := v.(type) {
	case nil:
		return nil, ""
	case json.Number:
		f, err := strconv.ParseFloat(x.String(), 64)
		if err == nil && !math.IsInf(f, 0) {
			return &f, ""
		}
		return nil, x.String()
	case string:
		return nil, x
	}
	return nil, brief(v)
}
