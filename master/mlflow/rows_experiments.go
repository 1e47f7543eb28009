package mlflow

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/workspaces"
)

// experimentRow is what MLflow's interface adds to a project.
type experimentRow struct {
	ID        int       `db:"id"`
	CreatedAt time.Time `db:"created_at"`
	Tags      []byte    `db:"mlflow_tags"`
}

// experimentsByID reads experiments in the order of their ids.
func experimentsByID(ctx context.Context, db *database.DB, ids []int) ([]Experiment, error) {
	rows, err := database.Rows[experimentRow](ctx, db, `SELECT p.id, p.created_at, p.mlflow_tags FROM unnest($1::int[]) WITH ORDINALITY AS o(id, place)
		JOIN projects p ON p.id = o.id ORDER BY o.place`, ids)
	if err != nil {
		return nil, err
	}
	projects, err := workspaces.ProjectsByID(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	byID := each.Keyed(projects, func(p workspaces.Project) int { return p.ID })
	list := make([]Experiment, 0, len(rows))
	for _, r := range rows {
		e := Experiment{Project: byID[r.ID], CreatedAt: r.CreatedAt}
		if err := json.Unmarshal(r.Tags, &e.Tags); err != nil {
			return nil, err
		}
		if e.ID != 0 { // it was not deleted meanwhile
			list = append(list, e)
		}
	}
	return list, nil
}

func experimentByID(ctx context.Context, db *database.DB, id int) (Experiment, error) {
	list, err := experimentsByID(ctx, db, []int{id})
	if err == nil && len(list) == 0 {
		err = fault.New(fault.NotFound, "No Experiment with id=%d exists", id)
	}
	if err != nil {
		return Experiment{}, err
	}
	return list[0], nil
}

// inScope is SQL for the workspaces that a caller sees.
const inScope = `($1::boolean OR p.workspace_id = ANY($2::int[]))`

// experimentsNamed finds the experiments that a name may mean, that of the workspace Home first.
func experimentsNamed(ctx context.Context, db *database.DB, in auth.Scope, name string) ([]Experiment, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return nil, nil
	}
	ids, err := database.Scalars[int](ctx, db, `SELECT p.id FROM projects p JOIN workspaces w ON w.id = p.workspace_id
		WHERE `+inScope+` AND p.deleting_at IS NULL AND (p.name = $3 OR w.name || '/' || p.name = $3)
		ORDER BY (w.name = $4 AND p.name = $3) DESC, (w.name || '/' || p.name = $3) DESC, p.id LIMIT 3`, in.All, in.Only(), name, Home)
	if err != nil {
		return nil, err
	}
	list, err := experimentsByID(ctx, db, ids)
	if err == nil && len(list) > 1 && list[0].WorkspaceName+"/"+list[0].Name == name {
		list = list[:1]
	}
	return list, err
}

func workspaceNamed(ctx context.Context, db *database.DB, in auth.Scope, name string) (workspaces.Workspace, error) {
	list, err := workspaces.List(ctx, db, in, workspaces.Filter{Exact: name}, 0, 1)
	if err == nil && len(list) == 0 {
		err = workspaces.NoWorkspace(name)
	}
	if err != nil {
		return workspaces.Workspace{}, err
	}
	return list[0], nil
}

// Bounds of the tags of an experiment.
const (
	maxExperimentTags  = 200
	maxExperimentBytes = 256 << 10
)

// changeTags sets tags of an experiment, and removes others.
func changeTags(ctx context.Context, db *database.DB, id int, set map[string]string, drop []string) error {
	b, err := json.Marshal(set)
	if err != nil {
		return err
	}
	if set == nil {
		b = []byte("{}")
	}
	return db.Tx(ctx, func(tx *database.DB) error {
		full, err := database.Scalar[bool](ctx, tx, `UPDATE projects SET mlflow_tags = (mlflow_tags || $2::text::jsonb) - $3::text[] WHERE id = $1
			RETURNING (SELECT count(*) FROM jsonb_object_keys(mlflow_tags)) > $4 OR octet_length(mlflow_tags::text) > $5`, id, string(b), append([]string{}, drop...), maxExperimentTags, maxExperimentBytes)
		if err == nil && full {
			err = fault.New(fault.Invalid, "experiment %d has more than %d tags, or more than %d KB of them", id, maxExperimentTags, maxExperimentBytes>>10)
		}
		return database.BadData(err)
	})
}
