package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/trial"
	"github.com/detent-ml/detent/master/webhook"
)

// Unmanaged experiments: their programs run outside of the cluster. A program reports the
// state of its trial, and the experiment's state follows from its trials.

// silent is the error of a trial whose program stopped reporting. If the program reports
// again, the trial continues.
const silent = "the program stopped reporting"

// alive is SQL for when the program of a trial was last heard, which is now. MLflow's clients send no signs of life between their
// reports, so a run of theirs may be silent for a day longer.
const alive = `now() + CASE WHEN metadata ? 'mlflow' THEN interval '1 day' ELSE interval '0' END`

// ByExternalID finds an experiment by its program's name for it.
func ByExternalID(ctx context.Context, db *database.DB, external string) (Experiment, error) {
	return database.Row[Experiment](ctx, db, fmt.Sprintf("experiment with the external id %q", fault.Clip(external)), selectExperiment+` WHERE e.external_id = $1`, external)
}

// TrialByExternalID finds a trial by its program's names for its experiment and for it.
func TrialByExternalID(ctx context.Context, db *database.DB, experiment, external string) (Trial, error) {
	return database.Row[Trial](ctx, db, externalTrial(external), trialSelect+` WHERE e.external_id = $1 AND t.external_id = $2`, experiment, external)
}

func externalTrial(external string) string {
	return fmt.Sprintf("trial with the external id %q", fault.Clip(external))
}

// NoExternalTrial is the error of TrialByExternalID for a trial that does not exist.
func NoExternalTrial(external string) error {
	return fault.New(fault.NotFound, "%s not found", externalTrial(external))
}

// maxUnmanagedTrials is the maximum number of trials of an unmanaged experiment: each change
// of a trial reads all of them.
const maxUnmanagedTrials = 10_000

// NewUnmanagedTrial is a trial that a program creates.
type NewUnmanagedTrial struct {
	ExperimentID int
	ExternalID   *string // nil for none
	HParams      json.RawMessage
}

// CreateUnmanagedTrial inserts a trial, or finds the one with the external id.
func CreateUnmanagedTrial(ctx context.Context, db *database.DB, n NewUnmanagedTrial) (id int, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		id, err = CreateUnmanagedTrialIn(ctx, tx, n)
		return err
	})
	return id, err
}

// CreateUnmanagedTrialIn is CreateUnmanagedTrial in a transaction of the caller.
func CreateUnmanagedTrialIn(ctx context.Context, tx *database.DB, n NewUnmanagedTrial) (id int, err error) {
	type owner struct {
		JobID string `db:"job_id"`
		Seed  int64  `db:"seed"`
		Next  int    `db:"next"`
		There *int   `db:"there"`
	}
	if err := lockUnmanaged(ctx, tx, n.ExperimentID); err != nil {
		return 0, err
	}
	o, err := database.Row[owner](ctx, tx, "experiment", `
		SELECT e.job_id::text, e.seed, (SELECT coalesce(max(number) + 1, 0) FROM trials t WHERE t.experiment_id = e.id) AS next,
			(SELECT id FROM trials t WHERE t.experiment_id = e.id AND t.external_id = $2) AS there
		FROM experiments e WHERE e.id = $1`, n.ExperimentID, n.ExternalID)
	switch {
	case err != nil:
		return 0, err
	case o.There != nil:
		return *o.There, nil
	case o.Next >= maxUnmanagedTrials:
		return 0, fault.New(fault.Invalid, "experiment %d has %d trials, the maximum of an unmanaged experiment; create another experiment", n.ExperimentID, o.Next)
	}
	t := trial.Row{ExperimentID: n.ExperimentID, Number: o.Next, TaskID: trial.TaskID(n.ExperimentID, o.JobID, o.Next), HParams: n.HParams,
		Seed: o.Seed, Name: fmt.Sprintf("Trial %d of experiment %d", o.Next+1, n.ExperimentID), Idle: true}
	s := &database.Statements{}
	QueueNewTrial(s, t)
	if err := s.Send(ctx, tx); err != nil {
		return 0, database.BadData(err)
	}
	id, err = database.Scalar[int](ctx, tx, `UPDATE trials SET external_id = $2, alive_at = now() WHERE task_id = $1 RETURNING id`, t.TaskID, n.ExternalID)
	if err != nil {
		return 0, database.BadData(err)
	}
	return id, settleUnmanaged(ctx, tx, n.ExperimentID)
}

// ownerOfNew returns the owner of the experiment that gets a trial; 0 if there is no experiment, or the trial exists.
func ownerOfNew(ctx context.Context, db *database.DB, n NewUnmanagedTrial) (int, error) {
	return database.Scalar[int](ctx, db, `SELECT coalesce((SELECT e.owner_id FROM experiments e WHERE e.id = $1
		AND NOT EXISTS (SELECT FROM trials t WHERE t.experiment_id = e.id AND t.external_id = $2)), 0)`, n.ExperimentID, n.ExternalID)
}

// lockUnmanaged locks an experiment until the end of the transaction, and fails unless it is
// unmanaged and may have more trials.
func lockUnmanaged(ctx context.Context, db *database.DB, id int) error {
	type head struct {
		Unmanaged bool   `db:"unmanaged"`
		Archived  bool   `db:"archived"`
		Desired   string `db:"desired"`
	}
	h, err := database.Row[head](ctx, db, "experiment", `SELECT unmanaged, archived, desired FROM experiments WHERE id = $1 FOR NO KEY UPDATE`, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return NotFound(id)
	case err != nil:
		return err
	case !h.Unmanaged:
		return fault.New(fault.Invalid, "experiment %d is not unmanaged: the master itself runs its trials", id)
	case h.Archived:
		return fault.New(fault.Conflict, "experiment %d is archived; unarchive it first", id)
	case h.Desired != "active":
		return fault.New(fault.Conflict, "experiment %d was canceled, killed or deleted, and accepts no more trials", id)
	}
	return nil
}

// experimentOfUnmanaged is the experiment of an unmanaged trial.
func experimentOfUnmanaged(ctx context.Context, db *database.DB, id int) (int, error) {
	experiment, err := database.Scalar[int](ctx, db, `SELECT t.experiment_id FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = $1 AND e.unmanaged`, id)
	return experiment, database.Missing(err, fault.New(fault.Invalid, "trial %d is not unmanaged: the master itself runs it", id))
}

// UnmanagedStart is the result of StartUnmanagedTrial.
type UnmanagedStart struct {
	RunID      int     `db:"run_id"`
	Steps      int     `db:"steps"`
	Checkpoint *string `db:"checkpoint"`
}

// StartUnmanagedTrial begins the next run of a trial. If it resumes, the result has the
// trial's newest checkpoint.
func StartUnmanagedTrial(ctx context.Context, db *database.DB, id int, resume bool) (s UnmanagedStart, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		s, err = StartUnmanagedTrialIn(ctx, tx, id, resume)
		return err
	})
	return s, err
}

// StartUnmanagedTrialIn is StartUnmanagedTrial in a transaction of the caller.
func StartUnmanagedTrialIn(ctx context.Context, tx *database.DB, id int, resume bool) (s UnmanagedStart, err error) {
	experiment, err := experimentOfUnmanaged(ctx, tx, id)
	if err != nil {
		return s, err
	}
	if err := lockUnmanaged(ctx, tx, experiment); err != nil {
		return s, err
	}
	if err := tx.Exec(ctx, `UPDATE trials SET run_id = run_id + 1, early_exit = NULL WHERE id = $1`, id); err != nil {
		return s, err
	}
	if err := setUnmanagedState(ctx, tx, id, "ACTIVE", ""); err != nil {
		return s, err
	}
	s, err = database.Row[UnmanagedStart](ctx, tx, "trial", `
		SELECT t.run_id, coalesce(c.steps, 0) AS steps, c.uuid::text AS checkpoint FROM trials t LEFT JOIN LATERAL (
			SELECT uuid, steps FROM checkpoints k WHERE $2 AND k.trial_id = t.id AND NOT k.kept AND k.logged = '' AND k.state = 'COMPLETED'
			ORDER BY k.run_id DESC, k.steps DESC, k.reported_at DESC LIMIT 1) c ON true
		WHERE t.id = $1`, id, resume)
	if err != nil {
		return s, err
	}
	return s, settleUnmanaged(ctx, tx, experiment)
}

// ReportUnmanagedTrial stores that a trial's program still runs, and the trial's state if the
// program reports one: ACTIVE, COMPLETED, CANCELED or ERROR.
func ReportUnmanagedTrial(ctx context.Context, db *database.DB, id int, state string) error {
	return ReportUnmanagedTrialAt(ctx, db, id, state, time.Time{})
}

// ReportUnmanagedTrialAt is ReportUnmanagedTrial for a program that also says when it ended: not before it started, and not in the future. With a
// zero time, it ended now.
func ReportUnmanagedTrialAt(ctx context.Context, db *database.DB, id int, state string, ended time.Time) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		experiment, err := experimentOfUnmanaged(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := lockExperiment(ctx, tx, experiment); err != nil {
			return err
		}
		if state == "" || state == "ACTIVE" {
			// A report does not reopen a trial that a user killed, canceled or archived.
			opens, err := database.Scalar[bool](ctx, tx, `
				UPDATE trials t SET alive_at = `+alive+` FROM experiments e WHERE t.id = $1 AND e.id = t.experiment_id
				RETURNING NOT t.kill_wanted AND NOT e.archived AND e.desired = 'active' AND ($3 = 'ACTIVE' OR t.state = 'ERROR' AND t.error = $2)`, id, silent, state)
			if err != nil || !opens {
				return err
			}
			state = "ACTIVE"
		}
		if err := setUnmanagedState(ctx, tx, id, state, map[bool]string{true: "its program failed"}[state == "ERROR"]); err != nil {
			return err
		}
		if err := settleUnmanaged(ctx, tx, experiment); err != nil || ended.IsZero() || state == "ACTIVE" {
			return err
		}
		return endedAt(ctx, tx, experiment, id, ended)
	})
}

// endedAt sets when a trial that has ended did so.
func endedAt(ctx context.Context, tx *database.DB, experiment, id int, at time.Time) error {
	s := &database.Statements{}
	s.Queue(`UPDATE trials SET ended_at = greatest(least($2, now()), started_at) WHERE id = $1 AND ended_at IS NOT NULL`, id, at)
	s.Queue(`UPDATE tasks k SET ended_at = t.ended_at FROM trials t WHERE t.id = $1 AND k.id = t.task_id AND t.ended_at IS NOT NULL`, id)
	s.Queue(`UPDATE experiments SET ended_at = (SELECT max(ended_at) FROM trials WHERE experiment_id = $1) WHERE id = $1 AND ended_at IS NOT NULL AND unmanaged`, experiment)
	return s.Send(ctx, tx)
}

// HearUnmanagedTrial stores that the program of an unmanaged trial runs. If the trial was closed because its program had stopped
// reporting, it continues, and reopened is true. For the tasks of other trials it changes nothing.
func HearUnmanagedTrial(ctx context.Context, db *database.DB, task string) (reopened bool, err error) {
	closed, err := database.Scalars[int](ctx, db, `
		WITH heard AS (UPDATE trials SET alive_at = `+alive+` WHERE task_id = $1 AND alive_at IS NOT NULL RETURNING id, state, error)
		SELECT id FROM heard WHERE state = 'ERROR' AND error = $2`, task, silent)
	if err != nil || len(closed) == 0 {
		return false, err
	}
	return true, ReportUnmanagedTrial(ctx, db, closed[0], "")
}

// lockExperiment locks an experiment's row against parallel changes of its state.
func lockExperiment(ctx context.Context, db *database.DB, id int) error {
	return db.Exec(ctx, `SELECT FROM experiments WHERE id = $1 FOR NO KEY UPDATE`, id)
}

// setUnmanagedState changes the state of a trial and its task.
func setUnmanagedState(ctx context.Context, db *database.DB, id int, state, why string) error {
	return db.Exec(ctx, `
		WITH moved AS (
			UPDATE trials SET state = $2, error = $3, alive_at = `+alive+`, progress = CASE WHEN $2 = 'COMPLETED' THEN 1 ELSE progress END,
				ended_at = CASE WHEN $2 = 'ACTIVE' THEN NULL ELSE coalesce(ended_at, now()) END
			WHERE id = $1 RETURNING task_id, ended_at)
		UPDATE tasks k SET ended_at = m.ended_at, exit_status = CASE WHEN $2 = 'ACTIVE' THEN '' WHEN $3 = '' THEN $2 ELSE $3 END
		FROM moved m WHERE k.id = m.task_id`, id, state, why)
}

// settleUnmanaged sets an experiment's state from its trials: it ends when all of them have
// ended, and a new or restarted trial reopens it. If a user canceled, killed or deleted the
// experiment, only the loop changes its state.
func settleUnmanaged(ctx context.Context, db *database.DB, id int) error {
	moved, err := database.Scalars[string](ctx, db, `
		UPDATE experiments e SET state = n.state, progress = n.progress,
			error = CASE WHEN n.state = 'ERROR' THEN n.failed || ' of ' || n.trials || ' trials failed' ELSE '' END,
			ended_at = CASE WHEN n.state = 'ACTIVE' THEN NULL ELSE coalesce(e.ended_at, now()) END
		FROM (SELECT count(*) AS trials, count(*) FILTER (WHERE state = 'ERROR') AS failed, avg(coalesce(progress, 0)) AS progress,
			CASE WHEN count(*) = 0 OR bool_or(ended_at IS NULL) THEN 'ACTIVE' WHEN bool_or(state = 'ERROR') THEN 'ERROR'
				WHEN bool_and(state = 'CANCELED') THEN 'CANCELED' ELSE 'COMPLETED' END AS state
			FROM trials WHERE experiment_id = $1) n, (SELECT state FROM experiments WHERE id = $1) before
		WHERE e.id = $1 AND e.unmanaged AND e.desired = 'active' AND e.state IN ('ACTIVE', 'PAUSED', 'COMPLETED', 'CANCELED', 'ERROR')
		RETURNING CASE WHEN before.state <> e.state THEN e.state ELSE '' END`, id)
	if err != nil || len(moved) == 0 || moved[0] == "" {
		return err
	}
	return webhook.FireStateChange(ctx, db, id, moved[0])
}

// NoteUnmanagedBest stores a trial's best metric as the experiment's, if it is better than
// the stored one.
func NoteUnmanagedBest(ctx context.Context, db *database.DB, trial int, metric float64) error {
	return db.Exec(ctx, `
		UPDATE experiments e SET best_trial_id = t.id, best_metric = $2 FROM trials t
		WHERE t.id = $1 AND $2::float8 <> 'NaN' AND e.id = t.experiment_id AND e.unmanaged AND (e.best_metric IS NULL OR
			CASE WHEN e.smaller_is_better THEN $2 < e.best_metric ELSE $2 > e.best_metric END)`, trial, metric)
}

// EndSilentTrials ends the unmanaged trials whose programs have not reported for `after`, and
// those that a user killed or whose experiment a user canceled.
func EndSilentTrials(ctx context.Context, db *database.DB, after time.Duration) (ended int, failed error) {
	type gone struct {
		ID           int    `db:"id"`
		ExperimentID int    `db:"experiment_id"`
		State        string `db:"state"`
	}
	list, err := database.Rows[gone](ctx, db, `
		SELECT t.id, t.experiment_id, CASE WHEN t.kill_wanted OR e.state = 'CANCELED' THEN 'CANCELED' ELSE 'ERROR' END AS state
		FROM trials t JOIN experiments e ON e.id = t.experiment_id
		WHERE t.alive_at IS NOT NULL AND t.ended_at IS NULL AND (t.kill_wanted OR e.state = 'CANCELED' OR t.alive_at < now() - $1::interval)
		ORDER BY t.id LIMIT 1000`, after)
	if err != nil {
		return 0, err
	}
	for _, g := range list {
		err := db.Tx(ctx, func(tx *database.DB) error {
			if err := lockExperiment(ctx, tx, g.ExperimentID); err != nil {
				return err
			}
			still, err := database.Scalar[bool](ctx, tx, `SELECT ended_at IS NULL AND ($2 <> 'ERROR' OR alive_at < now() - $3::interval) FROM trials WHERE id = $1 FOR NO KEY UPDATE`, g.ID, g.State, after)
			if err != nil || !still {
				return err
			}
			if err := setUnmanagedState(ctx, tx, g.ID, g.State, map[bool]string{true: silent}[g.State == "ERROR"]); err != nil {
				return err
			}
			return settleUnmanaged(ctx, tx, g.ExperimentID)
		})
		if err != nil { // continue with the others
			failed = errors.Join(failed, fmt.Errorf("trial %d: %w", g.ID, err))
			continue
		}
		ended++
	}
	return ended, failed
}

// UnmanagedRunOf finds the unmanaged trial of a task, and its newest run.
func UnmanagedRunOf(ctx context.Context, db *database.DB, task string) (Trial, int, error) {
	type found struct {
		ID    int `db:"id"`
		RunID int `db:"run_id"`
	}
	f, err := database.Row[found](ctx, db, "unmanaged trial with the task "+fault.Clip(task), `
		SELECT t.id, t.run_id FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.task_id = $1 AND e.unmanaged`, task)
	if err != nil {
		return Trial{}, 0, err
	}
	t, err := GetTrial(ctx, db, f.ID)
	return t, f.RunID, err
}
