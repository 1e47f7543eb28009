package tasks

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// GenericFields are the fields that only generic tasks have.
type GenericFields struct {
	ParentID   *string `db:"parent_id"`
	ForkedFrom *string `db:"forked_from"`
	NoPause    bool    `db:"no_pause"`
	Submitted  string  `db:"submitted"` // configuration as it was submitted, as JSON
	// Phase is ACTIVE, STOPPING_PAUSED, PAUSED, STOPPING_CANCELED, CANCELED, COMPLETED or
	// ERROR; "" for tasks of other types.
	Phase string `db:"phase"`
}

const genericColumns = `k.parent_id, k.forked_from, k.no_pause, k.submitted,
		CASE WHEN k.type <> 'GENERIC' THEN ''
			WHEN k.ended_at IS NOT NULL THEN CASE WHEN k.exit_status = 'success' THEN 'COMPLETED' WHEN k.desired = 'kill' THEN 'CANCELED' ELSE 'ERROR' END
			WHEN k.desired = 'kill' THEN 'STOPPING_CANCELED'
			WHEN k.desired = 'run' THEN 'ACTIVE'
			WHEN EXISTS (SELECT FROM allocations a WHERE a.task_id = k.id AND a.state <> 'TERMINATED') THEN 'STOPPING_PAUSED'
			ELSE 'PAUSED' END AS phase`

// NewGeneric has the fields of a generic task to create.
type NewGeneric struct {
	ParentID   *string
	ForkedFrom *string
	NoPause    bool
	Submitted  []byte
}

// maxGenerations is the maximum depth of a tree of generic tasks.
const maxGenerations = 32

// tree is the SQL of a generic task with its descendants.
const tree = `WITH RECURSIVE tree AS (
	SELECT k.id FROM tasks k WHERE k.id = $1 AND k.type = 'GENERIC'
	UNION ALL SELECT k.id FROM tasks k JOIN tree t ON k.parent_id = t.id)`

// lockParent locks the parent of a new task, so that a kill of the parent's tree either
// includes the new task or comes before it. A task that is killed gets no children.
func lockParent(ctx context.Context, db *database.DB, parent *string) error {
	if parent == nil {
		return nil
	}
	killed, err := database.Scalars[bool](ctx, db, `SELECT desired = 'kill' FROM tasks WHERE id = $1 AND type = 'GENERIC' FOR SHARE`, *parent)
	switch {
	case err != nil:
		return err
	case len(killed) == 0:
		return fault.New(fault.NotFound, "parentId: there is no generic task %s", fault.Clip(*parent))
	case killed[0]:
		return fault.New(fault.Invalid, "parentId: task %s was killed, so no task can start below it", *parent)
	}
	depth, err := database.Scalar[int](ctx, db, `WITH RECURSIVE line AS (
		SELECT id, parent_id, 1 AS n FROM tasks WHERE id = $1
		UNION ALL SELECT k.id, k.parent_id, l.n + 1 FROM tasks k JOIN line l ON k.id = l.parent_id WHERE l.n <= $2)
		SELECT max(n) FROM line`, *parent, maxGenerations)
	if err == nil && depth >= maxGenerations {
		return fault.New(fault.Invalid, "parentId: a tree of tasks has at most %d generations, and task %s is in the last", maxGenerations, *parent)
	}
	return err
}

// RootOf returns the id of the generic task at the root of a task's tree.
func RootOf(ctx context.Context, db *database.DB, id string) (string, error) {
	return database.Scalar[string](ctx, db, `WITH RECURSIVE line AS (
		SELECT id, parent_id FROM tasks WHERE id = $1
		UNION ALL SELECT k.id, k.parent_id FROM tasks k JOIN line l ON k.id = l.parent_id)
		SELECT id FROM line WHERE parent_id IS NULL`, id)
}

// lockTree locks a task with its descendants. A child may appear while the rows of the
// others are awaited, so lockTree repeats until it finds no further ones: a task whose row is
// locked gets no child.
func lockTree(ctx context.Context, db *database.DB, id string) error {
	for last := int64(-1); ; {
		n, err := db.Affect(ctx, tree+` SELECT FROM tasks WHERE id IN (SELECT id FROM tree) ORDER BY id FOR UPDATE`, id)
		if err != nil || n == last {
			return err
		}
		last = n
	}
}

// KillTree requests the end of a generic task and of its descendants. The reason is for
// users.
func KillTree(ctx context.Context, db *database.DB, id, reason string) error {
	return changeTree(ctx, db, id, func(tx *database.DB, k Task) error {
		return tx.Change(ctx, fault.New(fault.Invalid, "cannot cancel task %s as it is in state '%s'", id, k.Phase), tree+` UPDATE tasks SET desired = 'kill', kill_reason = $2
			WHERE id IN (SELECT id FROM tree) AND ended_at IS NULL AND desired <> 'kill'`, id, reason)
	})
}

// PauseTree requests a pause of a generic task and of its descendants, except of those that
// are marked with NoPause.
func PauseTree(ctx context.Context, db *database.DB, id, reason string) error {
	return changeTree(ctx, db, id, func(tx *database.DB, k Task) error {
		switch {
		case k.Phase != "ACTIVE":
			return fault.New(fault.Invalid, "cannot pause task %s as it is in state '%s'", id, k.Phase)
		case k.NoPause:
			return fault.New(fault.Invalid, "cannot pause task %s as it was created with noPause", id)
		}
		return tx.Exec(ctx, tree+` UPDATE tasks SET desired = 'pause', kill_reason = $2
			WHERE id IN (SELECT id FROM tree) AND ended_at IS NULL AND desired = 'run' AND NOT no_pause`, id, reason)
	})
}

// ResumeTree ends the pause of a generic task and of its descendants.
func ResumeTree(ctx context.Context, db *database.DB, id string) error {
	return changeTree(ctx, db, id, func(tx *database.DB, k Task) error {
		if k.Phase != "PAUSED" {
			return fault.New(fault.Invalid, "cannot unpause task %s as it is not in paused state: its state is '%s'", id, k.Phase)
		}
		return tx.Exec(ctx, tree+` UPDATE tasks SET desired = 'run', kill_reason = ''
			WHERE id IN (SELECT id FROM tree) AND ended_at IS NULL AND desired = 'pause'`, id)
	})
}

// changeTree locks the tree of a task, and changes it.
func changeTree(ctx context.Context, db *database.DB, id string, change func(tx *database.DB, k Task) error) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := lockTree(ctx, tx, id); err != nil {
			return err
		}
		k, err := Get(ctx, tx, id)
		if err != nil {
			return err
		}
		return change(tx, k)
	})
}
