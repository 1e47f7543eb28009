// Package output prints the results of commands: tables for users, and JSON, YAML or CSV for
// programs.
package output

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/v1"
)

// Format is the format of a result; the zero Format is a table.
type Format struct {
	JSON, YAML, CSV bool
}

// Flags adds --json and --yaml, and --csv for tables.
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

// Structured reports whether the format is JSON or YAML.
func (f Format) Structured() bool { return f.JSON || f.YAML }

// Print prints the table, or the API messages from which it was made as JSON or YAML.
func (f Format) Print(t *term.IO, tab *table.Table, messages any) error {
	switch {
	case f.Structured():
		return f.Messages(t.Out, messages)
	case f.CSV:
		return tab.CSV(t.Out)
	case t.OutTTY:
		if left := tab.Fit(t.Width()); len(left) > 0 {
			defer t.Warn("Not shown, because the terminal is narrow: %s. --csv has all columns.", strings.Join(left, ", "))
		}
	}
	return tab.Write(t.Out)
}

// Messages prints API messages as JSON or YAML.
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

// JSON formats a JSON text with sorted keys and an indentation of two spaces.
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

// Indented formats a JSON object for a cell of a table: an indentation of four spaces, in the
// master's order of keys.
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

// decode decodes JSON and keeps the text of numbers.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	err := d.Decode(&value)
	return value, err
}
