// Package rbac has the command det rbac: roles of users and groups.
package rbac

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// New is det rbac.
func New(a *app.App) *cobra.Command {
	return noun.New("rbac", "manage roles, which say what users may do in which workspace", nil, newListRoles(a),
		about(a, "describe-role ROLE_NAME", "show what a role allows, and who has it", "the name of a role", (*client.Client).RoleByName, runDescribeRole), newMyPermissions(a),
		about(a, "list-users-roles USERNAME", "list the roles of a user", "a username", (*client.Client).UserByName, runUserRoles),
		about(a, "list-groups-roles GROUP_NAME", "list the roles of a group", "the name of a group", (*client.Client).GroupByName, runGroupRoles),
		newAssign(a, true), newAssign(a, false), newPreview(a))
}

// about is a command that shows what is assigned to, or with, the object whose name is its argument.
func about[T any](a *app.App, use, short, named string, find func(*client.Client, context.Context, string) (T, error),
	run func(ctx context.Context, a *app.App, c *client.Client, found T, format output.Format) error,
) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  args.Exactly(named),
		RunE: app.Find(a, find, func(ctx context.Context, c *client.Client, found T, _ []string) error {
			return run(ctx, a, c, found, format)
		}),
	}
	format.Flags(cmd)
	return cmd
}

// remark tells that roles have no effect yet, if the master does not use them.
func remark(ctx context.Context, a *app.App, c *client.Client) error {
	m, err := client.Call(ctx, c, v1.GetMaster)
	if err == nil && !m.RbacEnabled {
		a.IO.Warn("the master does not use roles yet: they take effect with security.authz.type: rbac in its configuration; det rbac preview shows what changes then")
	}
	return err
}

// scopes writes what a permission can be assigned for.
func scopes(m *v1.ScopeTypeMask) string {
	if m == nil {
		return ""
	}
	var list []string
	if m.Cluster {
		list = append(list, "cluster")
	}
	if m.Workspace {
		list = append(list, "workspace")
	}
	return strings.Join(list, ", ")
}

func permissionTable(list []v1.Permission) *table.Table {
	t := table.New("Id", "Name", "Scope Type Mask")
	for _, p := range list {
		t.Row(p.ID, p.Name, scopes(p.ScopeTypeMask))
	}
	return t
}

// names finds the names of workspaces and groups, each once. After an error, which stays in err, it asks no more.
type names struct {
	c          *client.Client
	workspaces map[int]string
	groups     map[int]string
	err        error
}

func newNames(c *client.Client) *names {
	return &names{c: c, workspaces: map[int]string{}, groups: map[int]string{}}
}

// workspace is the name of a workspace; nil for a workspace that the caller does not see.
func (n *names) workspace(ctx context.Context, id *int) any {
	if id == nil {
		return nil
	}
	return n.find(n.workspaces, *id, func() (string, error) {
		resp, err := client.Call(ctx, n.c, v1.GetWorkspace, *id)
		return resp.Workspace.Name, err
	})
}

// group is the name of a group; nil for a group that the caller does not see.
func (n *names) group(ctx context.Context, id int) any {
	return n.find(n.groups, id, func() (string, error) {
		resp, err := client.Call(ctx, n.c, v1.GetGroup, id)
		return resp.Group.Name, err
	})
}

func (n *names) find(known map[int]string, id int, ask func() (string, error)) any {
	if name, ok := known[id]; ok {
		return name
	}
	if n.err != nil {
		return nil
	}
	name, err := ask()
	if err != nil {
		if !fault.Is(err, fault.NotFound) {
			n.err = err
		}
		return nil
	}
	known[id] = name
	return name
}
