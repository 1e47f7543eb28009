package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/models"
)

// Deletions of workspaces and projects with everything in them. A request marks the row;
// masters then carry the deletion out in steps (CarryOutDeletions): kill what runs, delete
// the experiments as if somebody had deleted each, and last remove the row itself.

// Bounds of one step, so that a step of a large workspace is short.
const (
	maxDeletionsAtOnce = 100  // of projects, and of workspaces
	maxRowsAtOnce      = 1000 // experiments or tasks of each
)

// beginDeletion marks workspaces or projects. Nothing new begins in what is archived.
const beginDeletion = ` SET deleting_at = coalesce(deleting_at, now()), delete_error = '', archived = true WHERE NOT immutable`

// DeleteWorkspace begins the deletion of a workspace with everything in it. done reports that the
// workspace is deleted, because it had no experiments and no running tasks.
func DeleteWorkspace(ctx context.Context, db *database.DB, id int) (done bool, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Change(ctx, fault.New(fault.Conflict, "workspace %d is built in and cannot be deleted", id), `UPDATE workspaces`+beginDeletion+` AND id = $1`, id); err != nil {
			return err
		}
		if err := models.NoneIn(ctx, tx, id); err != nil { // after the UPDATE, from which on no model comes into it
			return err
		}
		projects, err := database.Scalars[int](ctx, tx, `UPDATE projects`+beginDeletion+` AND workspace_id = $1 RETURNING id`, id)
		if err != nil {
			return err
		}
		if err := retryDeletions(ctx, tx, projects); err != nil {
			return err
		}
		for _, sql := range []string{`DELETE FROM templates WHERE workspace_id = $1`, `DELETE FROM projects p WHERE p.workspace_id = $1 AND ` + withoutExperiments} {
			if err := tx.Exec(ctx, sql, id); err != nil {
				return err
			}
		}
		done, err = deleteWorkspaceFurther(ctx, tx, id)
		return err
	})
	return done, err
}

// DeleteProject begins the deletion of a project with its experiments. done reports that the
// project is deleted, because it had no experiments.
func DeleteProject(ctx context.Context, db *database.DB, id int) (done bool, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Change(ctx, fault.New(fault.Conflict, "project %d is built in and cannot be deleted", id), `UPDATE projects`+beginDeletion+` AND id = $1`, id); err != nil {
			return err
		}
		if err := retryDeletions(ctx, tx, []int{id}); err != nil {
			return err
		}
		done, err = deleteProjectFurther(ctx, tx, id)
		return err
	})
	return done, err
}

// retryDeletions asks once more for the deletion of experiments whose deletion failed before.
func retryDeletions(ctx context.Context, db *database.DB, projects []int) error {
	rule := actions[Delete]
	return db.Exec(ctx, `UPDATE experiments SET `+rule.set+` WHERE project_id = ANY($1) AND state = 'DELETE_FAILED' AND `+rule.where, projects)
}

// deletedFor is how long a task of a deleted workspace is shown by its id.
const deletedFor = 24 * time.Hour

// deleteTasksOfWorkspaces deletes the tasks of workspaces that were deleted that long ago.
func deleteTasksOfWorkspaces(ctx context.Context, db *database.DB) error {
	return db.Exec(ctx, `DELETE FROM tasks WHERE id IN (SELECT id FROM tasks
		WHERE workspace_id IS NULL AND ended_at < now() - $1::interval ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED)`, deletedFor, maxRowsAtOnce)
}

// CarryOutDeletions takes deletions of workspaces and projects a step further; which ones
// is left to chance, so that no slow one keeps others waiting. Any number of masters may do it.
func CarryOutDeletions(ctx context.Context, db *database.DB) error {
	var errs []error
	type object struct {
		Kind string `db:"kind"`
		ID   int    `db:"id"`
	}
	list, err := database.Rows[object](ctx, db, `
		(SELECT 'project' AS kind, id FROM projects WHERE deleting_at IS NOT NULL ORDER BY random() LIMIT $1) UNION ALL
		(SELECT 'workspace', id FROM workspaces WHERE deleting_at IS NOT NULL ORDER BY random() LIMIT $1)`, maxDeletionsAtOnce)
	errs = append(errs, err, deleteTasksOfWorkspaces(ctx, db))
	for _, o := range list {
		err := db.Tx(ctx, func(tx *database.DB) (err error) {
			if o.Kind == "project" {
				_, err = deleteProjectFurther(ctx, tx, o.ID)
			} else {
				_, err = deleteWorkspaceFurther(ctx, tx, o.ID)
			}
			return err
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("deleting %s %d: %w", o.Kind, o.ID, err))
		}
	}
	return errors.Join(errs...)
}

// withoutExperiments is true of a project p that has none.
const withoutExperiments = `NOT EXISTS (SELECT FROM experiments e WHERE e.project_id = p.id)`

// deleteProjectFurther does the next step of a project's deletion: it kills live experiments,
// deletes ended ones, and deletes a project without experiments. If the files of an experiment
// could not be removed, it ends the deletion, with the reason.
func deleteProjectFurther(ctx context.Context, db *database.DB, id int) (done bool, err error) {
	failed, err := database.Scalars[string](ctx, db, `SELECT format('experiment %s could not be deleted: %s', id, error) FROM experiments
		WHERE project_id = $1 AND state = 'DELETE_FAILED' AND desired = 'deleted' AND delete_requests = delete_failed ORDER BY id LIMIT 1`, id)
	if err != nil {
		return false, err
	}
	if len(failed) > 0 {
		return false, giveUpDeletion(ctx, db, id, failed[0])
	}
	for _, rule := range []struct{ set, which string }{
		{actions[Kill].set, `NOT ` + isOver + ` AND desired NOT IN ('killed', 'deleted')`},
		{actions[Delete].set, isOver + ` AND desired <> 'deleted'`},
	} {
		err := db.Exec(ctx, `UPDATE experiments SET `+rule.set+` WHERE id IN (SELECT id FROM experiments
			WHERE project_id = $1 AND `+rule.which+` ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)`, id, maxRowsAtOnce)
		if err != nil {
			return false, err
		}
	}
	n, err := db.Affect(ctx, `DELETE FROM projects p WHERE p.id = $1 AND p.deleting_at IS NOT NULL AND `+withoutExperiments, id)
	return n > 0, err
}

// giveUpDeletion ends the deletion of a project, and with it that of its workspace.
func giveUpDeletion(ctx context.Context, db *database.DB, project int, reason string) error {
	// The workspace first, as whoever locks both does.
	err := db.Exec(ctx, `UPDATE workspaces SET deleting_at = NULL, delete_error = $2
		WHERE id = (SELECT workspace_id FROM projects WHERE id = $1) AND deleting_at IS NOT NULL`, project, reason)
	if err != nil {
		return err
	}
	return db.Exec(ctx, `UPDATE projects SET deleting_at = NULL, delete_error = $2 WHERE id = $1`, project, reason)
}

// deleteWorkspaceFurther takes the deletion of a workspace a step further: it kills the
// tasks that are not of experiments, and removes a workspace that has no projects and no
// running tasks. Its ended tasks stay for a day, without a workspace.
func deleteWorkspaceFurther(ctx context.Context, db *database.DB, id int) (done bool, err error) {
	if err := db.Exec(ctx, `UPDATE projects`+beginDeletion+` AND deleting_at IS NULL
		AND workspace_id = (SELECT id FROM workspaces WHERE id = $1 AND deleting_at IS NOT NULL)`, id); err != nil {
		return false, err
	}
	if err := db.Exec(ctx, `UPDATE tasks SET desired = 'kill', kill_reason = 'the workspace is being deleted'
		WHERE workspace_id = $1 AND experiment_id IS NULL AND ended_at IS NULL AND desired <> 'kill'`, id); err != nil {
		return false, err
	}
	busy, err := database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM projects WHERE workspace_id = $1)
		OR EXISTS (SELECT FROM tasks WHERE workspace_id = $1 AND experiment_id IS NULL AND ended_at IS NULL)`, id)
	if err != nil || busy {
		return false, err
	}
	n, err := db.Affect(ctx, `UPDATE tasks SET deleted_workspace_id = $1, workspace_id = NULL
		WHERE id IN (SELECT id FROM tasks WHERE workspace_id = $1 AND experiment_id IS NULL LIMIT $2)`, id, maxRowsAtOnce)
	if err != nil || n == maxRowsAtOnce {
		return false, err
	}
	n, err = db.Affect(ctx, `DELETE FROM workspaces WHERE id = $1 AND deleting_at IS NOT NULL`, id)
	return n > 0, err
}
