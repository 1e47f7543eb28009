package store

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/workspaces"
)

// TestMovesHoldTheProject: what comes into a project was checked for the workspace in which the project is then, also if the project moves
// at the same moment.
func TestMovesHoldTheProject(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	lenient := w.int(`INSERT INTO workspaces (name, owner_id) VALUES ('lenient', 1) RETURNING id`)
	strict := w.int(`INSERT INTO workspaces (name, owner_id) VALUES ('strict', 1) RETURNING id`)
	id := w.int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, 'p', 'PPPPP', 1) RETURNING id`, lenient)
	exp := w.int(`INSERT INTO experiments (owner_id, project_id, config, original_config, seed, name, desired, pool, slots_per_trial)
		SELECT 1, 1, '{}', '', 1, 'test', 'active', 'default', 1 RETURNING id`)
	p, err := workspaces.ProjectByID(ctx, w.db.DB, id)
	if err != nil {
		t.Fatal(err)
	}
	var checked []int // experiments, when the project moves
	strictly := func(context.Context, *DB, workspaces.Workspace) (func(MovingExperiment) error, error) {
		return func(e MovingExperiment) error { checked = append(checked, e.ID); return nil }, nil
	}
	moved := make(chan error, 1)
	err = w.db.MoveExperiment(ctx, exp, p, func(_ context.Context, _ *DB, to workspaces.Workspace) (func(MovingExperiment) error, error) {
		if to.Name != "lenient" {
			t.Errorf("the policies of %s are asked", to.Name)
		}
		go func() { moved <- w.db.MoveProject(ctx, p, strict, strictly) }()
		waitBlocked(t, w)
		return nil, nil
	})
	if err := errors.Join(err, <-moved); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(checked, []int{exp}) {
		t.Errorf("the policies of the strict workspace are asked about %v", checked)
	}
	none := func(context.Context, *DB, workspaces.Workspace) (func(MovingExperiment) error, error) {
		return nil, nil
	}
	for what, err := range map[string]error{
		"a move of an experiment": w.db.MoveExperiment(ctx, exp, p, none),
		"a move of the project":   w.db.MoveProject(ctx, p, lenient, none),
		"a submission":            errOf(w.db.CreateExperiment(ctx, NewExperiment{OwnerID: 1, ProjectID: p.ID, WorkspaceID: lenient, Config: []byte(`{}`), Name: "n", Pool: "default", Weight: 1, Priority: 42})),
	} {
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("%s that was checked for the workspace before: %v", what, err)
		}
	}
}
func errOf[T any](_ T, err error) error { return err }
