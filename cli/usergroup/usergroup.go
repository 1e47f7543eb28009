// Package usergroup has the command det user-group: groups of users.
package usergroup

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	v1 "github.com/detent-ml/detent/master/v1"
)

// New is det user-group.
func New(a *app.App) *cobra.Command {
	return noun.New("user-group", "manage groups of users, which can have roles", nil, newList(a),
		newDescribe(a), newCreate(a), newDelete(a), newChange(a, true), newChange(a, false), newRename(a))
}

// verb makes a command about the group that its first argument names; further are the arguments behind it.
func verb(a *app.App, use, short string, run func(ctx context.Context, c *client.Client, found *v1.Group, given []string) error, further ...string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args.Exactly(append([]string{"the name of a group"}, further...)...),
		RunE: app.Find(a, (*client.Client).GroupByName, run),
	}
}

func newList(a *app.App) *cobra.Command {
	var of string
	var pages args.Pages
	var format output.Format
	cmd := app.List(a, "list groups; who may not assign roles sees their own", func(ctx context.Context, c *client.Client) error {
		user := 0
		if of != "" {
			u, err := c.UserByName(ctx, of)
			if err != nil {
				return err
			}
			user = u.ID
		}
		list, err := client.Collect(c.Groups(ctx, pages.Page(), "", user))
		if err != nil {
			return err
		}
		t := table.New("Group Id", "Name", "Num Members", "Origin")
		for _, g := range list {
			t.Row(g.Group.GroupID, g.Group.Name, g.NumMembers, cmp.Or(g.Group.Origin, "this cluster"))
		}
		return format.Print(a.IO, t, v1.GetGroupsResponse{Groups: list, Pagination: &v1.Pagination{EndIndex: len(list), Total: len(list)}})
	})
	cmd.Flags().StringVar(&of, "groups-user-belongs-to", "", "list the groups of this user")
	pages.Flags(cmd, 200)
	format.Flags(cmd)
	return cmd
}

func newDescribe(a *app.App) *cobra.Command {
	var format output.Format
	cmd := verb(a, "describe GROUP_NAME", "show a group and its users", func(ctx context.Context, c *client.Client, found *v1.Group, _ []string) error {
		resp, err := client.Call(ctx, c, v1.GetGroup, found.GroupID)
		if err != nil {
			return err
		}
		if !format.Structured() && !format.CSV {
			a.Printf("group ID %d group name %s with users added\n", resp.Group.GroupID, resp.Group.Name)
			if resp.Group.Origin != "" {
				a.Printf("the group comes from %s, where its name and its members are changed\n", resp.Group.Origin)
			}
		}
		t := table.New("Id", "Username", "Display Name", "Admin", "Active", "Modified At")
		for _, u := range resp.Group.Users {
			t.Row(u.ID, u.Username, table.OrNA(u.DisplayName), u.Admin, u.Active, table.Time(u.ModifiedAt))
		}
		return format.Print(a.IO, t, &resp.Group)
	})
	format.Flags(cmd)
	return cmd
}

// userIDs finds users by their names.
func userIDs(ctx context.Context, c *client.Client, names []string) ([]int, error) {
	ids := make([]int, len(names))
	for i, name := range names {
		u, err := c.UserByName(ctx, strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		ids[i] = u.ID
	}
	return ids, nil
}

func newCreate(a *app.App) *cobra.Command {
	var users []string
	cmd := &cobra.Command{
		Use:   "create GROUP_NAME",
		Short: "create a group",
		Args:  args.Exactly("the name of the new group"),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			ids, err := userIDs(ctx, c, users)
			if err != nil {
				return err
			}
			resp, err := client.Send(ctx, c, v1.CreateGroup, v1.CreateGroupRequest{Name: given[0], AddUsers: ids})
			if err != nil {
				return err
			}
			a.Printf("user group with name %s and ID %d created\n", resp.Group.Name, resp.Group.GroupID)
			added := each.Of(resp.Group.Users, func(u v1.User) string { return u.Username })
			if len(added) > 0 {
				a.Printf("%s was added to the group\n", strings.Join(added, ", "))
			}
			return nil
		}),
	}
	cmd.Flags().StringArrayVar(&users, "add-user", nil, "add this user; may be repeated")
	return cmd
}

func newDelete(a *app.App) *cobra.Command {
	var yes bool
	cmd := verb(a, "delete GROUP_NAME", "delete a group and its role assignments", func(ctx context.Context, c *client.Client, g *v1.Group, given []string) error {
		if !yes {
			question := "This deletes the group \"" + given[0] + "\"; its members lose the roles of the group. It cannot be undone.\nDelete it?"
			if err := a.Agreed(ctx, question, "Skipping group deletion."); err != nil {
				return err
			}
		}
		return a.Say(client.Act(ctx, c, v1.DeleteGroup, g.GroupID), "user group with name %s and ID %d deleted\n", g.Name, g.GroupID)
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// newChange makes add-user and remove-user.
func newChange(a *app.App, add bool) *cobra.Command {
	use, short := "add-user", "add users to a group"
	if !add {
		use, short = "remove-user", "remove users from a group"
	}
	return verb(a, use+" GROUP_NAME USERNAMES", short, func(ctx context.Context, c *client.Client, found *v1.Group, given []string) error {
		users := strings.Split(given[1], ",")
		ids, err := userIDs(ctx, c, users)
		if err != nil {
			return err
		}
		req, did := v1.UpdateGroupRequest{GroupID: found.GroupID, AddUsers: ids}, "user added to group with username %s and ID %d\n"
		if !add {
			req, did = v1.UpdateGroupRequest{GroupID: found.GroupID, RemoveUsers: ids}, "user removed from the group with username %s and ID %d\n"
		}
		resp, err := client.Send(ctx, c, v1.UpdateGroup, req, req.GroupID)
		if err != nil {
			return err
		}
		a.Printf("user group with ID %d name %s\n", resp.Group.GroupID, resp.Group.Name)
		for i, id := range ids {
			a.Printf(did, strings.TrimSpace(users[i]), id)
		}
		return nil
	}, "usernames, separated by commas")
}

func newRename(a *app.App) *cobra.Command {
	return verb(a, "change-name OLD_GROUP_NAME NEW_GROUP_NAME", "rename a group", func(ctx context.Context, c *client.Client, found *v1.Group, given []string) error {
		resp, err := client.Send(ctx, c, v1.UpdateGroup, v1.UpdateGroupRequest{GroupID: found.GroupID, Name: given[1]}, found.GroupID)
		return a.Say(err, "user group with ID %d name changed from %s to %s\n", resp.Group.GroupID, given[0], resp.Group.Name)
	}, "its new name")
}
