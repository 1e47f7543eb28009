package experiments

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/workspaces"
)

// TestMovesHoldTheProject: what comes into a project was checked for the workspace in which the project is then, also if the project moves
// at the same moment.
func TestMovesHoldTheProject(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	lenient := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('lenient', 1) RETURNING id`)
	strict := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('strict', 1) RETURNING id`)
	id := w.Int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, 'p', 'PPPPP', 1) RETURNING id`, lenient)
	exp := w.Int(`INSERT INTO experiments (owner_id, project_id, config, original_config, seed, name, desired, pool, slots_per_trial)
		SELECT 1, 1, '{}', '', 1, 'test', 'active', 'default', 1 RETURNING id`)
	p, err := workspaces.ProjectByID(ctx, w.DB, id)
	if err != nil {
		t.Fatal(err)
	}
	var checked []int // experiments, when the project moves
	strictly := func(context.Context, *database.DB, workspaces.Workspace) (func(Moving) error, error) {
		return func(e Moving) error { checked = append(checked, e.ID); return nil }, nil
	}
	moved := make(chan error, 1)
	err = Move(ctx, w.DB, exp, p, func(_ context.Context, _ *database.DB, to workspaces.Workspace) (func(Moving) error, error) {
		if to.Name != "lenient" {
			t.Errorf("the policies of %s are asked", to.Name)
		}
		go func() { moved <- MoveProject(ctx, w.DB, p, strict, strictly) }()
		w.WaitBlocked(1)
		return nil, nil
	})
	if err := errors.Join(err, <-moved); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(checked, []int{exp}) {
		t.Errorf("the policies of the strict workspace are asked about %v", checked)
	}
	none := func(context.Context, *database.DB, workspaces.Workspace) (func(Moving) error, error) {
		return nil, nil
	}
	for what, err := range map[string]error{
		"a move of an experiment": Move(ctx, w.DB, exp, p, none),
		"a move of the project":   MoveProject(ctx, w.DB, p, lenient, none),
		"a submission":            errOf(Create(ctx, w.DB, nil, New{OwnerID: 1, ProjectID: p.ID, WorkspaceID: lenient, Config: []byte(`{}`), Name: "n", Pool: "default", Weight: 1, Priority: 42})),
	} {
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("%s that was checked for the workspace before: %v", what, err)
		}
	}
}
func errOf[T any](_ T, err error) error { return err }
