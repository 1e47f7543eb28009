package download

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// everything is the role whose owner sees everything, if it is for the whole cluster.
const everything = "ClusterAdmin"

// maxSeen is how many workspaces a message names.
const maxSeen = 20

// look tells somebody who sees only a part of the old cluster what this part is, before anything is copied, and fails unless that was accepted.
func (d *copying) look(ctx context.Context, master *v1.GetMasterResponse, me *v1.User) error {
	all, err := seesAll(ctx, d.c, master, me)
	if err != nil || all {
		return err
	}
	d.part = true
	part, err := d.seen(ctx)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s is no %s of the old cluster and sees only a part of it: %s. What others have there, and rights that %[1]s may not see, would be missing",
		me.Username, nameOfAdmins(master), part)
	if d.Light || d.Partial {
		d.Tell(text)
		d.note("this is only a part of the old cluster, which " + me.Username + " sees: the rest is missing")
		return nil
	}
	return fault.New(fault.Forbidden, "%s: ask as somebody who sees everything, or accept that with --partial. Nothing was copied", text)
}

func nameOfAdmins(master *v1.GetMasterResponse) string {
	if master.RbacEnabled {
		return everything
	}
	return "administrator"
}

// seesAll reports whether somebody sees the whole old cluster: with roles, a ClusterAdmin of the whole cluster does, also as a member of a group.
func seesAll(ctx context.Context, c *client.Client, master *v1.GetMasterResponse, me *v1.User) (bool, error) {
	if !master.RbacEnabled {
		return me.Admin, nil
	}
	has, err := client.Call(ctx, c, v1.GetPermissionsSummary)
	if err != nil {
		return false, fmt.Errorf("the roles of %s in the old cluster: %w", me.Username, err)
	}
	return slices.ContainsFunc(has.Assignments, func(a v1.RoleAssignmentSummary) bool {
		return a.ScopeCluster && slices.ContainsFunc(has.Roles, func(r v1.Role) bool { return r.RoleID == a.RoleID && r.Name == everything })
	}), nil
}

// seen describes what the user who asks sees.
func (d *copying) seen(ctx context.Context) (string, error) {
	places, err := list(ctx, d.lists(), v1.ListWorkspaces, askWorkspaces, func(w v1.Workspace) int { return w.ID })
	if err != nil {
		return "", err
	}
	var names []string
	for _, w := range places[:min(len(places), maxSeen)] {
		names = append(names, w.Name)
	}
	if len(places) > maxSeen {
		names = append(names, "…")
	}
	_, experiments, err := pagesOf[v1.GetExperimentsRequest, v1.GetExperimentsResponse, v1.Experiment](ctx, d.lists(), v1.ListExperiments, askExperiments)(1, 0)
	if err != nil {
		return "", err
	}
	_, models, err := pagesOf[v1.GetModelsRequest, v1.GetModelsResponse, v1.Model](ctx, d.lists(), v1.ListModels, askModels)(1, 0)
	if err != nil {
		return "", err
	}
	_, users, err := pagesOf[v1.GetUsersRequest, v1.GetUsersResponse, v1.User](ctx, d.lists(), v1.ListUsers, askUsers)(1, 0)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d workspaces (%s), %d experiments, %d models and %d users", len(places), strings.Join(names, ", "), experiments, models, users), nil
}

// hidden reports whether an error says that somebody who sees a part of the old cluster does not see something, and notes what is missing.
func (d *copying) hidden(err error, what string) bool {
	if !d.part || !absent(err) {
		return false
	}
	d.note("the old master does not show " + what)
	return true
}
