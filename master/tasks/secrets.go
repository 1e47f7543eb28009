package tasks

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// listSecrets lists the secrets that the caller may mount somewhere.
func (d Deps) listSecrets(ctx context.Context, c *rest.Call, req *v1.GetListRequest) (*v1.GetUserSecretsResponse, error) {
	var offered task.Secrets
	var names []string
	for _, s := range d.Secrets {
		if s.For(c.Who().Username) {
			offered = append(offered, s)
			names = append(names, s.Workspaces...)
		}
	}
	ids, err := workspaces.Named(ctx, d.DB, names)
	if err != nil {
		return nil, err
	}
	list := []v1.UserSecret{}
	for _, s := range offered {
		one := v1.UserSecret{Name: s.Name, Keys: append([]string{}, s.Keys...), Workspaces: []string{}}
		one.Everywhere = len(s.Workspaces) == 0 || slices.Contains(s.Workspaces, task.EveryWorkspace)
		for _, name := range s.Workspaces {
			if id := ids[name]; !one.Everywhere && id != 0 && startsIn(c.Who(), id) {
				one.Workspaces = append(one.Workspaces, name)
			}
		}
		if one.Everywhere || len(one.Workspaces) > 0 {
			list = append(list, one)
		}
	}
	list, page, err := rest.Cut(list, req.Window)
	return &v1.GetUserSecretsResponse{Pagination: &page, Secrets: list}, err
}

// startsIn reports whether a user may start experiments or tasks in a workspace.
func startsIn(who auth.Who, workspace int) bool {
	return auth.Can(who, auth.Create, auth.Object{Kind: v1.KindExperiment, WorkspaceID: workspace}) ||
		auth.Can(who, auth.Create, auth.Object{Kind: v1.KindCommand, WorkspaceID: workspace})
}
