package experiments

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// A TrialSource says which checkpoint a trial works with, perhaps as a version of a model.
type TrialSource struct {
	TrialID int
	UUID    string
	Kind    string // INFERENCE or FINE_TUNING
	ModelID *int
	Version *int
}

// SetTrialSource stores what a trial works with. A later report about the same checkpoint
// replaces an earlier one.
func SetTrialSource(ctx context.Context, db *database.DB, s TrialSource) error {
	err := db.Exec(ctx, `INSERT INTO trial_sources (trial_id, checkpoint, kind, model_id, version) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (trial_id, checkpoint) DO UPDATE SET kind = excluded.kind, model_id = excluded.model_id, version = excluded.version`,
		s.TrialID, s.UUID, s.Kind, s.ModelID, s.Version)
	return database.BadData(err)
}

// TrialsWith lists the trials that said that they work with a checkpoint, or with a version of
// a model. Zero values of the source choose all.
func TrialsWith(ctx context.Context, db *database.DB, in auth.Scope, s TrialSource) ([]int, error) {
	var c database.Conditions
	c.When(!in.All, "k.workspace_id = ANY(@scope::int[])", "scope", in.Only())
	c.When(s.UUID != "", "x.checkpoint = @uuid::text::uuid", "uuid", s.UUID)
	c.When(s.Kind != "", "x.kind = @kind", "kind", s.Kind)
	c.When(s.ModelID != nil, "x.model_id = @model", "model", s.ModelID)
	c.When(s.Version != nil, "x.version = @version", "version", s.Version)
	return database.Scalars[int](ctx, db, `SELECT DISTINCT x.trial_id FROM trial_sources x JOIN trials t ON t.id = x.trial_id JOIN tasks k ON k.id = t.task_id`+
		c.Where()+` ORDER BY x.trial_id`, c.Args)
}
