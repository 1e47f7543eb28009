// Package output prints what commands have found out: tables for eyes, and JSON,
// YAML or CSV for programs.
package output

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/v1"
)

// Format is how a command's result is printed; the zero Format is for eyes.
type Format struct {
	JSON, YAML, CSV bool
}

// Flags adds --json and --yaml, and --csv where there is a table.
func (f *Format) Flags(cmd *cobra.Command) {
	f.FlagsWithoutCSV(cmd)
	cmd.Flags().BoolVar(&f.CSV, "csv", false, "print as CSV")
	cmd.MarkFlagsMutuallyExclusive("json", "yaml", "csv")
}

// FlagsWithoutCSV adds --json and --yaml.
func (f *Format) FlagsWithoutCSV(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.JSON, "json", false, "print as JSON")
	cmd.Flags().BoolVar(&f.YAML, "yaml", false, "print as YAML")
	cmd.MarkFlagsMutuallyExclusive("json", "yaml")
}

// Structured says whether the result goes out as JSON or YAML.
func (f Format) Structured() bool { return f.JSON || f.YAML }

// Print writes the table, or in JSON and YAML the messages of the wire that it
// was made from.
func (f Format) Print(t *term.IO, tab *table.Table, messages any) error {
	switch {
	case f.Structured():
		return f.Messages(t.Out, messages)
	case f.CSV:
		return tab.CSV(t.Out)
	}
	return tab.Write(t.Out)
}

// Messages writes messages of the wire as JSON or YAML.
func (f Format) Messages(w io.Writer, messages any) error {
	raw, err := v1.Marshal(messages)
	if err != nil {
		return err
	}
	if f.YAML {
		return YAML(w, raw)
	}
	return JSON(w, raw)
}

// JSON writes a JSON text with its keys in order, two spaces deep.
func JSON(w io.Writer, raw []byte) error {
	value, err := decode(raw)
	if err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// Indented is a JSON object for a cell of a table: four spaces deep, in the order
// in which the master gave it.
func Indented(raw []byte) string {
	if len(raw) == 0 {
		return "null"
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "    "); err != nil {
		return string(raw)
	}
	return b.String()
}

// decode reads JSON with its numbers as they were written.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	err := d.Decode(&value)
	return value, err
}
