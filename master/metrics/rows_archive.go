package metrics

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// A program that begins again without the checkpoint that it was given reports steps that an
// earlier run of its trial has reported. As in Determined, a report then replaces the reports
// of earlier runs from its step on: those of its own group, and later ones of other groups. Programs that log with MLflow's client number
// some metrics by batches and others by epochs, so a report of theirs replaces only what earlier runs have reported of its own metrics.

// runOf identifies a run of a trial.
type runOf struct{ trial, run int }

// archiveChunk is the number of reports that one transaction archives.
const archiveChunk = 50_000

// replace archives the reports that a report replaces, before it is stored. There may be a million of them, so this is work of the
// caller, on the connections of its owner and in steps: the commit is everybody's. Nobody adds reports to an earlier run, so what
// is archived stays all there is, and the step that earlier reports reach is read once for each run.
//
// A report that is rejected later, because its trial has too many, has replaced what it would have replaced.
func (w *Writer) replace(ctx context.Context, r *Report) error {
	if r.RunID < 2 || r.Steps == nil || r.Beside {
		return nil
	}
	of := runOf{r.TrialID, r.RunID}
	reached, known, _ := w.reached.Get(of, time.Now())
	if !known {
		found, err := database.Scalars[int64](ctx, w.db, `
			SELECT coalesce((SELECT max(m.position) FROM metrics m WHERE m.trial_id = t.id AND m.run_id < t.run_id AND m.steps IS NOT NULL AND NOT m.archived), -1)
			FROM trials t WHERE t.id = $1 AND t.run_id = $2`, r.TrialID, r.RunID)
		if err != nil || len(found) == 0 { // the commit says what is wrong with a run that is not the newest
			return err
		}
		reached = found[0]
		w.reached.Put(of, reached, time.Now())
	}
	switch {
	case int64(*r.Steps) > reached:
		return nil
	case r.Series != nil:
		return w.replaceSeries(ctx, r)
	}
	if err := w.archiveAll(ctx, r, nil); err != nil {
		return err
	}
	w.reached.Put(of, int64(*r.Steps), time.Now()) // other groups may have reports at this step
	return nil
}

// seriesOf is a metric of a run that has replaced what earlier runs have reported of it.
type seriesOf struct {
	of          runOf
	group, name string
}

// replaceSeries is replace for a report that replaces its own series only.
func (w *Writer) replaceSeries(ctx context.Context, r *Report) error {
	var names []string
	for _, name := range r.Series {
		from, known, _ := w.series.Get(seriesOf{runOf{r.TrialID, r.RunID}, r.Group, name}, time.Now())
		if !known || int64(*r.Steps) < from {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if err := w.archiveAll(ctx, r, names); err != nil {
		return err
	}
	for _, name := range names {
		w.series.Put(seriesOf{runOf{r.TrialID, r.RunID}, r.Group, name}, int64(*r.Steps), time.Now())
	}
	return nil
}

// archiveAll archives what a report replaces: of these series, or all if they are nil.
func (w *Writer) archiveAll(ctx context.Context, r *Report, names []string) error {
	for more := true; more; {
		err := w.db.Tx(ctx, func(tx *database.DB) error {
			n, err := archiveReplaced(ctx, tx, r, names)
			more = n == archiveChunk
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// archiveReplaced archives a part of the reports that a report of the trial's newest run replaces, and returns their number.
func archiveReplaced(ctx context.Context, tx *database.DB, r *Report, names []string) (n int64, err error) {
	if err := LockArchive(ctx, tx, r.TrialID); err != nil {
		return 0, err
	}
	n, err = tx.Affect(ctx, `UPDATE metrics SET archived = true WHERE ctid = ANY(ARRAY(
		SELECT m.ctid FROM trials t JOIN metrics m ON m.trial_id = t.id AND m.run_id < t.run_id AND m.steps IS NOT NULL AND NOT m.archived
			AND CASE WHEN $6::text[] IS NULL THEN m.position > $3 OR m.position = $3 AND m.group_name = $4
				ELSE m.position >= $3 AND m.group_name = $4 AND m.avg ?| $6::text[] END
		WHERE t.id = $1 AND t.run_id = $2 LIMIT $5))`, r.TrialID, r.RunID, *r.Steps, r.Group, archiveChunk, names)
	if err == nil && n > 0 {
		err = MarkStale(ctx, tx, r.TrialID)
	}
	return n, err
}

// LockArchive lets one transaction at a time archive reports of a trial. The lock is not that of the trial's row, for which the leader waits.
func LockArchive(ctx context.Context, tx *database.DB, trial int) error {
	return tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('rollback of trial ' || $1::int, 0))`, trial)
}

// ArchiveBeyond archives at most so many reports of runs before a run, beyond the steps from which that run restarts, and returns their
// number.
func ArchiveBeyond(ctx context.Context, db *database.DB, trial, run, steps, most int) (n int64, err error) {
	n, err = db.Affect(ctx, `UPDATE metrics SET archived = true WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM metrics WHERE trial_id = $1 AND run_id < $2 AND steps > $3 AND NOT archived LIMIT $4))`, trial, run, steps, most)
	if err == nil && n > 0 {
		err = MarkStale(ctx, db, trial)
	}
	return n, err
}
