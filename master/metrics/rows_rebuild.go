package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/summary"
)

// A stale summary is rebuilt from the rows of its trial in steps. PostgreSQL sorts all these rows for each step, which takes seconds if there
// are a million, so a step reads them without a lock, and stores its result in a second, short transaction if the summary has not changed
// meanwhile. Owners take turns, and the summaries of an owner do. The first step of a rebuild is followed by a pause that grows with its time:
// a program whose reports make the same summary stale again and again, so that its rebuild always begins anew, leaves most of the time to others.
const (
	maxRebuilds      = 50               // summaries of which one pass does a step
	rebuildTime      = 1 * time.Second  // after which one pass begins no further step
	rebuildBytes     = 4 << 20          // bytes of the rows of one step
	rebuildRows      = 25_000           // and their number
	maxRebuildPause  = 1 * time.Minute  // after a first step, and after a step that failed
	lateRebuildPause = 15 * time.Minute // after a step whose rows PostgreSQL could not read in time
)

// rebuildStatement is the longest time in which PostgreSQL reads the rows of a step.
var rebuildStatement = "10s"

const lateRebuild = "the trial has so many reports that its summary could not be rebuilt from them in time; the next attempt follows in a quarter of an hour"

// dueRebuilds are the stale summaries whose turn has come, or all: of each owner one, then the second of each, and so on.
const dueRebuilds = `
	SELECT trial_id FROM (
		SELECT s.trial_id, s.rebuild_at, row_number() OVER (PARTITION BY e.owner_id ORDER BY s.rebuild_at NULLS FIRST, s.trial_id) AS turn
		FROM trial_summaries s JOIN trials t ON t.id = s.trial_id JOIN experiments e ON e.id = t.experiment_id
		WHERE s.stale AND ($2 OR coalesce(s.rebuild_at <= now(), true))) due
	ORDER BY turn, rebuild_at NULLS FIRST, trial_id LIMIT $1`

// rebuildStale does a step of the rebuild of each stale summary: of those whose turn has come, or of all.
func rebuildStale(all bool) func(context.Context, *database.DB, int) (summarized, error) {
	return func(ctx context.Context, db *database.DB, _ int) (summarized, error) {
		ctx, cancel := context.WithTimeout(ctx, summarizeTimeout)
		defer cancel()
		trials, err := database.Scalars[int](ctx, db, dueRebuilds, maxRebuilds, all)
		done, until := summarized{more: len(trials) == maxRebuilds, rests: true, incomplete: map[int]string{}}, time.Now().Add(rebuildTime)
		for i := 0; err == nil && i < len(trials) && time.Now().Before(until); i++ {
			err = rebuild(ctx, db, trials[i], all, &done)
		}
		done.more = done.more || !time.Now().Before(until)
		return done, err
	}
}

// rebuild does one step of the rebuild of one summary. It first sets the time of the next step (rebuild_at), so that
// other masters rebuild other summaries meanwhile, and a step that fails does not delay other summaries.
func rebuild(ctx context.Context, db *database.DB, trial int, all bool, done *summarized) error {
	turn, err := db.Affect(ctx, `UPDATE trial_summaries SET rebuild_at = now() + $2 WHERE trial_id = $1 AND stale AND ($3 OR coalesce(rebuild_at <= now(), true))`, trial, maxRebuildPause, all)
	if err != nil || turn == 0 {
		return err
	}
	began, from := time.Now(), Position{}
	list, err := readSummaries(ctx, db, []int{trial})
	if err != nil || len(list) == 0 {
		return err
	}
	upTo, err := database.Row[Position](ctx, db, "", readPosition)
	if err != nil {
		return err
	}
	s, first := &list[0], list[0].RebuiltXID == nil
	if s.touched = true; first {
		s.sum = summary.Trial{}
	} else {
		from = Position{*s.RebuiltXID, *s.RebuiltID}
	}
	if s.sum.Incomplete == lateRebuild {
		s.sum.Incomplete = ""
	}
	err = db.Tx(ctx, func(tx *database.DB) error {
		err := tx.Exec(ctx, `SET LOCAL statement_timeout = '`+rebuildStatement+`'`)
		if err == nil {
			err = s.foldNext(ctx, tx, `trial_id = $1 AND xid >= $2 AND xid <= $4`, from, upTo)
		}
		return err
	})
	if err != nil {
		if ctx.Err() == nil && database.RejectionOf(err).Code == "57014" { // the timeout of the statement
			return s.postpone(ctx, db, done)
		}
		if ctx.Err() != nil || fault.Is(err, fault.Unavailable) {
			return err
		}
		s.Stale, s.RebuiltXID, s.RebuiltID = false, nil, nil
		s.sum.Incomplete = fmt.Sprintf("the summary of the trial could not be rebuilt from its reports: %v", err)
	}
	var pause time.Duration
	if first {
		pause = min(summarizeRestFactor*time.Since(began), maxRebuildPause)
	}
	err = s.storeRebuilt(ctx, db, upTo, pause, done)
	done.more = done.more || s.Stale && (all || !first)
	return err
}

// postpone leaves a summary as it is until a later turn, and says why.
func (s *summaryRow) postpone(ctx context.Context, db *database.DB, done *summarized) error {
	if s.Incomplete != lateRebuild {
		done.incomplete[s.TrialID] = lateRebuild
	}
	return db.Exec(ctx, `UPDATE trial_summaries SET rebuild_at = now() + $2, incomplete = $3, version = version + 1 WHERE trial_id = $1 AND stale AND version = $4`,
		s.TrialID, lateRebuildPause, lateRebuild, s.Version)
}

// readPosition is SQL for the position up to which the summaries that are not stale have their rows.
const readPosition = `SELECT xid, id FROM ` + summaryCursor

// foldNext folds the next of some rows of the trial, between two positions.
func (s *summaryRow) foldNext(ctx context.Context, db *database.DB, where string, from, upTo Position) error {
	// One query, because PostgreSQL sorts the rows of the trial for each.
	list, more, err := nextRows(ctx, db, rowLimits{rebuildRows, rebuildBytes, rebuildBytes}, where+` AND NOT archived AND (xid, id) > ($2, $3) AND (xid, id) <= ($4, $5)`, s.TrialID, from.XID, from.ID, upTo.XID, upTo.ID)
	if err != nil {
		return err
	}
	for _, r := range list {
		s.foldRow(r)
	}
	if s.Stale, s.RebuiltXID, s.RebuiltID = more, nil, nil; more {
		last := list[len(list)-1]
		s.RebuiltXID, s.RebuiltID = &last.XID, &last.ID
	}
	return nil
}

// storeRebuilt stores the result of a step, unless the summary has changed since the step read it. If the step has read all rows up to a
// position, storeRebuilt adds those that other summaries got since then: under the lock of the summary, because whoever moves the cursor
// past rows of the trial locks it too.
func (s *summaryRow) storeRebuilt(ctx context.Context, db *database.DB, upTo Position, pause time.Duration, done *summarized) error {
	complete := !s.Stale
	return db.Tx(ctx, func(tx *database.DB) error {
		version, err := database.Scalars[int](ctx, tx, `UPDATE trial_summaries SET rebuild_at = now() + $2 WHERE trial_id = $1 AND stale RETURNING version`, s.TrialID, pause)
		if err != nil || len(version) == 0 || version[0] != s.Version {
			return err
		}
		s.Version = -1 // if the transaction is repeated, the rows may be in the summary already: then the result is dropped
		now, err := database.Row[Position](ctx, tx, "", readPosition)
		if err == nil && complete {
			// Not by the index of the trial, which may have a million rows: those since then are few.
			err = s.foldNext(ctx, tx, `trial_id + 0 = $1 AND xid >= $2 AND xid <= $4`, upTo, now)
		}
		if err != nil {
			return err
		}
		return saveSummaries(ctx, tx, []summaryRow{*s}, done)
	})
}
