package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/summary"
)

// A stale summary is rebuilt from the rows of its trial in steps. PostgreSQL sorts all these rows for each step, which takes seconds if there
// are a million, so a step reads them without a lock, and stores its result in a second, short transaction if the summary has not become stale
// once more meanwhile.
//
// The steps first read the rows as they were at the position of the cursor when the rebuild began, in the order in which each attempt would
// report them: a row without the parts that were merged into it later. Then they read what was brought since then, as the summarizer does.
// So it does not matter how much a program reports meanwhile, and to which rows. Until the last step, the old summary stays, and gets what is
// reported. A summary that is only behind needs the second half. Owners take turns, and the summaries of an owner do. The first step of a rebuild is followed by a pause that grows with its time:
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
	began := time.Now()
	list, err := readSummaries(ctx, db, []int{trial})
	if err != nil || len(list) == 0 {
		return err
	}
	r, first, err := beginRebuild(ctx, db, &list[0])
	if err != nil {
		return err
	}
	upTo, err := database.Row[Position](ctx, db, "", readPosition)
	if err != nil {
		return err
	}
	var more bool
	err = db.Tx(ctx, func(tx *database.DB) error {
		err := tx.Exec(ctx, `SET LOCAL statement_timeout = '`+rebuildStatement+`'`)
		if err == nil {
			more, err = r.step(ctx, tx, upTo)
		}
		return err
	})
	if err != nil {
		if ctx.Err() == nil && database.RejectionOf(err).Code == "57014" { // the timeout of the statement
			return r.of.postpone(ctx, db, done)
		}
		if ctx.Err() != nil || fault.Is(err, fault.Unavailable) {
			return err
		}
		more = false
		r.of.sum.Incomplete = fmt.Sprintf("the summary of the trial could not be rebuilt from its reports: %v", err)
	}
	var pause time.Duration
	if first {
		pause = min(summarizeRestFactor*time.Since(began), maxRebuildPause)
	}
	err = r.store(ctx, db, more, pause, done)
	done.more = done.more || r.of.Stale && (all || !first)
	return err
}

// postpone leaves a summary as it is until a later turn, and says why.
func (s *summaryRow) postpone(ctx context.Context, db *database.DB, done *summarized) error {
	if s.Incomplete != lateRebuild {
		done.incomplete[s.TrialID] = lateRebuild
	}
	return db.Exec(ctx, `UPDATE trial_summaries SET rebuild_at = now() + $2, incomplete = $3 WHERE trial_id = $1 AND stale AND version = $4`,
		s.TrialID, lateRebuildPause, lateRebuild, s.Version)
}

// A rebuilding is how far the rebuild of a summary has come.
type rebuilding struct {
	Position
	RowsRead bool            `db:"rows_read"`
	RunID    int             `db:"run_id"` // the key of the last row
	Group    string          `db:"group_name"`
	At       int64           `db:"position"`
	Replaced bool            `db:"replaced"`
	Summary  json.RawMessage `db:"summary"` // that of a summaryRow

	of *summaryRow // with what the rebuild has read, in sum
}

// beginRebuild begins or continues a rebuild.
func beginRebuild(ctx context.Context, db *database.DB, s *summaryRow) (r *rebuilding, first bool, err error) {
	list, err := database.Rows[rebuilding](ctx, db, `SELECT xid, id, rows_read, run_id, group_name, position, replaced, summary FROM summary_rebuilds WHERE trial_id = $1 AND version = $2`, s.TrialID, s.Version)
	s.touched, s.anew = true, false
	switch {
	case err != nil:
		return nil, false, err
	case len(list) > 0:
		list[0].of, s.sum = s, summary.Trial{}
		err = json.Unmarshal(list[0].Summary, &s.sum)
		s.sum.Sized()
		return &list[0], false, err
	case s.RebuiltXID != nil: // it is only behind
		if s.sum.Incomplete == lateRebuild {
			s.sum.Incomplete = ""
		}
		return &rebuilding{Position: Position{*s.RebuiltXID, *s.RebuiltID}, RowsRead: true, of: s}, false, nil
	}
	s.sum = summary.Trial{}
	from, err := database.Row[Position](ctx, db, "", readPosition)
	return &rebuilding{Position: from, RunID: -1, At: -1, of: s}, true, err
}

// readPosition is SQL for the position up to which the summaries have what was brought.
const readPosition = `SELECT xid, id FROM ` + summaryCursor

// step reads the next rows, and then what was brought up to a position; more is true if further ones follow.
func (r *rebuilding) step(ctx context.Context, db *database.DB, upTo Position) (more bool, err error) {
	if !r.RowsRead {
		list, more, err := rowsAsOf(r.Position).read(ctx, db, rebuildLimits, `trial_id = $1 AND NOT archived AND (run_id, group_name, position) > ($2, $3, $4)`, r.of.TrialID, r.RunID, r.Group, r.At)
		if err != nil {
			return false, err
		}
		for _, row := range list {
			_ = r.of.foldRow(row) // no row replaces anything
			r.RunID, r.Group, r.At = row.RunID, row.Group, row.Position
		}
		if more {
			return true, nil
		}
		r.RowsRead = true
	}
	return r.follow(ctx, db, `trial_id = $1`, upTo)
}

// rebuildLimits are those of one step.
var rebuildLimits = rowLimits{rebuildRows, rebuildBytes, rebuildBytes}

// follow reads what was brought to some rows of the trial up to a position.
func (r *rebuilding) follow(ctx context.Context, db *database.DB, where string, upTo Position) (more bool, err error) {
	list, more, err := brought.read(ctx, db, rebuildLimits, where+` AND xid >= $2 AND xid <= $4 AND (xid, id) > ($2, $3) AND (xid, id) <= ($4, $5)`,
		r.of.TrialID, r.XID, r.ID, upTo.XID, upTo.ID)
	if err != nil {
		return false, err
	}
	if r.Position = upTo; more {
		last := list[len(list)-1]
		r.Position = Position{last.XID, last.ID}
	}
	byStep(list)
	for _, row := range list {
		exact := row.Archived || r.of.foldRow(row)
		r.Replaced = r.Replaced || !exact || row.Lost
	}
	return more, nil
}

// rowsAsOf are the rows of metrics as they were at a position of the cursor of summaries: without the parts after it, and with what these
// have replaced. So follow finds each value that a part replaces.
func rowsAsOf(at Position) source {
	after := fmt.Sprintf(`(xid, id) > ('%d', %d)`, at.XID, at.ID)
	later := `FROM metric_parts p WHERE p.trial_id = m.trial_id AND p.id = m.id AND ` + strings.ReplaceAll(after, "(xid, id)", "(p.xid, p.id)")
	replaced := `SELECT DISTINCT ON (k.key) k.key, p.was -> k.key AS was ` + strings.Replace(later, "WHERE", "CROSS JOIN LATERAL jsonb_object_keys(p.avg) k(key) WHERE", 1) + ` ORDER BY k.key, p.xid, p.id`
	const order = `run_id, group_name, position`
	return source{order: order, sql: func(where, limit string) string {
		return `SELECT xid, id, trial_id, run_id, group_name, steps, position, archived, ` + replacesNothing + `, false AS lost, 0 AS size,
			CASE WHEN ` + after + ` THEN (avg - ARRAY(SELECT jsonb_object_keys(p.avg) ` + later + `)) ||
				coalesce((SELECT jsonb_object_agg(r.key, r.was) FROM (` + replaced + `) r WHERE r.was IS NOT NULL), '{}') ELSE avg END AS avg
			FROM (SELECT * FROM metrics m WHERE ` + where + ` AND (NOT ` + after + ` OR merged AND NOT EXISTS (SELECT ` + later + ` AND p.whole)) ORDER BY ` + order + ` LIMIT ` + limit + `) m`
	}}
}

// store stores the result of a step, unless the summary has become stale once more since the step read it. If the step has read all up to a
// position, store adds what other summaries got since then: under the lock of the summary, because whoever moves the cursor past rows of the
// trial locks it too.
func (r *rebuilding) store(ctx context.Context, db *database.DB, more bool, pause time.Duration, done *summarized) error {
	s := r.of
	return db.Tx(ctx, func(tx *database.DB) error {
		version, err := database.Scalars[int](ctx, tx, `UPDATE trial_summaries SET rebuild_at = now() + $2 WHERE trial_id = $1 AND stale RETURNING version`, s.TrialID, pause)
		if err != nil || len(version) == 0 || version[0] != s.Version {
			return err
		}
		s.Version = -1 // if the transaction is repeated, the rows may be in the summary already: then the result is dropped
		now, err := database.Row[Position](ctx, tx, "", readPosition)
		if err == nil && !more {
			// Not by the index of the trial, which may have a million rows: those since then are few.
			more, err = r.follow(ctx, tx, `trial_id + 0 = $1`, now)
		}
		if err != nil {
			return err
		}
		if more {
			return r.save(ctx, tx, version[0])
		}
		if s.Stale, s.RebuiltXID, s.RebuiltID = false, nil, nil; r.Replaced {
			s.rebuildAnew()
		}
		b := &database.Batch{}
		b.Queue(`DELETE FROM summary_rebuilds WHERE trial_id = $1`, s.TrialID)
		if !s.Stale {
			b.Queue(`DELETE FROM metric_parts WHERE trial_id = $1 AND (xid, id) <= ($2, $3)`, s.TrialID, now.XID, now.ID)
		}
		if err := tx.Send(ctx, b); err != nil {
			return err
		}
		return saveSummaries(ctx, tx, []summaryRow{*s}, done)
	})
}

// save stores how far the rebuild has come.
func (r *rebuilding) save(ctx context.Context, db *database.DB, version int) error {
	text, err := json.Marshal(r.of.sum)
	if err != nil {
		return err
	}
	return db.Exec(ctx, `
		INSERT INTO summary_rebuilds (trial_id, version, xid, id, rows_read, run_id, group_name, position, replaced, summary) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::jsonb)
		ON CONFLICT (trial_id) DO UPDATE SET version = excluded.version, xid = excluded.xid, id = excluded.id, rows_read = excluded.rows_read, run_id = excluded.run_id,
			group_name = excluded.group_name, position = excluded.position, replaced = excluded.replaced, summary = excluded.summary`,
		r.of.TrialID, version, r.XID, r.ID, r.RowsRead, r.RunID, r.Group, r.At, r.Replaced, string(text))
}
