package notebook

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/tasks"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// newAddress returns the command det notebook address.
func newAddress(a *app.App, k tasks.Kind) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "address <notebook>",
		Short: "print the address of a notebook for VS Code, PyCharm and other clients of Jupyter",
		Long: `Print the address of a notebook with a token, for programs that connect to a Jupyter server.

  VS Code:  Select Kernel > Existing Jupyter Server > paste the address
  PyCharm:  Jupyter > Configured Server > paste the address

Whoever has the address can use this notebook, and nothing else, until you sign out
with det user logout, or the notebook ends. If det uses an access token, the address
works until that token is revoked.`,
		Args:              args.Exactly(k.ID()),
		ValidArgsFunction: k.Complete(a),
		RunE: k.OnUsable(a, func(ctx context.Context, c *client.Client, id string, _ []string) error {
			master, err := a.Address()
			if err != nil {
				return err
			}
			address, err := client.Call(ctx, c, v1.AddressTask, id)
			if err != nil {
				return err
			}
			// This user may reach the master at another address than the one that it knows.
			address.URL = master + "/proxy/" + id + "/?token=" + address.Token
			if format.Structured() {
				return format.Messages(a.IO.Out, address)
			}
			_, err = fmt.Fprintln(a.IO.Out, address.URL)
			return err
		}),
	}
	format.FlagsWithoutCSV(cmd)
	return cmd
}
