package api

import (
	"context"

	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// models gives the room of models what it uses of workspaces, checkpoints and their owners, which are here.
func (a *API) models() models.Deps {
	return models.Deps{DB: a.db, DefaultWorkspace: workspaces.Default, LockWorkspace: workspaces.Lock, Admit: a.users.Admit, AdmitChange: a.users.AdmitChange, Note: audit.Note, Workspace: a.workspaceNamed,
		CheckpointOf: func(ctx context.Context, name string) (string, auth.Object, error) {
			k, err := checkpoints.Named(ctx, a.db, name)
			return k.UUID, k.Object(), err
		},
		CheckpointOwner: func(ctx context.Context, uuid string) (auth.Object, error) {
			owners, err := checkpoints.Owners(ctx, a.db, []string{uuid})
			return owners[uuid].Object(), err
		},
		Checkpoint: func(ctx context.Context, who auth.Who, uuid string) (v1.Checkpoint, error) {
			k, err := checkpoints.Get(ctx, a.db, uuid)
			return a.checkpoints.Shown(k, who), err
		},
		Checkpoints: func(ctx context.Context, who auth.Who, ids []string) (map[string]v1.Checkpoint, error) {
			list, err := checkpoints.WholeByIDs(ctx, a.db, ids)
			shown := make(map[string]v1.Checkpoint, len(list))
			for _, k := range list {
				shown[k.UUID] = a.checkpoints.Shown(k, who)
			}
			return shown, err
		}}
}

// workspaceNamed finds the workspace that a request names by its number or, without one, by its name; 0: it names none.
func (a *API) workspaceNamed(ctx context.Context, c *rest.Call, id int, name string) (int, error) {
	if id != 0 {
		w, err := workspaces.Get(ctx, a.db, id)
		return w.ID, err
	}
	if name == "" {
		return 0, nil
	}
	list, err := workspaces.List(ctx, a.db, auth.ScopeOf(c.Who(), auth.View, v1.KindWorkspace), workspaces.Filter{Exact: name}, 0, 1)
	if err == nil && len(list) == 0 {
		err = fault.New(fault.NotFound, "workspaceName: workspace %q not found", fault.Clip(name))
	}
	if err != nil {
		return 0, err
	}
	return list[0].ID, nil
}
