package metrics

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// A program that begins again without the checkpoint that it was given reports steps that an
// earlier run of its trial has reported. As in Determined, a report then replaces the reports
// of earlier runs from its step on: those of its own group, and later ones of other groups.

// runOf identifies a run of a trial.
type runOf struct{ trial, run int }

// lowest returns, by run and group, the lowest step that a batch reports, for runs that
// are not the first.
func lowest(list []*database.Queued[*Report]) map[runOf]map[string]int {
	var low map[runOf]map[string]int
	for _, q := range list {
		r := q.Item
		if r.RunID < 2 || r.Steps == nil {
			continue
		}
		k := runOf{r.TrialID, r.RunID}
		if low == nil {
			low = map[runOf]map[string]int{}
		}
		if low[k] == nil {
			low[k] = map[string]int{}
		}
		if s, ok := low[k][r.Group]; !ok || *r.Steps < s {
			low[k][r.Group] = *r.Steps
		}
	}
	return low
}

// replacing returns the part of lowest that has to look for replaced reports: runs that have
// come no further than the reports of earlier runs that still count. Nobody adds reports to an
// earlier run, so the step that they reach is read once, when the run begins to report.
func (w *Writer) replacing(ctx context.Context, list []*database.Queued[*Report]) (map[runOf]map[string]int, error) {
	low := lowest(list)
	if len(low) == 0 {
		return nil, nil
	}
	now := time.Now()
	var trials, runs []int32
	for k := range low {
		if _, known, _ := w.reached.Get(k, now); !known {
			trials, runs = append(trials, int32(k.trial)), append(runs, int32(k.run))
		}
	}
	if len(trials) > 0 {
		found, err := database.Rows[struct {
			Trial   int   `db:"trial"`
			Run     int   `db:"run"`
			Reached int64 `db:"reached"`
		}](ctx, w.db, `
			SELECT u.trial, u.run, coalesce((SELECT max(m.position) FROM metrics m WHERE m.trial_id = u.trial AND m.run_id < u.run
				AND m.steps IS NOT NULL AND NOT m.archived), -1) AS reached
			FROM unnest($1::int[], $2::int[]) AS u(trial, run) JOIN trials t ON t.id = u.trial AND t.run_id = u.run`, trials, runs)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			w.reached.Put(runOf{f.Trial, f.Run}, f.Reached, now)
		}
	}
	for k, groups := range low {
		reached, known, _ := w.reached.Get(k, now)
		if !known || int64(first(groups)) > reached {
			delete(low, k)
		}
	}
	return low, nil
}

// first is the lowest step of all groups.
func first(groups map[string]int) int { return slices.Min(slices.Collect(maps.Values(groups))) }

// archiveReplaced archives the reports that those of newer runs replace.
func archiveReplaced(ctx context.Context, db *database.DB, low map[runOf]map[string]int) error {
	var trials, runs, steps []int32
	var groups []string
	for k, of := range low {
		for group, s := range of {
			trials, runs, groups, steps = append(trials, int32(k.trial)), append(runs, int32(k.run)), append(groups, group), append(steps, int32(s))
		}
	}
	if len(trials) == 0 {
		return nil
	}
	stale, err := database.Scalars[int](ctx, db, `
		WITH old AS MATERIALIZED (
			SELECT m.trial_id, m.group_name, m.position, m.run_id FROM unnest($1::int[], $2::int[], $3::text[], $4::int[]) AS u(trial, run, group_name, step)
			JOIN trials t ON t.id = u.trial AND t.run_id = u.run
			JOIN metrics m ON m.trial_id = u.trial AND m.run_id < u.run AND m.steps IS NOT NULL AND NOT m.archived
				AND (m.position > u.step OR m.position = u.step AND m.group_name = u.group_name)
			ORDER BY m.trial_id, m.group_name, m.position, m.run_id FOR UPDATE OF m),
		gone AS (UPDATE metrics m SET archived = true FROM (SELECT DISTINCT trial_id, group_name, position, run_id FROM old) o
			WHERE m.trial_id = o.trial_id AND m.group_name = o.group_name AND m.position = o.position AND m.run_id = o.run_id RETURNING m.trial_id)
		SELECT DISTINCT trial_id FROM gone ORDER BY 1`, trials, runs, groups, steps)
	for _, trial := range stale {
		if err == nil {
			err = MarkStale(ctx, db, trial)
		}
	}
	return err
}

// ArchiveBeyond archives at most so many reports of runs before a run, beyond the steps from which that run restarts, and returns their
// number.
func ArchiveBeyond(ctx context.Context, db *database.DB, trial, run, steps, most int) (n int64, err error) {
	n, err = db.Exec(ctx, `UPDATE metrics SET archived = true WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM metrics WHERE trial_id = $1 AND run_id < $2 AND steps > $3 AND NOT archived LIMIT $4))`, trial, run, steps, most)
	if err == nil && n > 0 {
		err = MarkStale(ctx, db, trial)
	}
	return n, err
}
