package attempts

import (
	"context"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
)

// errNotRolledBack is the error of a claim whose trial lost its checkpoint, or became one of a branch that is to take over reports, at the same moment.
var errNotRolledBack = fault.New(fault.Unavailable, "the checkpoint from which the trial restarts has just been removed; the claim is to be repeated")

// rollBackChunk is the number of reports that one transaction archives.
const rollBackChunk = 50_000

// rollback says which reports of a trial are archived: those of runs before run, beyond steps.
type rollback struct {
	Run   int `db:"rolled_back_run"`
	Steps int `db:"rolled_back_steps"`
}

// covers reports whether a run may start from a checkpoint with so many steps.
func (r rollback) covers(run, steps int) bool { return r.Run == run && r.Steps <= steps }

func rolledBack(ctx context.Context, db *database.DB, trial int) (rollback, error) {
	return database.Row[rollback](ctx, db, "trial", `SELECT rolled_back_run, rolled_back_steps FROM trials WHERE id = $1`, trial)
}

// rollBack archives the reports of earlier runs beyond the steps from which a run restarts, for a claim that would be
// accepted. A trial may have reported millions of times, so it does that in steps, and notes in the trial that all are
// done: the other members of the attempt then have nothing to do.
func rollBack(ctx context.Context, db *database.DB, c Claim) error {
	var of claimable
	var done rollback
	var from int
	err := db.Snapshot(ctx, func(tx *database.DB) (err error) {
		if of, err = readMember(ctx, tx, c, ""); err != nil || of.TrialID == nil || of.RunID < 2 && !of.Adopts || of.refusal(c) != nil {
			of.TrialID = nil
			return err
		}
		if done, err = rolledBack(ctx, tx, *of.TrialID); err != nil {
			return err
		}
		from, err = checkpoints.RestartStepsOf(ctx, tx, *of.TrialID)
		return err
	})
	if err == nil && of.TrialID != nil && of.Adopts {
		err = metrics.Adopt(ctx, db, *of.TrialID, from)
	}
	if err != nil || of.TrialID == nil || of.RunID < 2 || done.covers(of.RunID, from) {
		return err
	}
	// This lock waits for reports that are being written, also of checkpoints, and holds nothing: later ones see the new run,
	// and are refused.
	err = db.Tx(ctx, func(tx *database.DB) error {
		return tx.Exec(ctx, `SELECT 1 FROM trials WHERE id = $1 FOR UPDATE`, *of.TrialID)
	})
	if err != nil {
		return err
	}
	for more := true; more; {
		err := db.Tx(ctx, func(tx *database.DB) (err error) {
			more, err = archiveReports(ctx, tx, *of.TrialID, of.RunID)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// archiveReports archives a part of the reports; more says that some may be left. One member of an attempt does it at a time.
func archiveReports(ctx context.Context, db *database.DB, trial, run int) (more bool, err error) {
	if err := metrics.LockArchive(ctx, db, trial); err != nil {
		return false, err
	}
	done, err := rolledBack(ctx, db, trial)
	if err != nil {
		return false, err
	}
	from, err := checkpoints.RestartStepsOf(ctx, db, trial)
	if err != nil || done.Run > run || done.covers(run, from) {
		return false, err
	}
	n, err := metrics.ArchiveBeyond(ctx, db, trial, run, from, rollBackChunk)
	if err != nil || n == rollBackChunk {
		return true, err
	}
	err = db.Exec(ctx, `UPDATE trials SET rolled_back_run = $2, rolled_back_steps = $3 WHERE id = $1`, trial, run, from)
	return false, err
}
