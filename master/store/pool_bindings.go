package store

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A PoolBinding binds a pool to a workspace: only bound workspaces may use the pool.
type PoolBinding struct {
	Pool        string `db:"pool"`
	WorkspaceID int    `db:"workspace_id"`
	Workspace   string `db:"workspace"`
}

const AllBindings = `SELECT b.pool, b.workspace_id, w.name AS workspace FROM pool_bindings b JOIN workspaces w ON w.id = b.workspace_id ORDER BY b.pool, b.workspace_id`

// PoolBindings reads the bindings of all pools.
func (db *DB) PoolBindings(ctx context.Context) ([]PoolBinding, error) {
	return database.Rows[PoolBinding](ctx, db.DB, AllBindings)
}

// PoolIsOpen reports whether a workspace may use a pool.
func (db *DB) PoolIsOpen(ctx context.Context, pool string, workspace int) (bool, error) {
	return database.Scalar[bool](ctx, db.DB, `SELECT NOT EXISTS (SELECT FROM pool_bindings WHERE pool = $1)
		OR EXISTS (SELECT FROM pool_bindings WHERE pool = $1 AND workspace_id = $2)`, pool, workspace)
}

// WorkspacesOfPool lists the workspaces to which a pool is bound.
func (db *DB) WorkspacesOfPool(ctx context.Context, in auth.Scope, pool string) ([]int, error) {
	return database.Scalars[int](ctx, db.DB, `SELECT workspace_id FROM pool_bindings WHERE pool = $1 AND ($2::int[] IS NULL OR workspace_id = ANY($2)) ORDER BY workspace_id`,
		pool, in.Only())
}

// BindPool adds bindings of a pool.
func (db *DB) BindPool(ctx context.Context, pool string, ids []int) error {
	_, err := db.Exec(ctx, `INSERT INTO pool_bindings (pool, workspace_id) SELECT $1, unnest($2::int[])`, pool, ids)
	if fault.Is(err, fault.Conflict) {
		return fault.New(fault.Conflict, "pool %s is bound to one of the workspaces already, or a workspace is named twice", pool)
	}
	return err
}

// UnbindPool removes bindings of a pool; a pool without bindings is open to all workspaces.
func (db *DB) UnbindPool(ctx context.Context, pool string, ids []int) error {
	_, err := db.Exec(ctx, `DELETE FROM pool_bindings WHERE pool = $1 AND workspace_id = ANY($2)`, pool, ids)
	return err
}

// ReplaceBindings binds a pool to exactly these workspaces.
func (db *DB) ReplaceBindings(ctx context.Context, pool string, ids []int) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	return db.Tx(ctx, func(tx *DB) error {
		if _, err := tx.Exec(ctx, `DELETE FROM pool_bindings WHERE pool = $1 AND NOT workspace_id = ANY(coalesce($2::int[], '{}'))`, pool, ids); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO pool_bindings (pool, workspace_id) SELECT $1, unnest($2::int[]) ON CONFLICT DO NOTHING`, pool, ids)
		return err
	})
}

// NamedWorkspaces finds workspaces by their names; the result omits those that do not exist.
func (db *DB) NamedWorkspaces(ctx context.Context, names []string) (map[string]int, error) {
	list, err := database.Rows[struct {
		ID   int    `db:"id"`
		Name string `db:"name"`
	}](ctx, db.DB, `SELECT id, name FROM workspaces WHERE name = ANY($1)`, names)
	found := make(map[string]int, len(list))
	for _, w := range list {
		found[w.Name] = w.ID
	}
	return found, err
}

// A ClosedExperiment has not ended, and its pool is not open to its workspace, or to the one that
// it is to be in.
type ClosedExperiment struct {
	ID   int    `db:"id"`
	Pool string `db:"pool"`
}

// ClosedExperiments finds those of the named experiments, or of the project if that is not 0, whose
// pools are not open to a workspace; 0 is the workspace of each.
func (db *DB) ClosedExperiments(ctx context.Context, ids []int, project, workspace int) ([]ClosedExperiment, error) {
	return database.Rows[ClosedExperiment](ctx, db.DB, `
		SELECT e.id, e.pool FROM experiments e JOIN projects p ON p.id = e.project_id
		WHERE (e.id = ANY($1) OR e.project_id = $2) AND e.ended_at IS NULL AND NOT e.unmanaged
			AND EXISTS (SELECT FROM pool_bindings b WHERE b.pool = e.pool)
			AND NOT EXISTS (SELECT FROM pool_bindings b WHERE b.pool = e.pool AND b.workspace_id = CASE WHEN $3 = 0 THEN p.workspace_id ELSE $3 END)
		ORDER BY e.id LIMIT 10000`, ids, project, workspace)
}
