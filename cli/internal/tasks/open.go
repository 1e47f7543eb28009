package tasks

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/browser"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// NewOpen returns the command det <noun> open, for a kind with web pages.
func NewOpen(a *app.App, k Kind, running string) *cobra.Command {
	var noBrowser bool
	cmd := &cobra.Command{
		Use:               "open " + k.placeholder(),
		Short:             "open a " + k.Noun + " in the browser",
		Args:              args.Exactly(k.ID()),
		ValidArgsFunction: k.Complete(a),
		RunE: k.OnUsable(a, func(ctx context.Context, c *client.Client, id string, _ []string) error {
			item, _, err := k.Get(ctx, c, id)
			if err != nil {
				return err
			}
			return k.Show(ctx, a, c, item, running, !noBrowser)
		}),
	}
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "print the address and do not open a browser")
	return cmd
}

// Show prints the address of a task's pages, and opens it by a link that works once and needs
// no sign-in in the browser. A missing browser is only a warning: the user can open the address
// elsewhere.
func (k Kind) Show(ctx context.Context, a *app.App, c *client.Client, item Item, running string, open bool) error {
	master, err := a.Address()
	if err != nil {
		return err
	}
	address := master + cmp.Or(item.Address, "/proxy/"+item.ID+"/")
	link := ""
	if open {
		made, err := client.Call(ctx, c, v1.LinkTask, item.ID)
		if fault.Is(err, fault.Forbidden) {
			return err // the page would say so, too
		}
		if link = made.URL; err != nil { // this master creates no links: the browser must be signed in
			link = address
		}
	}
	a.Done("%s: %s", running, address)
	if !open {
		return nil
	}
	if err := browser.Open(ctx, a.Env, link); err != nil {
		a.IO.Warn("Could not open the browser: %s.", err)
	}
	return nil
}
