// Package tasks has the common parts of det command, notebook, shell and tensorboard. To the
// cluster they are tasks of one attempt; to users they are nouns with the same verbs.
//
// A Kind has the requests for one noun. The verbs that are the same for all kinds use it: list,
// describe, config, logs, kill, set priority (list.go, look.go, change.go). launch.go has the
// flags of a start, and await.go waits until a task is ready.
package tasks

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// An Item is a task of any kind.
type Item struct {
	ID          string
	Username    string
	Description string
	State       v1.TaskState
	ExitStatus  string // "" while it runs
	Pool        string
	WorkspaceID int
	StartTime   time.Time
	Extra       []any  // cells of columns that only this kind has
	Address     string // path of its pages on the master; "" for none
	Message     any    // message of the API
}

// A Kind is a noun with its requests to the master.
type Kind struct {
	Noun       string // notebook
	Nouns      string // notebooks
	Columns    []string
	List       func(ctx context.Context, c *client.Client, q v1.GetCommandsRequest) ([]Item, error)
	Get        func(ctx context.Context, c *client.Client, id string) (Item, v1.Struct, error)
	Kill       func(ctx context.Context, c *client.Client, id string) error
	Prioritize func(ctx context.Context, c *client.Client, id string, priority int) error
}

// ID is the name of the argument in messages.
func (k Kind) ID() string { return "the ID of a " + k.Noun + ", or its beginning" }

// placeholder is the name of the argument in usage lines.
func (k Kind) placeholder() string { return strings.ToUpper(k.Noun) + "_ID" }

// Complete completes IDs.
func (k Kind) Complete(a *app.App) complete.Func {
	return complete.Listed(a, func(ctx context.Context, c *client.Client) ([]string, error) {
		items, err := k.List(ctx, c, v1.GetCommandsRequest{})
		return each.Of(items, func(i Item) string { return i.ID + "\t" + i.Description }), err
	})
}

// whole reports whether an ID is complete: a UUID, for tasks of experiments with the
// experiment's number before it.
func whole(id string) bool {
	if number, rest, ok := strings.Cut(id, "."); ok && number != "" {
		id = rest
	}
	return len(id) == 36 && uuid.Validate(id) == nil
}

// Expand completes IDs of which only the beginning was given. It does not look up complete IDs.
func (k Kind) Expand(ctx context.Context, c *client.Client, given []string) ([]string, error) {
	ids := make([]string, len(given))
	var known []string
	for i, g := range given {
		if whole(g) {
			ids[i] = g
			continue
		}
		if known == nil {
			items, err := k.List(ctx, c, v1.GetCommandsRequest{})
			if err != nil {
				return nil, err
			}
			known = each.Of(items, func(i Item) string { return i.ID })
		}
		id, err := k.match(known, g)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

func (k Kind) match(known []string, prefix string) (string, error) {
	found := ""
	for _, id := range known {
		switch {
		case id == prefix:
			return id, nil
		case !strings.HasPrefix(id, prefix):
		case found != "":
			return "", fault.New(fault.Invalid, "the IDs of several %s begin with %q; give more characters", k.Nouns, prefix)
		default:
			found = id
		}
	}
	if found == "" {
		return "", fault.New(fault.NotFound, "no %s has an ID that begins with %q", k.Noun, prefix)
	}
	return found, nil
}

// one returns the ID of which given may be the beginning.
func (k Kind) one(c *client.Client, ctx context.Context, given string) (string, error) {
	ids, err := k.Expand(ctx, c, []string{given})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// on is a call about the task whose ID, or its beginning, is the first argument.
func (k Kind) on(a *app.App, run func(ctx context.Context, c *client.Client, id string, given []string) error) app.RunE {
	return app.Find(a, k.one, run)
}

// List is the List of a Kind; items has the tasks of a response.
func List[Resp any](e v1.Endpoint[v1.GetCommandsRequest, Resp], items func(*Resp) []Item) func(context.Context, *client.Client, v1.GetCommandsRequest) ([]Item, error) {
	return func(ctx context.Context, c *client.Client, q v1.GetCommandsRequest) ([]Item, error) {
		resp, err := client.Send(ctx, c, e, q)
		return items(resp), err
	}
}

// Get is the Get of a Kind; item has the task of a response, and its configuration.
func Get[Resp any](e v1.Endpoint[v1.None, Resp], item func(*Resp) (Item, v1.Struct)) func(context.Context, *client.Client, string) (Item, v1.Struct, error) {
	return func(ctx context.Context, c *client.Client, id string) (Item, v1.Struct, error) {
		resp, err := client.Call(ctx, c, e, id)
		task, config := item(resp)
		return task, config, err
	}
}

// Kill is the Kill of a Kind.
func Kill[Resp any](e v1.Endpoint[v1.None, Resp]) func(context.Context, *client.Client, string) error {
	return func(ctx context.Context, c *client.Client, id string) error { return client.Act(ctx, c, e, id) }
}

// Prioritize is the Prioritize of a Kind.
func Prioritize[Resp any](e v1.Endpoint[v1.PriorityRequest, Resp]) func(context.Context, *client.Client, string, int) error {
	return func(ctx context.Context, c *client.Client, id string, priority int) error {
		_, err := client.Send(ctx, c, e, v1.PriorityRequest{Priority: priority}, id)
		return err
	}
}

// Over reports whether a task has ended.
func (i Item) Over() bool { return i.State == v1.TaskStateTerminated }
