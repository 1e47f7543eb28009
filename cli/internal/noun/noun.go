// Package noun makes commands that group others: det experiment, det user. For an unknown verb
// it suggests the most similar one, which cobra does for the top level only.
package noun

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/spelling"
)

// New makes a group of verbs. Without a verb, the group runs fallback, which may be nil.
func New(use, short string, aliases []string, fallback *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Aliases: aliases}
	if fallback != nil {
		verbs = append([]*cobra.Command{fallback}, verbs...)
	}
	cmd.AddCommand(verbs...)
	Group(cmd, fallback)
	return cmd
}

// Group sets the behaviour of a command with subcommands when none is given.
func Group(cmd, fallback *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknown(cmd, args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if fallback == nil {
			return cmd.Help()
		}
		fallback.SetContext(cmd.Context())
		return fallback.RunE(fallback, nil)
	}
}

func unknown(cmd *cobra.Command, verb string) error {
	e := &exit.UsageError{
		Message: fmt.Sprintf("%s: there is no command %q", cmd.CommandPath(), verb),
		Hint:    "See `" + cmd.CommandPath() + " --help`.",
	}
	if near := nearest(cmd, verb); len(near) > 0 {
		for i, n := range near {
			near[i] = "`" + cmd.CommandPath() + " " + n + "`"
		}
		e.Hint = "Did you mean " + strings.Join(near, " or ") + "?"
	}
	return e
}

// nearest are the verbs that are most similar to the input: those that begin with it, or else
// those with the smallest edit distance; at most two.
func nearest(cmd *cobra.Command, typed string) []string {
	best, found := 2, []string(nil)
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		for _, name := range append([]string{sub.Name()}, sub.Aliases...) {
			d := spelling.Distance(strings.ToLower(typed), name)
			if len(typed) > 1 && strings.HasPrefix(name, strings.ToLower(typed)) {
				d = 0
			}
			if d > best || d >= len(name)-1 { // short names are similar to everything
				continue
			}
			if d < best {
				best, found = d, nil
			}
			found = append(found, sub.Name())
			break
		}
	}
	return found
}

// Absent makes a command that Determined has and Detent does not. With any arguments it fails and says why, and what
// to do instead.
func Absent(use, why string) *cobra.Command {
	return &cobra.Command{
		Use:                use,
		Short:              "not in Detent",
		Long:               why + ".",
		Hidden:             true,
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fault.New(fault.Unimplemented, "%s: %s", cmd.CommandPath(), why)
		},
	}
}
