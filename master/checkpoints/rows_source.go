package checkpoints

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/trial"
)

// Newest is the checkpoint from which a trial restarts: its complete one with the most steps; the zero value if it has none.
// Folders that the runner keeps are none.
type Newest struct {
	UUID  string `db:"uuid"`
	Steps int    `db:"steps"`
}

// NewestOf returns the checkpoint from which a trial restarts.
func NewestOf(ctx context.Context, db *database.DB, trial int) (Newest, error) {
	k, err := database.Row[Newest](ctx, db, "checkpoint", `
		SELECT k.uuid::text AS uuid, k.steps FROM checkpoints k WHERE k.trial_id = $1 AND NOT k.kept AND k.logged = '' AND k.state = 'COMPLETED' AND NOT `+BeingRemoved+`
		ORDER BY k.steps DESC, k.reported_at DESC LIMIT 1`, trial)
	return k, database.Missing(err, nil)
}

// StartOf is SQL for the newest checkpoint with which something goes on from a trial, which a statement calls by this name: a copy in a population, or a
// trial of the common past of a branch that runs again.
func StartOf(name string) string {
	return `SELECT c.uuid FROM checkpoints c WHERE ` + trial.HasCheckpoint(name, "c") + ` AND c.state = 'COMPLETED' AND c.logged = ''
		ORDER BY c.kept, CASE WHEN c.kept THEN c.run_id ELSE c.steps END DESC, c.reported_at DESC LIMIT 1`
}

// whole is true if checkpoint k is a kept folder that can be restored, and newestKept selects the newest of a trial's. It does not
// depend on the clocks of nodes.
const (
	whole      = `k.kept AND k.state = 'COMPLETED' AND NOT ` + BeingRemoved
	newestKept = `ORDER BY k.run_id DESC, k.reported_at DESC, k.uuid DESC LIMIT 1`
)

// KeptBy returns the newest complete folder that the runner kept of a trial; the zero value if there is none.
func KeptBy(ctx context.Context, db *database.DB, trial int) (Newest, error) {
	k, err := database.Row[Newest](ctx, db, "checkpoint", `
		SELECT k.uuid::text AS uuid, k.steps FROM checkpoints k WHERE k.trial_id = $1 AND `+whole+` `+newestKept, trial)
	return k, database.Missing(err, nil)
}

// BeginningOf returns the folder that an attempt of a trial begins with. A trial that starts from the checkpoint of another trial of its experiment
// begins with that trial's folder; from another experiment it begins with a folder only if it starts from exactly this one, because
// the right to see a checkpoint is no right to see its trial.
func BeginningOf(ctx context.Context, db *database.DB, trial int) (task.Beginning, error) {
	return database.Row[task.Beginning](ctx, db, "trial", `
		SELECT coalesce(own.uuid, CASE WHEN w.kept THEN w.uuid ELSE theirs.uuid END)::text AS folder, coalesce(w.kept, false) AS warm
		FROM trials t
		LEFT JOIN LATERAL (SELECT k.uuid FROM checkpoints k WHERE k.trial_id = t.id AND `+whole+` `+newestKept+`) own ON true
		LEFT JOIN checkpoints w ON w.uuid = t.warm_start
		LEFT JOIN trials o ON o.id = w.trial_id AND o.experiment_id = t.experiment_id
		LEFT JOIN LATERAL (SELECT k.uuid FROM checkpoints k WHERE k.trial_id = o.id AND `+whole+` `+newestKept+`) theirs ON true
		WHERE t.id = $1`, trial)
}

// RestartStepsOf returns the number of steps up to which the reports of a trial stay when it restarts. A program may restart from the
// kept folder or from a checkpoint; the reports up to the later one stay.
func RestartStepsOf(ctx context.Context, db *database.DB, trial int) (int, error) {
	from, err := NewestOf(ctx, db, trial)
	if err != nil {
		return 0, err
	}
	kept, err := KeptBy(ctx, db, trial)
	if err != nil || from.UUID != "" || kept.UUID != "" {
		return max(from.Steps, kept.Steps), err
	}
	origin, err := OriginOf(ctx, db, trial)
	return origin.Steps, err
}

// An Origin is what a trial of a branch goes on with.
type Origin struct {
	Trials []int `db:"trials"` // that it goes on with: the trial of the other experiment, the trial with which that one goes on, and so on
	Steps  int   `db:"steps"`  // of the checkpoint from which it starts, if that is a checkpoint of one of them
}

// maxOrigins is how many branches of branches are followed.
const maxOrigins = 32

// OriginOf returns the trials with which a trial of a branch goes on; none for other trials.
func OriginOf(ctx context.Context, db *database.DB, trial int) (Origin, error) {
	return database.Row[Origin](ctx, db, "trial", `
		WITH RECURSIVE origins (id, n) AS (
			SELECT origin_id, 1 FROM trials WHERE id = $1 AND origin_id IS NOT NULL
			UNION ALL
			SELECT t.origin_id, o.n + 1 FROM origins o JOIN trials t ON t.id = o.id WHERE t.origin_id IS NOT NULL AND o.n < $2)
		SELECT coalesce((SELECT array_agg(id ORDER BY n) FROM origins), '{}') AS trials,
			coalesce((SELECT k.steps FROM trials t JOIN checkpoints k ON k.uuid = t.warm_start WHERE t.id = $1 AND k.trial_id IN (SELECT id FROM origins)), 0) AS steps`, trial, maxOrigins)
}
