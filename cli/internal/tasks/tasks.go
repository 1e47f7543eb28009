// Package tasks is what det command, notebook, shell and tensorboard have in
// common. To the cluster they are tasks of one attempt; to users they are nouns
// with the same verbs.
//
// A Kind says how to ask the master about one noun. From it come the verbs that
// differ in nothing else: list, describe, config, logs, kill, set priority
// (list.go, look.go, change.go). launch.go has the flags of starting one, and
// await.go waits until it can be used.
package tasks

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
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
	Extra       []any  // cells of the kind's own columns
	Address     string // path of its pages on the master; "" where it has none
	Message     any    // of the wire
}

// A Kind is a noun and how the master is asked about it.
type Kind struct {
	Noun    string // notebook
	Nouns   string // notebooks
	Columns []string
	List    func(ctx context.Context, c *client.Client, q client.CommandQuery) ([]Item, error)
	Get     func(ctx context.Context, c *client.Client, id string) (Item, v1.Struct, error)
	Kill    func(c *client.Client) func(ctx context.Context, id string) error
	Rank    func(c *client.Client) func(ctx context.Context, id string, priority int) error
}

// ID is what the argument is called in messages.
func (k Kind) ID() string { return "the ID of a " + k.Noun + ", or its beginning" }

// placeholder stands for the argument in usage lines.
func (k Kind) placeholder() string { return strings.ToUpper(k.Noun) + "_ID" }

// Complete fills in IDs.
func (k Kind) Complete(a *app.App) complete.Func {
	return complete.Listed(a, func(ctx context.Context, c *client.Client) ([]string, error) {
		items, err := k.List(ctx, c, client.CommandQuery{})
		out := make([]string, len(items))
		for i, item := range items {
			out[i] = item.ID + "\t" + item.Description
		}
		return out, err
	})
}

// whole says whether an ID is complete: a UUID, of tasks of experiments with the
// experiment's number before it.
func whole(id string) bool {
	if number, rest, ok := strings.Cut(id, "."); ok && number != "" {
		id = rest
	}
	return len(id) == 36 && uuid.Validate(id) == nil
}

// Expand completes IDs that were given by their beginning. What is whole is not
// looked up.
func (k Kind) Expand(ctx context.Context, c *client.Client, given []string) ([]string, error) {
	ids := make([]string, len(given))
	var known []string
	for i, g := range given {
		if whole(g) {
			ids[i] = g
			continue
		}
		if known == nil {
			items, err := k.List(ctx, c, client.CommandQuery{})
			if err != nil {
				return nil, err
			}
			known = []string{}
			for _, item := range items {
				known = append(known, item.ID)
			}
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

// Find completes one ID, signed in.
func (k Kind) Find(ctx context.Context, a *app.App, given string) (*client.Client, string, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, "", err
	}
	ids, err := k.Expand(ctx, c, []string{given})
	if err != nil {
		return nil, "", err
	}
	return c, ids[0], nil
}

// Items makes the List of a Kind out of what the client answers.
func Items[M any](item func(M) Item) func([]M, error) ([]Item, error) {
	return func(list []M, err error) ([]Item, error) {
		items := make([]Item, len(list))
		for i, m := range list {
			items[i] = item(m)
		}
		return items, err
	}
}

// Over says whether a task has ended.
func (i Item) Over() bool { return i.State == v1.TaskStateTerminated }
