package workspace

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A Deletion deletes a workspace or a project with its contents.
type Deletion struct {
	Noun, Name string
	Contents   string // what is deleted with it, for the question
	Yes        bool   // do not ask
	Begin      func(context.Context) (done bool, err error)
	// Look returns the progress: the state, why the deletion failed, and the number of
	// remaining items.
	Look func(context.Context) (state v1.WorkspaceState, problem string, left int, err error)
	Left string // what Look counts
}

// deletionPause is the time between two checks of the progress.
const deletionPause = time.Second

// Run asks the user, deletes, and waits until the deletion is complete.
func (d Deletion) Run(ctx context.Context, a *app.App) error {
	if !d.Yes {
		question := "This deletes the " + d.Noun + " \"" + d.Name + "\" with " + d.Contents + ".\nIt cannot be undone; det " + d.Noun + " archive only hides it.\nDelete it?"
		if err := a.Agreed(ctx, question, "Aborting "+d.Noun+" deletion."); err != nil {
			return err
		}
	}
	done, err := d.Begin(ctx)
	if err != nil {
		return err
	}
	if done {
		a.Printf("Successfully deleted %s %s.\n", d.Noun, d.Name)
		return nil
	}
	a.Printf("Started deletion of %s %s...\n", d.Noun, d.Name)
	for shown := -1; ; {
		state, problem, left, err := d.Look(ctx)
		switch {
		case fault.Is(err, fault.NotFound):
			a.Printf("Successfully deleted %s %s.\n", d.Noun, d.Name)
			return nil
		case err != nil:
			return err
		case state == v1.WorkspaceStateDeleteFailed:
			return fault.New(fault.Conflict, "%s %s could not be deleted: %s", d.Noun, d.Name, problem)
		}
		if left != shown {
			a.Printf("Remaining %s: %d\n", d.Left, left)
			shown = left
		}
		if err := sleep.For(ctx, deletionPause); err != nil {
			return err
		}
	}
}

func newDelete(a *app.App) *cobra.Command {
	var yes bool
	cmd := verb(a, "delete NAME", "delete a workspace with everything in it", func(ctx context.Context, c *client.Client, w *v1.Workspace, given []string) error {
		return Deletion{
			Noun: "workspace", Name: given[0], Yes: yes, Left: "projects",
			Contents: "all its projects, experiments, checkpoints, templates and running tasks",
			Begin: func(ctx context.Context) (bool, error) {
				resp, err := client.Call(ctx, c, v1.DeleteWorkspace, w.ID)
				return resp.Completed, err
			},
			Look: func(ctx context.Context) (v1.WorkspaceState, string, int, error) {
				now, err := client.Call(ctx, c, v1.GetWorkspace, w.ID)
				return now.Workspace.State, now.Workspace.ErrorMessage, now.Workspace.NumProjects, err
			},
		}.Run(ctx, a)
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func newArchive(a *app.App, archived bool) *cobra.Command {
	change, use, short, done := v1.ArchiveWorkspace, "archive NAME", "hide a workspace, and refuse new work in it", "archived"
	if !archived {
		change, use, short, done = v1.UnarchiveWorkspace, "unarchive NAME", "show a workspace again, and accept work in it", "un-archived"
	}
	return verb(a, use, short, func(ctx context.Context, c *client.Client, w *v1.Workspace, given []string) error {
		return a.Say(client.Act(ctx, c, change, w.ID), "Successfully %s workspace %s.\n", done, given[0])
	})
}
