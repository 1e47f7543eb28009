package runs

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/find/query"
)

// multiTrial is whether experiment e can have more than one trial.
const multiTrial = `(e.searcher IS DISTINCT FROM 'single')`

// localID is the name of run t within its project p.
const localID = `coalesce(t.local_id, p.key || '-' || t.id)`

// searchedRuns is the table of runs: the trials of all experiments. The number of a run is the
// trial's id, also in localId, after the project's key; an imported run has the localId that it had.
var searchedRuns = query.Table{Noun: "runs", ID: "t.id", Archived: "(t.archived OR e.archived)", State: experiments.ShownTrial, Order: "id", From: ` FROM trials t
	JOIN experiments e ON e.id = t.experiment_id LEFT JOIN trial_summaries s ON s.trial_id = t.id` + experiments.SearchJoins, Fields: map[string]string{
	"id": "t.id", "experimentDescription": "e.description", "forkedFrom": "e.parent_id", "startTime": "t.started_at", "endTime": "t.ended_at",
	"duration": "extract(epoch FROM coalesce(t.ended_at, now()) - t.started_at)::float8", "state": "(" + experiments.ShownTrial + ")",
	"searcherType": "e.searcher", "resourcePool": "e.pool",
	"checkpointSize":  "(SELECT " + database.SumOf("c.size") + checkpointsOfRun,
	"checkpointCount": "(SELECT count(*)" + checkpointsOfRun,
	"user":            "u.username", "searcherMetric": "e.metric", "searcherMetricsVal": "s.searcher_value",
	"externalExperimentId": "e.external_id", "externalRunId": "t.external_id", "projectId": "e.project_id", "project": "p.name", "workspace": "w.name",
	"experimentProgress": "round(100 * CASE WHEN e.state = 'COMPLETED' THEN 1 ELSE coalesce(e.progress, 0) END)",
	"experimentId":       "e.id", "experimentName": "e.name", "isExpMultitrial": multiTrial + "::text",
	"parentArchived": "(p.archived OR w.archived)::text", "archived": "(t.archived OR e.archived)::text", "localId": localID,
	"earlierIds": "(SELECT string_agg(n.name, ' ' ORDER BY n.name) FROM earlier_names n WHERE n.trial_id = t.id)",
}}

const checkpointsOfRun = ` FROM checkpoints c WHERE c.trial_id = t.id AND c.state IN ('COMPLETED', 'PARTIALLY_DELETED'))`

// A Run is a trial, as a row of its own in a table of the runs of all experiments.
type Run struct {
	Head
	StartedAt      time.Time  `db:"started_at"`
	EndedAt        *time.Time `db:"ended_at"`
	Seconds        int        `db:"seconds"` // from its start to its end, or to now
	Labels         []string   `db:"labels"`
	ExternalID     *string    `db:"external_id"`
	HParams        []byte     `db:"hparams"`
	Metadata       []byte     `db:"metadata"`
	LogPolicy      *string    `db:"log_policy_matched"`
	ProjectName    string     `db:"project_name"`
	LocalID        string     `db:"local_id"`
	WorkspaceName  string     `db:"workspace_name"`
	Name           string     `db:"name"` // this field and the following ones are the experiment's
	Description    string     `db:"description"`
	Searcher       *string    `db:"searcher"`
	Metric         *string    `db:"metric"`
	Pool           string     `db:"pool"`
	Progress       *float64   `db:"progress"`
	ParentID       *int       `db:"parent_id"`
	ExternalParent *string    `db:"external_parent"`
}

// Head has the fields of a run that a request to change it needs.
type Head struct {
	ID                 int    `db:"id"`
	ExperimentID       int    `db:"experiment_id"`
	OwnerID            int    `db:"owner_id"`
	WorkspaceID        int    `db:"workspace_id"`
	ProjectID          int    `db:"project_id"`
	Shown              string `db:"shown"`
	Ended              bool   `db:"ended"`
	Archived           bool   `db:"archived"` // by itself
	ExperimentArchived bool   `db:"experiment_archived"`
	ParentArchived     bool   `db:"parent_archived"` // its project or workspace
	MultiTrial         bool   `db:"multi_trial"`
	Unmanaged          bool   `db:"unmanaged"`
}

const runHeadColumns = `t.id, t.experiment_id, e.owner_id, p.workspace_id, e.project_id, ` + experiments.ShownTrial + ` AS shown, t.ended_at IS NOT NULL AS ended,
	t.archived, e.archived AS experiment_archived, p.archived OR w.archived AS parent_archived, ` + multiTrial + ` AS multi_trial, e.unmanaged`

// Search lists a page of the runs that a search finds, and counts all of them. It returns fewer than limit if
// their hyperparameters and metadata and the texts of their experiments are longer than a page may be.
func Search(ctx context.Context, db *database.DB, in auth.Scope, q query.Search, offset, limit int) (list []Run, total int, err error) {
	ids, total, err := query.Page(ctx, db, searchedRuns, in, q, offset, limit)
	if err != nil || len(ids) == 0 {
		return nil, total, err
	}
	// Runs of one experiment have its texts, so these are measured once.
	ids, err = database.FirstThatFit(ctx, db, ids, `
		WITH mine AS MATERIALIZED (SELECT p.place, t.experiment_id, `+experiments.OwnOf+` AS own
			FROM unnest($1::int[]) WITH ORDINALITY AS p(id, place) JOIN trials t ON t.id = p.id),
		sized AS MATERIALIZED (SELECT e.id, `+experiments.TextsOf+` AS size FROM experiments e WHERE e.id IN (SELECT experiment_id FROM mine))
		SELECT mine.place, sized.size + mine.own AS size FROM mine JOIN sized ON sized.id = mine.experiment_id`)
	if err != nil {
		return nil, total, err
	}
	list, err = database.Rows[Run](ctx, db, `
		SELECT `+runHeadColumns+`, t.started_at, t.ended_at, extract(epoch FROM coalesce(t.ended_at, now()) - t.started_at)::int AS seconds,
			e.labels, t.external_id, t.hparams, t.metadata, t.log_policy_matched, p.name AS project_name, `+localID+` AS local_id, w.name AS workspace_name,
			e.name, e.description, e.searcher, e.metric, e.pool, CASE WHEN e.state = 'COMPLETED' THEN 1 ELSE e.progress END AS progress,
			e.parent_id, e.external_id AS external_parent`+searchedRuns.From+`
		JOIN unnest($1::int[]) WITH ORDINALITY AS page(id, place) ON page.id = t.id ORDER BY page.place`, ids)
	return list, total, err
}

// Count counts the runs that a search finds.
func Count(ctx context.Context, db *database.DB, in auth.Scope, q query.Search) (int, error) {
	return query.Count(ctx, db, searchedRuns, in, q)
}

// Heads lists the heads of the runs that a search finds, by their ids, up to a limit.
func Heads(ctx context.Context, db *database.DB, in auth.Scope, q query.Search, limit int) ([]Head, error) {
	b := query.New(searchedRuns)
	where, err := b.Where(in, q)
	if err != nil {
		return nil, err
	}
	b.Args["limit"] = limit
	return database.Rows[Head](ctx, db, `SELECT `+runHeadColumns+searchedRuns.From+b.Lateral()+where+` ORDER BY t.id LIMIT @limit`, b.Args)
}

// Archive archives runs that have ended, or unarchives them, and returns those that it has
// changed. The experiments of the runs stay what they are.
func Archive(ctx context.Context, db *database.DB, ids []int, archived bool) ([]int, error) {
	return database.Scalars[int](ctx, db, `UPDATE trials SET archived = $2 WHERE id = ANY($1) AND ended_at IS NOT NULL RETURNING id`, ids, archived)
}

// WholeExperiments lists the experiments of which the ids name every trial.
func WholeExperiments(ctx context.Context, db *database.DB, runs []int) ([]int, error) {
	return database.Scalars[int](ctx, db, `SELECT DISTINCT t.experiment_id FROM trials t WHERE t.id = ANY($1)
		AND NOT EXISTS (SELECT FROM trials other WHERE other.experiment_id = t.experiment_id AND NOT other.id = ANY($1))`, runs)
}
