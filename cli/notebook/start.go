package notebook

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/tasks"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

const startLong = `Starts a notebook, waits until it is ready, and opens it in the browser.

The files of --context and --include are in the notebook's folder. The master ends
the notebook when nobody has used it for idle_timeout.`

type startOptions struct {
	tasks.Launch
	preview, noBrowser bool
}

func newStart(a *app.App) *cobra.Command {
	var o startOptions
	cmd := &cobra.Command{
		Use:   "start",
		Short: "start a notebook",
		Long:  startLong,
		Example: `  det notebook start --config resources.slots=1 --context .
  det notebook start --config idle_timeout=30m --no-browser`,
		Args: args.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.start(cmd.Context(), a) },
	}
	o.Flags(cmd, "notebook")
	cmd.Flags().BoolVar(&o.preview, "preview", false, "print the complete configuration and do not start the notebook")
	cmd.Flags().BoolVar(&o.noBrowser, "no-browser", false, "print the address and do not open a browser")
	return cmd
}

func (o *startOptions) start(ctx context.Context, a *app.App) error {
	c, r, err := o.Request(ctx, a, nil)
	if err != nil {
		return err
	}
	resp, err := client.Send(ctx, c, v1.CreateNotebook, v1.LaunchNotebookRequest{Config: r.Config, Files: r.Files, TemplateName: r.Template,
		WorkspaceID: r.WorkspaceID, Preview: &o.preview})
	if err != nil {
		return err
	}
	if o.preview {
		return output.YAML(a.IO.Out, resp.Config)
	}
	if o.Launched(a, "notebook", resp.Notebook.ID, resp.Notebook.Description, resp.Warnings, resp.Remarks) {
		return nil
	}
	k := kind()
	if err := k.Await(ctx, a, c, resp.Notebook.ID); err != nil {
		return err
	}
	return k.Show(ctx, a, c, item(resp.Notebook), running, !o.noBrowser)
}
