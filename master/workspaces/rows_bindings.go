package workspaces

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A Binding binds a pool to a workspace: only bound workspaces may use the pool.
type Binding struct {
	Pool        string `db:"pool"`
	WorkspaceID int    `db:"workspace_id"`
	Workspace   string `db:"workspace"`
}

// Bindings reads the bindings of all pools.
func Bindings(ctx context.Context, db *database.DB) ([]Binding, error) {
	return database.Rows[Binding](ctx, db, `SELECT b.pool, b.workspace_id, w.name AS workspace FROM pool_bindings b JOIN workspaces w ON w.id = b.workspace_id ORDER BY b.pool, b.workspace_id`)
}

// OfPool lists the workspaces to which a pool is bound.
func OfPool(ctx context.Context, db *database.DB, in auth.Scope, pool string) ([]int, error) {
	return database.Scalars[int](ctx, db, `SELECT workspace_id FROM pool_bindings WHERE pool = $1 AND ($2::int[] IS NULL OR workspace_id = ANY($2)) ORDER BY workspace_id`,
		pool, in.Only())
}

// Bind adds bindings of a pool.
func Bind(ctx context.Context, db *database.DB, pool string, ids []int) error {
	err := db.Exec(ctx, `INSERT INTO pool_bindings (pool, workspace_id) SELECT $1, unnest($2::int[])`, pool, ids)
	return database.Taken(err, fault.New(fault.Conflict, "pool %s is bound to one of the workspaces already, or a workspace is named twice", pool))
}

// Unbind removes bindings of a pool; a pool without bindings is open to all workspaces.
func Unbind(ctx context.Context, db *database.DB, pool string, ids []int) error {
	return db.Exec(ctx, `DELETE FROM pool_bindings WHERE pool = $1 AND workspace_id = ANY($2)`, pool, ids)
}

// ReplaceBindings binds a pool to exactly these workspaces.
func ReplaceBindings(ctx context.Context, db *database.DB, pool string, ids []int) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `DELETE FROM pool_bindings WHERE pool = $1 AND NOT workspace_id = ANY(coalesce($2::int[], '{}'))`, pool, ids); err != nil {
			return err
		}
		return tx.Exec(ctx, `INSERT INTO pool_bindings (pool, workspace_id) SELECT $1, unnest($2::int[]) ON CONFLICT DO NOTHING`, pool, ids)
	})
}

// Named finds workspaces by their names; the result omits those that do not exist.
func Named(ctx context.Context, db *database.DB, names []string) (map[string]int, error) {
	return database.Map[string, int](ctx, db, `SELECT name, id FROM workspaces WHERE name = ANY($1)`, names)
}

// Open fails unless a workspace may use a pool.
func Open(ctx context.Context, db *database.DB, pool string, ws Workspace) error {
	may, err := database.Scalar[bool](ctx, db, `SELECT NOT EXISTS (SELECT FROM pool_bindings WHERE pool = $1)
		OR EXISTS (SELECT FROM pool_bindings WHERE pool = $1 AND workspace_id = $2)`, pool, ws.ID)
	if err != nil || may {
		return err
	}
	return NotOpen(pool, ws.Name)
}

// OpenIn is Open for the workspace with this number.
func OpenIn(ctx context.Context, db *database.DB, pool string, workspace int) error {
	ws, err := Get(ctx, db, workspace)
	if err != nil {
		return err
	}
	return Open(ctx, db, pool, ws)
}

// NotOpen is the error for work of a workspace in a pool that is bound to others.
func NotOpen(pool, workspace string) error {
	return fault.New(fault.Invalid, "resources.resource_pool: pool %s is not open to workspace %q: it is bound to other workspaces; det workspace list-pools shows what is open",
		pool, fault.Clip(workspace))
}

// ByPool returns the names of the workspaces of each bound pool.
func ByPool(list []Binding) map[string][]string {
	bound := map[string][]string{}
	for _, b := range list {
		bound[b.Pool] = append(bound[b.Pool], b.Workspace)
	}
	return bound
}
