package api

import (
	"context"

	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerPins() {
	rest.ServeOn(a.router, v1.PinWorkspace, a.onWorkspace(), a.pin(a.db.PinWorkspace))
	rest.ServeOn(a.router, v1.UnpinWorkspace, a.onWorkspace(), a.pin(a.db.UnpinWorkspace))
}

func (a *API) pin(change func(ctx context.Context, user, workspace int) error) func(context.Context, *rest.Call, store.Workspace, *v1.None) (*v1.Empty, error) {
	return func(ctx context.Context, c *rest.Call, w store.Workspace, _ *v1.None) (*v1.Empty, error) {
		return &v1.Empty{}, change(ctx, c.Who().UserID, w.ID)
	}
}

// workspaceWires are workspaces as the caller sees them, with the caller's pins and the counts of what
// they contain.
func (a *API) workspaceWires(ctx context.Context, c *rest.Call, list []store.Workspace) ([]v1.Workspace, error) {
	pins, err := a.db.Pins(ctx, c.Who().UserID)
	if err != nil {
		return nil, err
	}
	contents, err := a.db.WorkspaceContents(ctx, idsOf(list, func(w store.Workspace) int { return w.ID }))
	if err != nil {
		return nil, err
	}
	var out []v1.Workspace
	for _, w := range list {
		wire := wireWorkspace(w, contents[w.ID])
		if at, ok := pins[w.ID]; ok {
			wire.Pinned, wire.PinnedAt = true, &at
		}
		out = append(out, wire)
	}
	return out, nil
}

func (a *API) workspaceWire(ctx context.Context, c *rest.Call, w store.Workspace) (v1.Workspace, error) {
	list, err := a.workspaceWires(ctx, c, []store.Workspace{w})
	if err != nil {
		return v1.Workspace{}, err
	}
	return list[0], nil
}
