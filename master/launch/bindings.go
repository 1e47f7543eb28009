package launch

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
)

// bindings is the part of the store with the bindings of pools to workspaces.
type bindings interface {
	PoolIsOpen(ctx context.Context, pool string, workspace int) (bool, error)
	quotas
}

// open returns an error unless a workspace may use a pool.
func open(ctx context.Context, db bindings, pool string, ws store.Workspace) error {
	may, err := db.PoolIsOpen(ctx, pool, ws.ID)
	if err != nil || may {
		return err
	}
	return NotOpen(pool, ws.Name)
}

// NotOpen is the error for work of a workspace in a pool that is bound to others.
func NotOpen(pool, workspace string) error {
	return fault.New(fault.Invalid, "resources.resource_pool: pool %s is not open to workspace %q: it is bound to other workspaces; det workspace list-pools shows what is open",
		pool, fault.Clip(workspace))
}
