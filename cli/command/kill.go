package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/noun"
)

type killOptions struct {
	ids   []string
	force bool
}

func newKill(a *app.App) *cobra.Command {
	var o killOptions
	cmd := &cobra.Command{
		Use:               "kill COMMAND_ID...",
		Short:             "end a command at once",
		Args:              args.AtLeastOne("the ID of a command, or its beginning"),
		ValidArgsFunction: complete.Commands(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.ids = given
			return runKill(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "go on with the others when one cannot be killed")
	return cmd
}

func runKill(ctx context.Context, a *app.App, o killOptions) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	ids, err := expand(ctx, c, o.ids)
	if err != nil {
		return err
	}
	var failed error
	for _, id := range ids {
		if err := c.KillCommand(ctx, id); err != nil {
			err = fmt.Errorf("command %s was not killed: %w", id, err)
			if !o.force {
				return err
			}
			failed = errors.Join(failed, err)
			continue
		}
		a.Printf("%s\n", a.IO.OutStyle().Green("Killed command "+id))
	}
	return failed
}

func newSet(a *app.App) *cobra.Command {
	return noun.New("set", "change a command", nil, nil, &cobra.Command{
		Use:   "priority COMMAND_ID PRIORITY",
		Short: "set the priority of a command",
		Args:  args.Exactly("the ID of a command, or its beginning", "a priority"),
		RunE: func(cmd *cobra.Command, given []string) error {
			n, err := args.ID("a priority", given[1])
			if err != nil {
				return args.Wrong(cmd, "the priority %q is not a whole number from 1", given[1])
			}
			return runSetPriority(cmd.Context(), a, given[0], n)
		},
	})
}

func runSetPriority(ctx context.Context, a *app.App, given string, priority int) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	id, err := expandOne(ctx, c, given)
	if err != nil {
		return err
	}
	if err := c.SetCommandPriority(ctx, id, priority); err != nil {
		return err
	}
	a.Printf("%s\n", a.IO.OutStyle().Green(fmt.Sprintf("Set priority of command %s to %d", id, priority)))
	return nil
}
