// Package args checks the arguments of commands, and explains what is wrong with them.
package args

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/exit"
)

// wrong is a usage error with a reference to the command's help.
func wrong(cmd *cobra.Command, format string, a ...any) error {
	return &exit.UsageError{
		Message: fmt.Sprintf(format, a...),
		Hint:    fmt.Sprintf("Usage: %s\nSee `%s --help`.", cmd.UseLine(), cmd.CommandPath()),
	}
}

// Wrong is a usage error with a reference to the command's help.
func Wrong(cmd *cobra.Command, format string, a ...any) error { return wrong(cmd, format, a...) }

// None rejects arguments.
func None(cmd *cobra.Command, given []string) error {
	if len(given) > 0 {
		return wrong(cmd, "%s takes no argument, but got %q", cmd.CommandPath(), given[0])
	}
	return nil
}

// Exactly requires one argument for each name.
func Exactly(names ...string) cobra.PositionalArgs {
	return Between(len(names), names...)
}

// Between requires the first least of these arguments and allows the others.
func Between(least int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if len(given) < least {
			return wrong(cmd, "%s needs %s", cmd.CommandPath(), names[len(given)])
		}
		if len(given) > len(names) {
			return wrong(cmd, "%s: %q is one argument too many", cmd.CommandPath(), given[len(names)])
		}
		return nil
	}
}

// AtLeastOne requires one argument or more.
func AtLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if len(given) == 0 {
			return wrong(cmd, "%s needs %s", cmd.CommandPath(), name)
		}
		return nil
	}
}

// ID parses the number of an experiment or a trial.
func ID(what, given string) (int, error) {
	id, err := strconv.Atoi(given)
	if err != nil || id < 1 {
		return 0, &exit.UsageError{Message: fmt.Sprintf("%q is not the ID of %s; IDs are whole numbers from 1", given, what)}
	}
	return id, nil
}

// IDs parses several ids, separated by commas or given as several arguments.
func IDs(what string, given []string) ([]int, error) {
	var ids []int
	for _, g := range given {
		for part := range strings.SplitSeq(g, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			id, err := ID(what, part)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, &exit.UsageError{Message: "the ID of " + what + " is missing"}
	}
	return ids, nil
}

// Given is a pointer to the value of a flag; nil if the flag is not set.
func Given[T any](cmd *cobra.Command, flag string, value T) *T {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return &value
}

// OneOf is the value of a flag that must be one of several words.
type OneOf struct {
	Value   string
	Allowed []string
}

// String is the value.
func (o *OneOf) String() string { return o.Value }

// Type is the type in the help.
func (o *OneOf) Type() string { return strings.Join(o.Allowed, "|") }

// Set accepts one of the words, in upper or lower case.
func (o *OneOf) Set(s string) error {
	for _, a := range o.Allowed {
		if strings.EqualFold(a, s) {
			o.Value = a
			return nil
		}
	}
	return fmt.Errorf("it must be one of %s", strings.Join(o.Allowed, ", "))
}
