package template

import (
	"context"
	"errors"

	"github.com/detent-ml/detent/master/document"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/input"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// read reads and checks the document of a template. det sends it unchanged, with comments.
func read(a *app.App, file string) (string, error) {
	text, err := input.Read(a.IO.In, file)
	if err != nil {
		return "", fault.New(fault.Invalid, "cannot read the template: %w", err)
	}
	_, err = expconf.ParseTemplate(file, text)
	var problems document.Errors
	switch {
	case errors.As(err, &problems) && len(problems) > 1:
		return "", fault.New(fault.Invalid, "%s has %d problems:\n%s", file, len(problems), err)
	case err != nil:
		return "", fault.New(fault.Invalid, "%s", err)
	}
	if len(text) == 0 {
		text = []byte("{}\n")
	}
	return string(text), nil
}

// verb makes a command whose arguments are a name and a file.
func verb(a *app.App, use, short string, run func(ctx context.Context, c *client.Client, t v1.Template) error) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAME FILE",
		Short: short,
		Args:  args.Exactly("the name of a template", "a file in YAML"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if given[0] == "" {
				return args.Wrong(cmd, "the name of a template is empty")
			}
			text, err := read(a, given[1])
			if err != nil {
				return err
			}
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			return run(cmd.Context(), c, v1.Template{Name: given[0], Source: &text})
		},
	}
}

func newSet(a *app.App) *cobra.Command {
	return verb(a, "set", "create a template, or replace its configuration", func(ctx context.Context, c *client.Client, t v1.Template) error {
		_, err := client.Send(ctx, c, v1.PutTemplate, t, t.Name)
		return a.SayDone(err, "Set template %s", t.Name)
	})
}

func newSetConfig(a *app.App) *cobra.Command {
	return verb(a, "config", "replace a template's configuration", func(ctx context.Context, c *client.Client, t v1.Template) error {
		if _, err := c.Template(ctx, t.Name); err != nil {
			return err
		}
		_, err := client.Send(ctx, c, v1.PutTemplate, t, t.Name)
		return a.SayDone(err, "Updated template %s", t.Name)
	})
}

func newCreate(a *app.App) *cobra.Command {
	var workspace string
	cmd := verb(a, "create", "create a template", func(ctx context.Context, c *client.Client, t v1.Template) error {
		if workspace != "" {
			w, err := c.WorkspaceByName(ctx, workspace)
			if err != nil {
				return err
			}
			t.WorkspaceID = w.ID
		}
		_, err := client.Send(ctx, c, v1.CreateTemplate, t, t.Name)
		return a.SayDone(err, "Created template %s", t.Name)
	})
	cmd.Flags().StringVarP(&workspace, "workspace-name", "w", "", "store the template in this workspace")
	return cmd
}

func newSetName(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "name NAME NEW_NAME",
		Short: "rename a template",
		Args:  args.Exactly("the name of a template", "its new name"),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			_, err := client.Send(ctx, c, v1.RenameTemplate, v1.PatchTemplateNameRequest{OldName: given[0], NewName: given[1]})
			return a.SayDone(err, "Renamed template %s to %s", given[0], given[1])
		}),
	}
}

func newRemove(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "remove a template",
		Args:    args.Exactly("the name of a template"),

		ValidArgsFunction: complete.Templates(a),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			return a.SayDone(client.Act(ctx, c, v1.DeleteTemplate, given[0]), "Removed template %s", given[0])
		}),
	}
}
