// Package model has the command det model: the model registry, names and version numbers for checkpoints. A file per verb.
package model

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/render"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	aModel   = "the name of a model"
	aVersion = "the number of a version"
)

// New is det model.
func New(a *app.App) *cobra.Command {
	return noun.New("model", "manage models: registered checkpoints, with numbered versions", []string{"m"}, newList(a),
		newCreate(a), newRegister(a), newDescribe(a), newListVersions(a), newEdit(a), newEditVersion(a), newMove(a),
		newArchive(a, true), newArchive(a, false), newDelete(a), newDeleteVersion(a), newExport(a))
}

// verb makes a command whose first argument is the name of a model; further are the arguments behind it.
func verb(a *app.App, use, short string, run func(ctx context.Context, c *client.Client, given []string) error, further ...string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args.Exactly(append([]string{aModel}, further...)...),
		ValidArgsFunction: complete.Models(a), RunE: app.Call(a, run),
	}
}

// about makes a command about the model that its argument names.
func about(a *app.App, use, short string, run func(ctx context.Context, c *client.Client, m *v1.Model, given []string) error) *cobra.Command {
	cmd := verb(a, use, short, nil)
	cmd.RunE = app.Find(a, (*client.Client).Model, run)
	return cmd
}

// show prints a model, and versions of it where there are any, as two tables.
func show(a *app.App, m v1.Model, versions []v1.ModelVersion) error {
	if err := modelTable(m).Write(a.IO.Out); err != nil || versions == nil {
		return err
	}
	a.Printf("\n\n")
	return versionTable(versions).Write(a.IO.Out)
}

func modelTable(m v1.Model) *table.Table {
	t := table.New("ID", "Name", "Description", "Workspace ID", "Creation Time", "Last Updated Time", "Metadata")
	t.Row(m.ID, m.Name, m.Description, m.WorkspaceID, table.Time(&m.CreationTime), table.Time(&m.LastUpdatedTime), output.Indented(m.Metadata))
	return t
}

func versionTable(versions []v1.ModelVersion) *table.Table {
	t := table.New("Version #", "Trial ID", "Batch #", "Checkpoint UUID", "Validation Metrics", "Metadata")
	for _, v := range versions {
		k := v.Checkpoint
		t.Row(v.Version, k.Training.TrialID, render.StepsCompleted(k), k.UUID, render.Validation(k), output.Indented(k.Metadata))
	}
	return t
}

// versionNumber reads the number of a version.
func versionNumber(text string) (int, error) { return args.ID("a version", text) }
