package tasks

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/master/client"
)

// NewKill returns the command det <noun> kill.
func NewKill(a *app.App, k Kind) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:               "kill " + k.placeholder() + "...",
		Short:             "end a " + k.Noun + " at once",
		Args:              args.AtLeastOne(k.ID()),
		ValidArgsFunction: k.Complete(a),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			return k.kill(ctx, a, c, given, force)
		}),
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "continue with the other tasks if one cannot be killed")
	return cmd
}

func (k Kind) kill(ctx context.Context, a *app.App, c *client.Client, given []string, force bool) error {
	ids, err := k.Expand(ctx, c, given)
	if err != nil {
		return err
	}
	var failed error
	for _, id := range ids {
		item, _, _ := k.Get(ctx, c, id) // an error is that of the kill, too
		over := item.Over()
		if err := k.Kill(ctx, c, id); err != nil {
			err = fmt.Errorf("%s %s was not killed: %w", k.Noun, id, err)
			if !force {
				return err
			}
			failed = errors.Join(failed, err)
			continue
		}
		a.Done("%s", k.killed(id, over))
	}
	return failed
}

func (k Kind) killed(id string, over bool) string {
	if over {
		return fmt.Sprintf("The %s %s had ended already", k.Noun, id)
	}
	return fmt.Sprintf("Killed %s %s", k.Noun, id)
}

// NewSet returns the command det <noun> set.
func NewSet(a *app.App, k Kind) *cobra.Command {
	return noun.New("set", "change a "+k.Noun, nil, nil, &cobra.Command{
		Use:               "priority " + k.placeholder() + " PRIORITY",
		Short:             "set the priority of a " + k.Noun,
		Args:              args.Exactly(k.ID(), "a priority"),
		ValidArgsFunction: k.Complete(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			n, err := args.ID("a priority", given[1])
			if err != nil {
				return args.Wrong(cmd, "the priority %q is not a whole number from 1", given[1])
			}
			return k.on(a, func(ctx context.Context, c *client.Client, id string, _ []string) error {
				return a.SayDone(k.Prioritize(ctx, c, id, n), "Set priority of %s %s to %d", k.Noun, id, n)
			})(cmd, given)
		},
	})
}
