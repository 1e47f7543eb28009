package experiments

import (
	"context"
	"fmt"
	"slices"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/workspaces"
)

// A Moving has what decides whether an experiment may move to another workspace.
type Moving struct {
	ID            int      `db:"id"`
	Pool          string   `db:"pool"`
	SlotsPerTrial int      `db:"slots_per_trial"`
	MaxSlots      *int     `db:"max_slots"`
	Priority      int      `db:"priority"`
	Weight        float64  `db:"weight"`
	Secrets       []string `db:"secrets"` // that it mounts
	Config        []byte   `db:"config"`
}

// A MoveCheck reads the policies of the workspace to which experiments move, in the transaction of the move. The function that it returns says
// why an experiment may not come there; nil: all may. Every move needs one, so that no route can leave it out.
type MoveCheck func(ctx context.Context, tx *database.DB, to workspaces.Workspace) (func(Moving) error, error)

// movesAtOnce is the number of experiments that a move reads at once: each has its configuration.
const movesAtOnce = 16

// Move moves an experiment with its tasks to another project.
func Move(ctx context.Context, db *database.DB, id int, to workspaces.Project, check MoveCheck) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := holdProject(ctx, tx, to.ID, to.WorkspaceID); err != nil {
			return err
		}
		if err := mayMove(ctx, tx, []int{id}, 0, to.WorkspaceID, check); err != nil {
			return err
		}
		if err := tx.Change(ctx, NotFound(id), `UPDATE experiments SET project_id = $2 WHERE id = $1`, id, to.ID); err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE tasks SET workspace_id = $2 WHERE experiment_id = $1`, id, to.WorkspaceID)
	})
}

// MoveProject moves a project with its experiments and tasks to another workspace.
func MoveProject(ctx context.Context, db *database.DB, p workspaces.Project, workspace int, check MoveCheck) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		id := p.ID
		if err := workspaces.Lock(ctx, tx, workspace); err != nil {
			return err
		}
		if _, err := lockProject(ctx, tx, id, p.WorkspaceID, "FOR NO KEY UPDATE"); err != nil {
			return err
		}
		if err := mayMove(ctx, tx, nil, id, workspace, check); err != nil {
			return err
		}
		fixed := fault.New(fault.Conflict, "project %d is built in or being deleted, and cannot be moved", id)
		if err := tx.Change(ctx, fixed, `UPDATE projects SET workspace_id = $2 WHERE id = $1 AND NOT immutable AND deleting_at IS NULL`, id, workspace); err != nil {
			return database.Taken(err, fault.New(fault.Conflict, "workspace %d already has a project of that name", workspace))
		}
		return tx.Exec(ctx, `UPDATE tasks SET workspace_id = $2 WHERE experiment_id IN (SELECT e.id FROM experiments e WHERE e.project_id = $1)`, id, workspace)
	})
}

// holdProject keeps a project open and in its workspace until the end of the transaction, for what comes into it. It fails if the project
// has moved since the caller read it, because then rights and policies were those of another workspace; and if it was archived, which its
// deletion begins with: the deletion would end and remove what comes.
func holdProject(ctx context.Context, db *database.DB, id, workspace int) error {
	p, err := lockProject(ctx, db, id, workspace, "FOR SHARE")
	if err == nil && p.Archived {
		err = fault.New(fault.Conflict, "project %q is archived; unarchive it first", p.Name)
	}
	return err
}

// A lockedProject is a project that does not change before the transaction ends.
type lockedProject struct {
	Name        string `db:"name"`
	WorkspaceID int    `db:"workspace_id"`
	Archived    bool   `db:"archived"` // it or its workspace
}

// lockProject locks a project and, before it, its workspace, as deletions do.
func lockProject(ctx context.Context, db *database.DB, id, workspace int, lock string) (lockedProject, error) {
	archived, err := database.Scalars[bool](ctx, db, `SELECT archived FROM workspaces WHERE id = $1 FOR SHARE`, workspace)
	if err != nil {
		return lockedProject{}, err
	}
	p, err := database.Row[lockedProject](ctx, db, fmt.Sprintf("project %d", id), `SELECT name, workspace_id, archived FROM projects WHERE id = $1 `+lock, id)
	if err == nil && p.WorkspaceID != workspace {
		err = fault.New(fault.Conflict, "project %d has just been moved to another workspace; try again", id)
	}
	p.Archived = p.Archived || slices.Contains(archived, true)
	return p, err
}

// mayMove returns why the first of the named experiments, or of those of the project if that is not 0, that may not come to a workspace may
// not: its pool is bound to other workspaces, or the policies there do not allow what it has. What has ended may move.
func mayMove(ctx context.Context, db *database.DB, ids []int, project, workspace int, check MoveCheck) error {
	to, err := workspaces.Get(ctx, db, workspace)
	if err != nil {
		return err
	}
	closed, err := ClosedExperiments(ctx, db, ids, project, workspace)
	if err != nil {
		return err
	}
	for _, e := range closed {
		return fault.New(fault.Invalid, "experiment %d cannot move to workspace %q: pool %s, in which it is, is bound to other workspaces; change its pool first", e.ID, fault.Clip(to.Name), e.Pool)
	}
	admit, err := check(ctx, db, to)
	if err != nil || admit == nil {
		return err
	}
	for last := 0; ; {
		list, err := movingExperiments(ctx, db, ids, project, workspace, last)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := admit(e); err != nil {
				return fault.New(fault.CodeOf(err), "experiment %d cannot move to workspace %q: %w", e.ID, fault.Clip(to.Name), err)
			}
			last = e.ID
		}
		if len(list) < movesAtOnce {
			return nil
		}
	}
}

// movingExperiments reads the next experiments after one that have not ended and are in another workspace. They cannot change until the
// move ends.
func movingExperiments(ctx context.Context, db *database.DB, ids []int, project, workspace, after int) ([]Moving, error) {
	return database.Rows[Moving](ctx, db, `
		SELECT e.id, e.pool, e.slots_per_trial, e.max_slots, e.priority, e.weight, e.config,
			ARRAY(SELECT jsonb_array_elements_text(jsonb_path_query_array(e.config, '$.environment.secrets[*].name'))) AS secrets
		FROM experiments e JOIN projects p ON p.id = e.project_id
		WHERE (e.id = ANY($1) OR e.project_id = $2) AND e.ended_at IS NULL AND NOT e.unmanaged AND p.workspace_id <> $3 AND e.id > $4
		ORDER BY e.id LIMIT $5 FOR NO KEY UPDATE OF e`, ids, project, workspace, after, movesAtOnce)
}

// A ClosedExperiment has not ended, and its pool is not open to its workspace, or to the one that
// it is to be in.
type ClosedExperiment struct {
	ID   int    `db:"id"`
	Pool string `db:"pool"`
}

// ClosedExperiments finds those of the named experiments, or of the project if that is not 0, whose
// pools are not open to a workspace; 0 is the workspace of each.
func ClosedExperiments(ctx context.Context, db *database.DB, ids []int, project, workspace int) ([]ClosedExperiment, error) {
	return database.Rows[ClosedExperiment](ctx, db, `
		SELECT e.id, e.pool FROM experiments e JOIN projects p ON p.id = e.project_id
		WHERE (e.id = ANY($1) OR e.project_id = $2) AND e.ended_at IS NULL AND NOT e.unmanaged
			AND EXISTS (SELECT FROM pool_bindings b WHERE b.pool = e.pool)
			AND NOT EXISTS (SELECT FROM pool_bindings b WHERE b.pool = e.pool AND b.workspace_id = CASE WHEN $3 = 0 THEN p.workspace_id ELSE $3 END)
		ORDER BY e.id LIMIT 10000`, ids, project, workspace)
}
