package token

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

func newEdit(a *app.App) *cobra.Command {
	var description string
	var format output.Format
	cmd := &cobra.Command{
		Use:   "edit TOKEN_ID",
		Short: "change the description of an access token",
		Args:  args.Exactly("the id of an access token"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if !cmd.Flags().Changed("description") {
				return &exit.UsageError{Message: "set the new description with -d"}
			}
			return change(a, v1.PatchAccessTokenRequest{Description: &description}, format, "Successfully updated token with ID: %d.\n")(cmd, given)
		},
	}
	cmd.Flags().StringVarP(&description, "description", "d", "", "what the token is for")
	format.FlagsWithoutCSV(cmd)
	return cmd
}

func newRevoke(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke TOKEN_ID",
		Short: "revoke an access token; programs that use it are signed out",
		Args:  args.Exactly("the id of an access token"),
		RunE:  change(a, v1.PatchAccessTokenRequest{SetRevoked: new(true)}, output.Format{}, "Successfully revoked token %d.\n"),
	}
}

// change changes an access token, and prints what it is now. As in Determined, the sentence follows the JSON, unless
// a flag asks for JSON or YAML alone.
func change(a *app.App, req v1.PatchAccessTokenRequest, format output.Format, said string) app.RunE {
	return app.ByID(a, "an access token", func(ctx context.Context, c *client.Client, id int, _ []string) error {
		req.TokenID = id
		resp, err := client.Send(ctx, c, v1.ChangeToken, req, id)
		if err != nil {
			return err
		}
		if format.Structured() {
			return format.Messages(a.IO.Out, resp.TokenInfo)
		}
		format.JSON = true
		return a.Say(format.Messages(a.IO.Out, resp.TokenInfo), said, id)
	})
}
