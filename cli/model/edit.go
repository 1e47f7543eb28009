package model

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/input"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// texts are the values of the flags for a model or a version.
type texts struct {
	name, text, notes, metadata string
	labels                      []string
	noLabels                    bool
}

// flags adds the flags; word is how the short text is called: a description, or a comment.
func (t *texts) flags(cmd *cobra.Command, word string) {
	f := cmd.Flags()
	f.StringVar(&t.name, "name", "", "another name")
	f.StringVar(&t.text, word, "", "another "+word)
	f.StringVar(&t.notes, "notes", "", "file with the new notes, in Markdown; - is the standard input")
	f.StringVar(&t.metadata, "metadata", "", "file with the new metadata, in YAML or JSON; - is the standard input")
	f.StringArrayVar(&t.labels, "label", nil, "a label; the given labels replace all earlier ones (may be repeated)")
	f.BoolVar(&t.noLabels, "no-labels", false, "remove all labels")
	cmd.MarkFlagsMutuallyExclusive("label", "no-labels")
	cmd.MarkFlagsOneRequired("name", word, "notes", "metadata", "label", "no-labels")
}

// changes are the fields that the command line sets.
type changes struct {
	name, text, notes *string
	labels            *[]string
	metadata          v1.Struct
}

func (t *texts) changes(a *app.App, cmd *cobra.Command, word string) (ch changes, err error) {
	given := cmd.Flags().Changed
	ch.name, ch.text = args.Given(cmd, "name", t.name), args.Given(cmd, word, t.text)
	if given("label") || t.noLabels {
		ch.labels = &t.labels
	}
	if given("notes") {
		text, err := read(a, t.notes)
		if err != nil {
			return ch, err
		}
		ch.notes = new(string(text))
	}
	if given("metadata") {
		text, err := read(a, t.metadata)
		if err != nil {
			return ch, err
		}
		raw, err := input.YAML(t.metadata, text)
		if err != nil {
			return ch, err
		}
		ch.metadata = raw
	}
	return ch, nil
}

// read reads a file, or the standard input for a dash.
func read(a *app.App, file string) ([]byte, error) {
	text, err := input.Read(a.IO.In, file)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read %s: %w", file, err)
	}
	return text, nil
}

func newEdit(a *app.App) *cobra.Command {
	var t texts
	cmd := &cobra.Command{
		Use:   "edit NAME",
		Short: "change name, description, notes, labels or metadata of a model",
		Args:  args.Exactly(aModel),

		ValidArgsFunction: complete.Models(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			ch, err := t.changes(a, cmd, "description")
			if err != nil {
				return err
			}
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			resp, err := client.Send(cmd.Context(), c, v1.ChangeModel, v1.PatchModel{Name: ch.name, Description: ch.text, Notes: ch.notes, Labels: ch.labels, Metadata: ch.metadata}, given[0])
			if err != nil {
				return err
			}
			return show(a, resp.Model, nil)
		},
	}
	t.flags(cmd, "description")
	return cmd
}

func newEditVersion(a *app.App) *cobra.Command {
	var t texts
	cmd := &cobra.Command{
		Use:   "edit-version NAME VERSION",
		Short: "change name, comment, notes, labels or metadata of a version of a model",
		Args:  args.Exactly(aModel, aVersion),

		ValidArgsFunction: complete.Models(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			number, err := versionNumber(given[1])
			if err != nil {
				return err
			}
			ch, err := t.changes(a, cmd, "comment")
			if err != nil {
				return err
			}
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			v, err := client.Send(cmd.Context(), c, v1.ChangeModelVersion, v1.PatchModelVersion{Name: ch.name, Comment: ch.text, Notes: ch.notes, Labels: ch.labels, Metadata: ch.metadata}, given[0], number)
			if err != nil {
				return err
			}
			return show(a, v.ModelVersion.Model, []v1.ModelVersion{v.ModelVersion})
		},
	}
	t.flags(cmd, "comment")
	return cmd
}
