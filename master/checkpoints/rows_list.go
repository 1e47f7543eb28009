package checkpoints

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf/objectives"
	"github.com/detent-ml/detent/master/trial"
)

// Filter chooses checkpoints of an experiment.
type Filter struct {
	ExperimentID int
	TrialID      int // 0: all trials of the experiment
	States       []string
	Sort         string
	Metric       string // sort by this metric of the validation at a checkpoint's steps, instead of Sort; checkpoints without it come last
	Desc         bool
	Objectives   objectives.List // sort by the front of these metrics
	WorstFirst   bool            // with Objectives
	Repeated     bool            // before anything else, sort by the place of the configurations that the search has trained again
}

// checkpointSorts maps the names of sort orders to SQL; of equal checkpoints the oldest comes first.
var checkpointSorts = map[string]string{"": "k.reported_at", "uuid": "k.uuid", "trial": "k.trial_id", "steps": "k.steps", "state": `k.state COLLATE "C"`}

func (f Filter) conditions(in auth.Scope) database.Conditions {
	var c database.Conditions
	c.When(!in.All, "k.task_id IN (SELECT id FROM tasks WHERE workspace_id = ANY(@scope::int[]))", "scope", in.Only())
	c.When(true, "o.experiment_id = @experiment", "experiment", f.ExperimentID)
	c.When(f.TrialID != 0, "o.id = @trial", "trial", f.TrialID)
	c.When(len(f.States) > 0, "k.state = ANY(@states::text[])", "states", f.States)
	return c
}

var listedCheckpoints = ` FROM trials o JOIN trials t ON t.id = ` + trial.ReportsOf("o") + ` JOIN checkpoints k ON k.trial_id = t.id AND k.run_id <= ` + trial.PastRun("o")

// CountListed counts the checkpoints that the filter chooses.
func CountListed(ctx context.Context, db *database.DB, in auth.Scope, f Filter) (int, error) {
	c := f.conditions(in)
	return database.Scalar[int](ctx, db, `SELECT count(*)`+listedCheckpoints+c.Where(), c.Args)
}

// List lists a page of the checkpoints that the filter chooses, without the
// experiment's configuration. It returns fewer than limit if their total size exceeds that
// of a page, but at least one; `each` is the number of bytes that the caller adds to each.
func List(ctx context.Context, db *database.DB, in auth.Scope, f Filter, offset, limit, each int) ([]Checkpoint, error) {
	if limit <= 0 {
		return nil, nil
	}
	c := f.conditions(in)
	if len(f.Objectives) > 0 {
		ids, err := idsByFront(ctx, db, in, f)
		if err != nil || offset >= len(ids) {
			return nil, err
		}
		return ByIDs(ctx, db, ids[offset:min(len(ids), offset+min(limit, database.MaxPage))], each)
	}
	by := checkpointSorts[f.Sort]
	if f.Metric != "" {
		c.Args["metric"] = f.Metric
		by = `(SELECT ` + database.FloatAt("m.avg->@metric::text") + ` FROM metrics m WHERE m.trial_id = k.trial_id AND m.group_name = 'validation' AND k.logged = ''
			AND m.run_id <= k.run_id AND m.position = k.steps AND NOT m.archived ORDER BY m.run_id DESC LIMIT 1)`
	}
	if f.Desc {
		by += " DESC"
	}
	from := listedCheckpoints
	if f.Repeated {
		from, by = from+repeatPlaces("@experiment"), "rp.place NULLS LAST, "+by
	}
	c.Args["offset"], c.Args["limit"] = offset, min(limit, database.MaxPage)
	ids, err := database.Scalars[string](ctx, db, `SELECT k.uuid::text`+from+c.Where()+
		` ORDER BY `+by+` NULLS LAST, k.reported_at, k.uuid LIMIT @limit OFFSET @offset`, c.Args)
	if err != nil {
		return nil, err
	}
	return ByIDs(ctx, db, ids, each)
}

// ByIDs reads the checkpoints with these ids, in their order: the first ones that
// fit into a page, at least one.
func ByIDs(ctx context.Context, db *database.DB, ids []string, each int) ([]Checkpoint, error) {
	return byIDs(ctx, db, listedQuery, ids, each)
}

// WholeByIDs is CheckpointsOf with the configurations of their experiments.
func WholeByIDs(ctx context.Context, db *database.DB, ids []string) ([]Checkpoint, error) {
	return byIDs(ctx, db, checkpointQuery, ids, 0)
}

func byIDs(ctx context.Context, db *database.DB, query string, ids []string, each int) ([]Checkpoint, error) {
	if ids = ids[:min(len(ids), database.MaxPage)]; len(ids) == 0 {
		return nil, nil
	}
	fit, err := database.Scalar[int](ctx, db, `SELECT greatest(1, count(*) FILTER (WHERE s.bytes <= $2)) FROM (
		SELECT sum($3::bigint + octet_length(q.resources::text) + octet_length(q.metadata::text) + coalesce(octet_length(q.hparams::text), 0)
			+ coalesce(octet_length(q.training::text), 0) + coalesce(octet_length(q.validation::text), 0) + coalesce(octet_length(q.config::text), 0))
			OVER (ORDER BY array_position($1::text[], q.uuid)) AS bytes
		FROM (`+query+`WHERE k.uuid = ANY($1::text[]::uuid[])) q) s`, ids, database.MaxPageBytes, each)
	if err != nil {
		return nil, err
	}
	return database.Rows[Checkpoint](ctx, db, query+`WHERE k.uuid = ANY($1::text[]::uuid[]) ORDER BY array_position($1::text[], k.uuid::text)`, ids[:min(fit, len(ids))])
}
