package model

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// newest in place of a version's number means the newest version, if there is one.
const newest = -1

type describeOptions struct {
	version int
	format  output.Format
}

func newDescribe(a *app.App) *cobra.Command {
	var o describeOptions
	cmd := about(a, "describe NAME", "show a model with one of its versions", func(ctx context.Context, c *client.Client, m *v1.Model, _ []string) error {
		versions, err := chosen(ctx, c, m, o.version)
		if err != nil {
			return err
		}
		if o.format.Structured() || o.format.CSV { // as CSV the model alone, because a file has one table
			return o.format.Print(a.IO, modelTable(*m), m)
		}
		return show(a, *m, versions)
	})
	cmd.Flags().IntVar(&o.version, "version", newest, "number of the version to show; -1 is the newest")
	o.format.Flags(cmd)
	return cmd
}

// chosen is a version by its number, or the newest; nothing where there is none.
func chosen(ctx context.Context, c *client.Client, m *v1.Model, version int) ([]v1.ModelVersion, error) {
	if version == newest {
		return client.Collect(c.ModelVersions(ctx, fmt.Sprint(m.ID), client.Page{Limit: 1, Single: true}))
	}
	v, err := client.Call(ctx, c, v1.GetModelVersion, fmt.Sprint(m.ID), version)
	return []v1.ModelVersion{v.ModelVersion}, err
}

func newListVersions(a *app.App) *cobra.Command {
	var format output.Format
	cmd := about(a, "list-versions NAME", "list the versions of a model, the newest first", func(ctx context.Context, c *client.Client, m *v1.Model, _ []string) error {
		versions, err := client.Collect(c.ModelVersions(ctx, fmt.Sprint(m.ID), client.Page{}))
		if err != nil {
			return err
		}
		switch {
		case format.Structured():
			// As Determined prints it: the answer of the master, in one page.
			n := len(versions)
			return format.Messages(a.IO.Out, v1.GetModelVersionsResponse{Model: *m, ModelVersions: versions, Pagination: v1.Pagination{EndIndex: n, Total: n}})
		case format.CSV:
			return versionTable(versions).CSV(a.IO.Out)
		}
		return show(a, *m, versions)
	})
	format.Flags(cmd)
	return cmd
}
