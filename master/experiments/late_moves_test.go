package experiments

import (
	"context"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/workspaces"
)

func moveAll(context.Context, *database.DB, workspaces.Workspace) (func(Moving) error, error) {
	return nil, nil
}

// TestNothingComesIntoWhatIsDeleted: a move or a submission that has read its project before somebody began to delete or to archive it does
// not arrive there, where the deletion would remove it.
func TestNothingComesIntoWhatIsDeleted(t *testing.T) {
	for _, what := range []struct {
		name string
		do   func(w *world, project, workspace int) error
	}{
		{"the project is deleted", func(w *world, project, _ int) error {
			_, err := DeleteProject(t.Context(), w.DB, project)
			return err
		}},
		{"the project is archived", func(w *world, project, _ int) error {
			return workspaces.ArchiveProject(t.Context(), w.DB, project, true)
		}},
		{"the workspace is archived", func(w *world, _, workspace int) error {
			return workspaces.Archive(t.Context(), w.DB, workspace, true)
		}},
	} {
		t.Run(what.name, func(t *testing.T) {
			w := newWorld(t)
			workspace := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('there', 2) RETURNING id`)
			project := w.Int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, 'p', 'PPPPP', 1) RETURNING id`, workspace)
			insertExperiment(w, project) // so that the deletion takes a while
			mine := insertExperiment(w, 1)
			to, err := workspaces.ProjectByID(t.Context(), w.DB, project)
			if err != nil {
				t.Fatal(err)
			}
			if err := what.do(w, project, workspace); err != nil {
				t.Fatal(err)
			}
			if err := Move(t.Context(), w.DB, mine, to, moveAll); !fault.Is(err, fault.Conflict) {
				t.Errorf("an experiment moves there: %v", err)
			}
			if _, err := Create(t.Context(), w.DB, nil, New{OwnerID: 1, ProjectID: project, WorkspaceID: workspace, Config: []byte("{}"), Pool: "default", SlotsPerTrial: 1}); !fault.Is(err, fault.Conflict) {
				t.Errorf("an experiment is submitted there: %v", err)
			}
		})
	}
}

func insertExperiment(w *world, project int) int {
	return w.Int(`INSERT INTO experiments (owner_id, project_id, config, original_config, seed, name, desired, pool, slots_per_trial)
		SELECT 1, $1::int, '{}', '', 1, 'test', 'active', 'default', 1 RETURNING id`, project)
}

// TestNoProjectComesIntoADeletedWorkspace: its deletion ends when it has no projects, so none comes after the beginning. One that came in a
// version without this rule is deleted with the others.
func TestNoProjectComesIntoADeletedWorkspace(t *testing.T) {
	w := newWorld(t)
	workspace := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('gone', 2) RETURNING id`)
	old := w.Int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, 'old', 'OLD', 2) RETURNING id`, workspace)
	insertExperiment(w, old)
	id := w.Int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES (1, 'p', 'PPPPP', 1) RETURNING id`)
	p, err := workspaces.ProjectByID(t.Context(), w.DB, id)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := DeleteWorkspace(t.Context(), w.DB, workspace); err != nil || done {
		t.Fatal(done, err)
	}
	if err := MoveProject(t.Context(), w.DB, p, workspace, moveAll); !fault.Is(err, fault.Conflict) {
		t.Errorf("a project moves there: %v", err)
	}
	_, err = workspaces.CreateProject(t.Context(), w.DB, workspaces.Project{WorkspaceID: workspace, Name: "late", Key: "LATE", OwnerID: 1})
	if !fault.Is(err, fault.Conflict) || err.Error() != `workspace "gone" is archived; unarchive it first` {
		t.Errorf("a project is created there: %v", err)
	}
	w.Int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, 'late', 'LATE', 2) RETURNING id`, workspace)
	w.Exec(`DELETE FROM experiments WHERE project_id = $1`, old) // the loop has deleted them
	for range 5 {
		if err := CarryOutDeletions(t.Context(), w.DB); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.Int(`SELECT count(*)::int FROM workspaces WHERE id = $1`, workspace); n != 0 {
		t.Error("the deletion has not ended")
	}
}
