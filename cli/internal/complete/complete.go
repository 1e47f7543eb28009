// Package complete completes arguments in a shell with names and IDs from the master.
//
// A completion must be quick and silent. It asks the master only if the user is already signed
// in, stops after a second, and prints no errors.
package complete

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

const patience = time.Second

// Func is a completion function of cobra.
type Func = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective)

// Experiments completes the IDs of the newest experiments.
func Experiments(a *app.App) Func {
	return Listed(a, func(ctx context.Context, c *client.Client) ([]string, error) {
		q := v1.GetExperimentsRequest{Order: v1.Order{SortBy: "SORT_BY_ID", OrderBy: "ORDER_BY_DESC"}}
		var out []string
		for e, err := range client.Each(ctx, c, v1.ListExperiments, client.Page{Limit: 50, Single: true}, &q) {
			if err != nil {
				return nil, err
			}
			out = append(out, fmt.Sprintf("%d\t%s", e.ID, e.Name))
		}
		return out, nil
	})
}

// Listed completes the words that a function lists, each optionally followed by a tab and a
// remark.
func Listed(a *app.App, list func(context.Context, *client.Client) ([]string, error)) Func {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		store, err := a.Store()
		if err != nil {
			return nil, none
		}
		known, err := store.Read()
		if err != nil || known.Tokens[known.Active] == "" {
			return nil, none
		}
		o, err := a.Options()
		if err != nil {
			return nil, none
		}
		o.Token, o.Patience, o.OnRetry = known.Tokens[known.Active], -1, nil
		c, err := client.New(o)
		if err != nil {
			return nil, none
		}
		items, err := list(ctx, c)
		if err != nil {
			return nil, none
		}
		return items, none
	}
}

// Templates completes the names of templates.
func Templates(a *app.App) Func {
	return Listed(a, func(ctx context.Context, c *client.Client) ([]string, error) {
		var out []string
		for t, err := range c.Templates(ctx, client.Page{Limit: 50, Single: true}) {
			if err != nil {
				return nil, err
			}
			out = append(out, t.Name)
		}
		return out, nil
	})
}

// Models completes the names of models.
func Models(a *app.App) Func {
	return Listed(a, func(ctx context.Context, c *client.Client) ([]string, error) {
		var out []string
		for m, err := range client.Each(ctx, c, v1.ListModels, client.Page{Limit: 50, Single: true}, &v1.GetModelsRequest{Order: v1.Order{SortBy: "SORT_BY_LAST_UPDATED_TIME", OrderBy: "ORDER_BY_DESC"}}) {
			if err != nil {
				return nil, err
			}
			out = append(out, m.Name)
		}
		return out, nil
	})
}
