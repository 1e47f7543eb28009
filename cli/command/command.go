// Package command is det command: single programs run in the cluster.
package command

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

// New is det command.
func New(a *app.App) *cobra.Command {
	return noun.New("command", "run single programs in the cluster", []string{"cmd"}, newList(a),
		newRun(a), newDescribe(a), newConfig(a), newLogs(a), newKill(a), newSet(a))
}

// whole says whether an ID is complete: a UUID, of tasks of experiments with the
// experiment's number before it.
func whole(id string) bool {
	if number, rest, ok := strings.Cut(id, "."); ok && number != "" {
		id = rest
	}
	return len(id) == 36 && uuid.Validate(id) == nil
}

// expand completes IDs that were given by their beginning. What is whole is not
// looked up.
func expand(ctx context.Context, c *client.Client, given []string) ([]string, error) {
	ids := make([]string, len(given))
	var known []string
	for i, g := range given {
		if whole(g) {
			ids[i] = g
			continue
		}
		if known == nil {
			commands, err := c.Commands(ctx, client.CommandQuery{})
			if err != nil {
				return nil, err
			}
			known = []string{}
			for _, k := range commands {
				known = append(known, k.ID)
			}
		}
		id, err := match(known, g)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

func match(known []string, prefix string) (string, error) {
	found := ""
	for _, id := range known {
		switch {
		case id == prefix:
			return id, nil
		case !strings.HasPrefix(id, prefix):
		case found != "":
			return "", fault.New(fault.Invalid, "several commands have an ID that begins with %q; give more of it", prefix)
		default:
			found = id
		}
	}
	if found == "" {
		return "", fault.New(fault.NotFound, "no command has an ID that begins with %q", prefix)
	}
	return found, nil
}

func expandOne(ctx context.Context, c *client.Client, given string) (string, error) {
	ids, err := expand(ctx, c, []string{given})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}
