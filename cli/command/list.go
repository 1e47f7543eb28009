package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/session"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

type listOptions struct {
	all, quiet      bool
	workspace       string
	sortBy, orderBy args.OneOf
	format          output.Format
}

func newList(a *app.App) *cobra.Command {
	o := listOptions{
		sortBy: args.OneOf{Value: "startTime", Allowed: []string{"id", "username", "description", "state",
			"exitStatus", "resourcePool", "workspaceName", "startTime"}},
		orderBy: args.OneOf{Value: "asc", Allowed: []string{"asc", "desc"}},
	}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list commands",
		Args:    args.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), a, o) },
	}
	f := cmd.Flags()
	f.BoolVarP(&o.all, "all", "a", false, "also those of other users")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print IDs only")
	f.StringVarP(&o.workspace, "workspace-name", "w", "", "only those of this workspace")
	f.Var(&o.sortBy, "sort-by", "column to sort by")
	f.Var(&o.orderBy, "order-by", "ascending or descending")
	o.format.Flags(cmd)
	return cmd
}

func runList(ctx context.Context, a *app.App, o listOptions) error {
	s, err := a.Session(ctx)
	if err != nil {
		return err
	}
	commands, err := o.find(ctx, s)
	if err != nil {
		return err
	}
	if o.quiet {
		for _, k := range commands {
			a.Printf("%s\n", k.ID)
		}
		return nil
	}
	names, err := workspaceNames(ctx, s.Client)
	if err != nil {
		return err
	}
	o.sort(commands, names)
	return o.format.Print(a.IO, commandTable(commands, names), commands)
}

func (o listOptions) find(ctx context.Context, s *session.Session) ([]v1.Command, error) {
	var q client.CommandQuery
	if !o.all {
		q.Users = []string{s.User}
	}
	if o.workspace != "" {
		w, err := s.Client.WorkspaceByName(ctx, o.workspace)
		if err != nil {
			return nil, err
		}
		q.WorkspaceID = w.ID
	}
	return s.Client.Commands(ctx, q)
}

func (o listOptions) sort(commands []v1.Command, names map[int]string) {
	key := func(k v1.Command) string {
		switch o.sortBy.Value {
		case "id":
			return k.ID
		case "username":
			return k.Username
		case "description":
			return k.Description
		case "state":
			return string(k.State)
		case "exitStatus":
			if k.ExitStatus != nil {
				return *k.ExitStatus
			}
			return ""
		case "resourcePool":
			return k.ResourcePool
		case "workspaceName":
			return names[k.WorkspaceID]
		}
		return k.StartTime.UTC().Format("2006-01-02T15:04:05.000000000")
	}
	slices.SortStableFunc(commands, func(x, y v1.Command) int { return cmp.Compare(key(x), key(y)) })
	if o.orderBy.Value == "desc" {
		slices.Reverse(commands)
	}
}

func workspaceNames(ctx context.Context, c *client.Client) (map[int]string, error) {
	names := map[int]string{}
	for w, err := range c.Workspaces(ctx, client.WorkspaceQuery{}) {
		if err != nil {
			return nil, err
		}
		names[w.ID] = w.Name
	}
	return names, nil
}

func commandTable(commands []v1.Command, names map[int]string) *table.Table {
	t := table.New("id", "username", "description", "state", "exitStatus", "resourcePool", "workspaceName")
	for _, k := range commands {
		name, ok := names[k.WorkspaceID]
		if !ok {
			name = fmt.Sprintf("missing workspace id %d", k.WorkspaceID)
		}
		t.Row(k.ID, k.Username, k.Description, strings.TrimPrefix(string(k.State), "STATE_"),
			table.OrNA(k.ExitStatus), k.ResourcePool, name)
	}
	return t
}
