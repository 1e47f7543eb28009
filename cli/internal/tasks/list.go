package tasks

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
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/v1"
)

type listOptions struct {
	all, quiet      bool
	workspace       string
	sortBy, orderBy args.OneOf
	format          output.Format
}

// NewList returns the command det <noun> list.
func NewList(a *app.App, k Kind) *cobra.Command {
	o := listOptions{
		sortBy: args.OneOf{Value: "startTime", Allowed: []string{"id", "username", "description", "state",
			"exitStatus", "resourcePool", "workspaceName", "startTime"}},
		orderBy: args.OneOf{Value: "asc", Allowed: []string{"asc", "desc"}},
	}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list " + k.Nouns,
		Args:    args.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return k.list(cmd.Context(), a, o) },
	}
	f := cmd.Flags()
	f.BoolVarP(&o.all, "all", "a", false, "also list tasks of other users")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print IDs only")
	f.StringVarP(&o.workspace, "workspace-name", "w", "", "only tasks of this workspace")
	f.Var(&o.sortBy, "sort-by", "column to sort by")
	f.Var(&o.orderBy, "order-by", "ascending or descending")
	o.format.Flags(cmd)
	return cmd
}

func (k Kind) list(ctx context.Context, a *app.App, o listOptions) error {
	s, err := a.Session(ctx)
	if err != nil {
		return err
	}
	items, err := k.find(ctx, s, o)
	if err != nil {
		return err
	}
	names, err := workspaceNames(ctx, s.Client, o.quiet && o.sortBy.Value != "workspaceName")
	if err != nil {
		return err
	}
	o.sort(items, names)
	if o.quiet {
		for _, i := range items {
			a.Printf("%s\n", i.ID)
		}
		return nil
	}
	return o.format.Print(a.IO, k.table(items, names), each.Of(items, func(i Item) any { return i.Message }))
}

func (k Kind) find(ctx context.Context, s *session.Session, o listOptions) ([]Item, error) {
	var q v1.GetCommandsRequest
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
	return k.List(ctx, s.Client, q)
}

func (o listOptions) sort(items []Item, names map[int]string) {
	key := func(i Item) string {
		switch o.sortBy.Value {
		case "id":
			return i.ID
		case "username":
			return i.Username
		case "description":
			return i.Description
		case "state":
			return string(i.State)
		case "exitStatus":
			return i.ExitStatus
		case "resourcePool":
			return i.Pool
		case "workspaceName":
			return names[i.WorkspaceID]
		}
		return i.StartTime.UTC().Format("2006-01-02T15:04:05.000000000")
	}
	slices.SortStableFunc(items, func(x, y Item) int { return cmp.Compare(key(x), key(y)) })
	if o.orderBy.Value == "desc" {
		slices.Reverse(items)
	}
}

func workspaceNames(ctx context.Context, c *client.Client, unneeded bool) (map[int]string, error) {
	names := map[int]string{}
	if unneeded {
		return names, nil
	}
	for w, err := range client.Each(ctx, c, v1.ListWorkspaces, client.Page{}, nil) {
		if err != nil {
			return nil, err
		}
		names[w.ID] = w.Name
	}
	return names, nil
}

func (k Kind) table(items []Item, names map[int]string) *table.Table {
	t := table.New(append([]string{"id", "username", "description", "state", "exitStatus", "resourcePool", "workspaceName"}, k.Columns...)...)
	for _, i := range items {
		var exit any = table.NA
		if i.ExitStatus != "" {
			exit = i.ExitStatus
		}
		name, ok := names[i.WorkspaceID]
		if !ok {
			name = fmt.Sprintf("missing workspace id %d", i.WorkspaceID)
		}
		t.Row(append([]any{i.ID, i.Username, i.Description, strings.TrimPrefix(string(i.State), "STATE_"),
			exit, i.Pool, name}, i.Extra...)...)
	}
	return t
}
