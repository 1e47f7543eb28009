package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// RunE is the function of a command that cobra calls with its arguments.
type RunE = func(cmd *cobra.Command, given []string) error

// Call is a command that calls the master: it signs in and runs.
func Call(a *App, run func(ctx context.Context, c *client.Client, given []string) error) RunE {
	return func(cmd *cobra.Command, given []string) error {
		c, err := a.Client(cmd.Context())
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, given)
	}
}

// Verb makes a command without arguments that calls the master.
func Verb(a *App, use, short string, run func(ctx context.Context, c *client.Client) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args.None,
		RunE: Call(a, func(ctx context.Context, c *client.Client, _ []string) error { return run(ctx, c) }),
	}
}

// List makes the command list of a noun.
func List(a *App, short string, run func(ctx context.Context, c *client.Client) error) *cobra.Command {
	cmd := Verb(a, "list", short, run)
	cmd.Aliases = []string{"ls"}
	return cmd
}

// Find is a Call about the object that the first argument names.
func Find[T any](a *App, find func(c *client.Client, ctx context.Context, name string) (T, error),
	run func(ctx context.Context, c *client.Client, found T, given []string) error) RunE {
	return Call(a, func(ctx context.Context, c *client.Client, given []string) error {
		found, err := find(c, ctx, given[0])
		if err != nil {
			return err
		}
		return run(ctx, c, found, given)
	})
}

// ByID is a Call about the object whose number is the first argument. kind is its kind in errors, such as
// "a trial".
func ByID(a *App, kind string, run func(ctx context.Context, c *client.Client, id int, given []string) error) RunE {
	return Checked(a, kind, func(context.Context) error { return nil }, run)
}

// Checked is ByID with a check before det signs in, such as of flags.
func Checked(a *App, kind string, check func(ctx context.Context) error, run func(ctx context.Context, c *client.Client, id int, given []string) error) RunE {
	return func(cmd *cobra.Command, given []string) error {
		id, err := args.ID(kind, given[0])
		if err == nil {
			err = check(cmd.Context())
		}
		if err != nil {
			return err
		}
		return Call(a, func(ctx context.Context, c *client.Client, given []string) error { return run(ctx, c, id, given) })(cmd, given)
	}
}

// ForEach is a Call that changes several objects, whose numbers are the arguments; noun is their kind without an
// article, such as "trial". It prints a line for each changed object, and stops at the first error, which names the
// object if there are several.
func ForEach[Resp any](a *App, noun, done string, change v1.Endpoint[v1.None, Resp]) RunE {
	return ForEachTold(a, noun, func(c *client.Client, ctx context.Context, id int) (string, error) {
		return fmt.Sprintf("%s %s %d", done, noun, id), client.Act(ctx, c, change, id)
	})
}

// ForEachTold is ForEach with the line that change returns.
func ForEachTold(a *App, noun string, change func(c *client.Client, ctx context.Context, id int) (line string, err error)) RunE {
	kind := "a " + noun
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		kind = "an " + noun
	}
	return func(cmd *cobra.Command, given []string) error {
		ids, err := args.IDs(kind, given)
		if err != nil {
			return err
		}
		return Call(a, func(ctx context.Context, c *client.Client, _ []string) error {
			for _, id := range ids {
				line, err := change(c, ctx, id)
				if err != nil && len(ids) > 1 {
					return fmt.Errorf("%s %d: %w", noun, id, err)
				} else if err != nil {
					return err
				}
				a.Printf("%s\n", line)
			}
			return nil
		})(cmd, given)
	}
}

// Agreed asks the user a question. If the answer is no, it prints the text otherwise, and returns an error.
func (a *App) Agreed(ctx context.Context, question, otherwise string) error {
	yes, err := a.IO.Confirm(ctx, question)
	if err != nil || yes {
		return err
	}
	a.Printf("%s\n", otherwise)
	return exit.Status(exit.Failed)
}

// Say prints what a verb has done, unless err says that it has failed, and returns err.
func (a *App) Say(err error, format string, args ...any) error {
	if err == nil {
		a.Printf(format, args...)
	}
	return err
}

// SayDone is Say with Done.
func (a *App) SayDone(err error, format string, args ...any) error {
	if err == nil {
		a.Done(format, args...)
	}
	return err
}

// Done prints what has been done.
func (a *App) Done(format string, args ...any) {
	a.Printf("%s\n", a.IO.OutStyle().Green(fmt.Sprintf(format, args...)))
}
