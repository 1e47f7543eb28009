package model

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/download"
	"github.com/detent-ml/detent/cli/internal/fetch"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

type exportOptions struct {
	version int
	dir     string
	mode    args.OneOf
}

func newExport(a *app.App) *cobra.Command {
	var o exportOptions
	cmd := about(a, "export NAME", "write a version of a model to a folder, with a model card", func(ctx context.Context, c *client.Client, m *v1.Model, _ []string) error {
		versions, err := chosen(ctx, c, m, o.version)
		if err != nil {
			return err
		}
		if len(versions) == 0 {
			return fault.New(fault.NotFound, "model %q has no version yet; register a checkpoint with det model register-version", m.Name)
		}
		v := versions[0]
		if o.dir == "" {
			o.dir = fmt.Sprintf("%s-v%d", folderName(m.Name), v.Version)
		}
		if err := os.Mkdir(o.dir, 0o755); err != nil {
			return fault.New(fault.Invalid, "cannot make the folder %s: %w", o.dir, err)
		}
		if err := export(ctx, a, c, v, o); err != nil {
			return fault.Wrap(fault.CodeOf(err), err, "%v; the folder %s is not complete", err, o.dir)
		}
		a.Done("Wrote version %d of model %s to %s", v.Version, m.Name, o.dir)
		return nil
	})
	cmd.Long = `Writes a version of a model to a new folder: the files of its checkpoint in the folder
checkpoint, a model card (README.md), and all that the master knows about the version
(model.json).`
	o.mode = args.OneOf{Value: string(fetch.Auto), Allowed: []string{string(fetch.Auto), string(fetch.Direct), string(fetch.Master)}}
	cmd.Flags().IntVar(&o.version, "version", newest, "number of the version; -1 is the newest")
	cmd.Flags().StringVarP(&o.dir, "output-dir", "o", "", "the new folder (default model-NAME-vVERSION)")
	cmd.Flags().Var(&o.mode, "mode", "how to fetch the files")
	return cmd
}

// export writes the card last: a folder with a card is complete.
func export(ctx context.Context, a *app.App, c *client.Client, v v1.ModelVersion, o exportOptions) error {
	if _, err := download.Fetch(ctx, a, download.Options{Client: c, Checkpoint: &v.Checkpoint, Dir: filepath.Join(o.dir, "checkpoint"), Mode: fetch.Mode(o.mode.Value)}); err != nil {
		return err
	}
	all, err := os.Create(filepath.Join(o.dir, "model.json"))
	if err != nil {
		return err
	}
	if err := (output.Format{JSON: true}).Messages(all, v); err != nil {
		_ = all.Close()
		return err
	}
	if err := all.Close(); err != nil {
		return err
	}
	text, err := card(v)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.dir, "README.md"), text, 0o644)
}

// folderName is the name of a model as a shell needs no quotes for it.
func folderName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, name)
	return "model-" + strings.Trim(clean, "-.")
}
