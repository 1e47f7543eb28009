package token

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newList(a *app.App) *cobra.Command {
	var query v1.GetAccessTokensRequest
	var format output.Format
	cmd := &cobra.Command{
		Use:     "list [USERNAME]",
		Aliases: []string{"ls"},
		Short:   "list your access tokens; an administrator lists those of all users",
		Args:    args.Between(0, "a username"),

		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			if len(given) > 0 {
				query.Username = given[0]
			}
			list, err := client.List(ctx, c, v1.ListTokens, client.Page{}, &query)
			if err != nil {
				return err
			}
			return show(a, format, list)
		}),
	}
	cmd.Flags().BoolVar(&query.ShowInactive, "show-inactive", false, "also list tokens that expired or were revoked")
	format.Flags(cmd)
	return cmd
}

func newDescribe(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "describe TOKEN_ID...",
		Short: "show access tokens, also those that expired or were revoked",
		Args:  args.AtLeastOne("the id of an access token"),
		RunE: func(cmd *cobra.Command, given []string) error {
			ids, err := args.IDs("an access token", given)
			if err != nil {
				return err
			}
			return app.Call(a, func(ctx context.Context, c *client.Client, _ []string) error {
				list, err := client.List(ctx, c, v1.ListTokens, client.Page{}, &v1.GetAccessTokensRequest{TokenIDs: ids})
				if err != nil {
					return err
				}
				found := each.Set(list, func(t v1.TokenInfo) int { return t.ID })
				for _, id := range ids {
					if !found[id] {
						return fault.New(fault.NotFound, "access token %d not found", id)
					}
				}
				return show(a, format, list)
			})(cmd, given)
		},
	}
	format.Flags(cmd)
	return cmd
}
