package api

import (
	"context"

	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerPins() {
	serveOn(a, v1.PinWorkspace, a.onWorkspace(), a.pin(a.db.PinWorkspace))
	serveOn(a, v1.UnpinWorkspace, a.onWorkspace(), a.pin(a.db.UnpinWorkspace))
}

func (a *API) pin(change func(ctx context.Context, user, workspace int) error) func(context.Context, *call, store.Workspace, *v1.None) (*v1.Empty, error) {
	return func(ctx context.Context, c *call, w store.Workspace, _ *v1.None) (*v1.Empty, error) {
		return &v1.Empty{}, change(ctx, c.who.UserID, w.ID)
	}
}

// workspaceWires are workspaces as the caller sees them, with the caller's pins.
func (a *API) workspaceWires(ctx context.Context, c *call, list []store.Workspace) ([]v1.Workspace, error) {
	pins, err := a.db.Pins(ctx, c.who.UserID)
	var out []v1.Workspace
	for _, w := range list {
		wire := wireWorkspace(w)
		if at, ok := pins[w.ID]; ok {
			wire.Pinned, wire.PinnedAt = true, &at
		}
		out = append(out, wire)
	}
	return out, err
}
