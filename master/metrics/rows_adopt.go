package metrics

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// What a trial of a branch has of the reports of its origin: the newest, and the validations first. Other reports stay those of the origin.
const (
	maxAdopted      = 20_000
	maxAdoptedBytes = 64 << 20
	adoptChunk      = 1_000 // reports of one transaction
	adoptBytes      = 4 << 20
)

// Adopt gives a trial of a branch what its origin reported up to the steps of the checkpoint from which the trial goes on. It is called before the first
// run of the trial begins: until then its reports are those of its origin, and from then on its own, with a summary of its own. It does that in parts, each
// in a transaction of its own, and may be called again: what is there stays.
func Adopt(ctx context.Context, db *database.DB, trial, steps int) error {
	return adopt(ctx, db, adopting{trial: trial, steps: steps, left: maxAdopted, bytes: maxAdoptedBytes})
}

func adopt(ctx context.Context, db *database.DB, a adopting) error {
	if begun, err := a.begin(ctx, db); err != nil || !begun {
		return err
	}
	var groups []string
	if a.steps > 0 { // else the trial begins anew
		var err error
		if groups, err = Groups(ctx, db, a.of.ID); err != nil {
			return err
		}
	}
	for _, validations := range []bool{true, false} {
		for _, g := range groups {
			if (g == "validation") != validations {
				continue
			}
			if err := a.group(ctx, db, g); err != nil {
				return err
			}
		}
	}
	return db.Exec(ctx, `UPDATE trials SET origin_until = NULL, origin_run = NULL WHERE id = $1`, a.trial)
}

type adopting struct {
	trial, steps int
	left, bytes  int64
	of           origin
}

// An origin is the trial of which a trial of a branch takes over reports.
type origin struct {
	ID   int  `db:"id"`
	Run  int  `db:"run"`  // its last one that is of the common past
	Past bool `db:"past"` // its reports are still shown as those of the trial
}

// begin ends that the reports of the origin are shown as those of the trial. It reports false if all is done.
func (a *adopting) begin(ctx context.Context, db *database.DB) (begun bool, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		list, err := database.Rows[origin](ctx, tx, `SELECT origin_id AS id, coalesce(origin_run, 2147483647) AS run, past FROM trials WHERE id = $1 AND origin_until IS NOT NULL FOR UPDATE`, a.trial)
		if err != nil || len(list) == 0 {
			return err
		}
		if begun, a.of = true, list[0]; !a.of.Past {
			return nil
		}
		if err := tx.Exec(ctx, `DELETE FROM trial_summaries WHERE trial_id = $1`, a.trial); err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE trials SET past = false WHERE id = $1`, a.trial)
	})
	return begun, err
}

// group copies the reports of a group, from the newest one.
func (a *adopting) group(ctx context.Context, db *database.DB, group string) error {
	type part struct {
		Rows     int64 `db:"rows"`
		Bytes    int64 `db:"bytes"`
		Position int64 `db:"position"`
		Run      int   `db:"run"`
	}
	for at := (part{Position: int64(a.steps), Run: a.of.Run}); a.left > 0 && a.bytes > 0; {
		var next part
		err := db.Tx(ctx, func(tx *database.DB) error {
			if err := LockArchive(ctx, tx, a.trial); err != nil { // the members of an attempt, one at a time
				return err
			}
			var err error
			next, err = database.Row[part](ctx, tx, "reports", `
				WITH newest AS (SELECT group_name, steps, position, run_id, reported_at, avg, batches, pg_column_size(avg) + coalesce(pg_column_size(batches), 0) AS size
					FROM metrics WHERE trial_id = $2 AND group_name = $3 AND (position, run_id) <= ($4, $5) AND run_id <= $6 AND steps IS NOT NULL AND NOT archived
					ORDER BY position DESC, run_id DESC LIMIT $7),
				part AS MATERIALIZED (SELECT * FROM (SELECT *, sum(size) OVER (ORDER BY position DESC, run_id DESC) - size AS before FROM newest) n WHERE before < $8),
				added AS (INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg, batches)
					SELECT $1, 0, group_name, steps, position, reported_at, avg, batches FROM part ORDER BY position DESC, run_id DESC ON CONFLICT DO NOTHING)
				SELECT count(*) AS rows, coalesce(sum(size), 0)::bigint AS bytes, coalesce(min(position), 0) AS position,
					coalesce((SELECT run_id FROM part ORDER BY position, run_id LIMIT 1), 0) - 1 AS run FROM part`,
				a.trial, a.of.ID, group, at.Position, at.Run, a.of.Run, min(adoptChunk, a.left), min(adoptBytes, a.bytes))
			return err
		})
		if err != nil || next.Rows == 0 {
			return err
		}
		at, a.left, a.bytes = next, a.left-next.Rows, a.bytes-next.Bytes
	}
	return nil
}
