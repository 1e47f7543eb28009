package store

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// TasksOf is the owner of the calls of a user's tasks.
func TasksOf(user string) string { return "tasks of " + user }

// ForPages says for whom the proxy looks up what it found lately: the owner of a task, or the user of a cookie; empty: nobody is known.
func ForPages(ctx context.Context, owner string) context.Context {
	if owner == "" {
		return ctx
	}
	return database.ForOwner(ctx, "pages of "+owner)
}
