package noun_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/noun"
)

func verb(name string, aliases ...string) *cobra.Command {
	return &cobra.Command{Use: name, Aliases: aliases, RunE: func(*cobra.Command, []string) error { return nil }}
}

func group() *cobra.Command {
	list := verb("list", "ls")
	cmd := noun.New("experiment", "x", []string{"e"}, list, verb("set"), verb("plot"), verb("describe"), verb("activate", "unpause"), verb("archive"), verb("unarchive"))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(io.Discard)
	return cmd
}

func TestUnknownVerbs(t *testing.T) {
	for typed, want := range map[string]string{
		"lst":         "Did you mean `experiment list`?",
		"lsit":        "Did you mean `experiment list`?",
		"LIST":        "Did you mean `experiment list`?",
		"desc":        "Did you mean `experiment describe`?",
		"unpuase":     "Did you mean `experiment activate`?",
		"archiv":      "Did you mean `experiment archive`?",
		"frobnicate":  "See `experiment --help`.",
		"x":           "See `experiment --help`.",
		"\x1b[31mred": "See `experiment --help`.",
	} {
		cmd := group()
		cmd.SetArgs([]string{typed})
		err := cmd.Execute()
		var usage *exit.UsageError
		if !errors.As(err, &usage) || usage.Hint != want || strings.Contains(usage.Message, "\x1b") {
			t.Errorf("%q: %#v, want %s", typed, err, want)
		}
	}
}

func TestAloneDoesTheFallback(t *testing.T) {
	ran := false
	list := &cobra.Command{Use: "list", RunE: func(*cobra.Command, []string) error { ran = true; return nil }}
	cmd := noun.New("thing", "x", nil, list)
	cmd.SetArgs([]string{}) // with nil, cobra takes those of the test
	if err := cmd.Execute(); err != nil || !ran {
		t.Errorf("%v, ran %v", err, ran)
	}
}
