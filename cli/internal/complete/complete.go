// Package complete completes arguments in a shell with names and IDs from the master.
//
// A completion must be quick and silent. It asks the master only if the user is already signed
// in, stops after a second, and prints no errors.
package complete

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/v1"
)

const patience = time.Second

// Func is a completion function of cobra.
type Func = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective)

// Experiments completes the IDs of the newest experiments.
func Experiments(a *app.App) Func {
	q := v1.GetExperimentsRequest{Order: v1.Order{SortBy: "SORT_BY_ID", OrderBy: "ORDER_BY_DESC"}}
	return words(a, func(ctx context.Context, c *client.Client) iter.Seq2[v1.Experiment, error] {
		return client.Each(ctx, c, v1.ListExperiments, page, &q)
	}, func(e v1.Experiment) string { return fmt.Sprintf("%d\t%s", e.ID, e.Name) })
}

var page = client.Page{Limit: 50, Single: true}

// words completes a word of each record of a list.
func words[T any](a *app.App, list func(context.Context, *client.Client) iter.Seq2[T, error], word func(T) string) Func {
	return Listed(a, func(ctx context.Context, c *client.Client) ([]string, error) {
		all, err := client.Collect(list(ctx, c))
		return each.Of(all, word), err
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
	return words(a, func(ctx context.Context, c *client.Client) iter.Seq2[v1.Template, error] {
		return c.Templates(ctx, page)
	},
		func(t v1.Template) string { return t.Name })
}

// Models completes the names of models.
func Models(a *app.App) Func {
	q := v1.GetModelsRequest{Order: v1.Order{SortBy: "SORT_BY_LAST_UPDATED_TIME", OrderBy: "ORDER_BY_DESC"}}
	return words(a, func(ctx context.Context, c *client.Client) iter.Seq2[v1.Model, error] {
		return client.Each(ctx, c, v1.ListModels, page, &q)
	},
		func(m v1.Model) string { return m.Name })
}
