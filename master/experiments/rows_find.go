package experiments

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/find/query"
	"github.com/detent-ml/detent/master/metrics"
)

// SearchJoins has what a condition may ask about the experiment of a row.
const SearchJoins = `
	LEFT JOIN users u ON u.id = e.owner_id LEFT JOIN projects p ON p.id = e.project_id LEFT JOIN workspaces w ON w.id = p.workspace_id`

// searchedExperiments is the table of experiments. PostgreSQL omits a join that no condition
// uses, because its key is unique. A field that has no value is NULL.
var searchedExperiments = query.Table{Noun: "experiments", ID: "e.id", Archived: "e.archived", State: ShownState, Order: "id DESC", From: ` FROM experiments e
	LEFT JOIN trial_summaries s ON s.trial_id = e.best_trial_id` + SearchJoins, Fields: map[string]string{
	"id": "e.id", "name": "e.name", "description": "e.description", "forkedFrom": "e.parent_id", "startTime": "e.started_at",
	"endTime": "e.ended_at", "duration": "extract(epoch FROM coalesce(e.ended_at, now()) - e.started_at)::float8",
	"numTrials": TrialCount, "state": "(" + ShownState + ")", "searcherType": "e.searcher", "resourcePool": "e.pool",
	"progress":        "round(100 * CASE WHEN e.state = 'COMPLETED' THEN 1 ELSE coalesce(e.progress, 0) END)",
	"checkpointSize":  "(SELECT checkpoint_bytes FROM (" + CheckpointSums + ") c)",
	"checkpointCount": "(SELECT checkpoints FROM (" + CheckpointSums + ") c)",
	"user":            "u.username", "searcherMetric": "e.metric", "searcherMetricsVal": "e.best_metric",
	"externalExperimentId": "e.external_id", "projectId": "e.project_id", "project": "p.name", "workspace": "w.name",
	"archived": "e.archived::text", "template": "nullif(e.template, '')",
}}

// CountSearched counts the experiments that a search finds.
func CountSearched(ctx context.Context, db *database.DB, in auth.Scope, q query.Search) (int, error) {
	return query.Count(ctx, db, searchedExperiments, in, q)
}

// Search lists a page of the experiments that a search finds, and counts all of them.
func Search(ctx context.Context, db *database.DB, in auth.Scope, q query.Search, offset, limit int) (list []Experiment, total int, err error) {
	ids, total, err := query.Page(ctx, db, searchedExperiments, in, q, offset, limit)
	if err != nil || len(ids) == 0 {
		return nil, total, err
	}
	list, err = ofPage(ctx, db, ids)
	return list, total, err
}

// MaxNames is the maximum number of metrics or hyperparameters that these lists return.
const MaxNames = database.MaxFirstTexts

// NamedHParam is a hyperparameter that some experiment has.
type NamedHParam struct {
	Name    string `db:"name"`
	Numbers bool   `db:"numbers"` // its values are numbers in each of these experiments
}

// HParamsUsed lists the hyperparameters of a project's experiments (0: of all projects).
func HParamsUsed(ctx context.Context, db *database.DB, in auth.Scope, project int) ([]NamedHParam, error) {
	return database.Rows[NamedHParam](ctx, db, `
		SELECT h.name, bool_and(h.texts = '{}' AND h.low IS NOT NULL) AS numbers
		FROM experiment_hparams h JOIN experiments e ON e.id = h.experiment_id
		WHERE ($1 = 0 OR e.project_id = $1) AND ($3::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY($3)))
		GROUP BY h.name ORDER BY h.name LIMIT $2`, project, MaxNames, in.Only())
}

// A MetricRange is between which values a summary (last, max, mean or min) of a metric is.
// Without a name it is the searcher's metric.
type MetricRange struct {
	Group   string  `db:"group_name"`
	Name    string  `db:"name"`
	Summary string  `db:"summary"`
	Min     float64 `db:"min"`
	Max     float64 `db:"max"`
}

// MetricRanges lists the ranges of the numeric metrics of the best trials of a project's
// experiments, or of all (0): first the searcher's, then by group and name.
func MetricRanges(ctx context.Context, db *database.DB, in auth.Scope, project int) ([]MetricRange, error) {
	return database.Rows[MetricRange](ctx, db, `
		WITH found AS (SELECT e.best_metric, s.summary FROM experiments e LEFT JOIN trial_summaries s ON s.trial_id = e.best_trial_id
			WHERE ($1 = 0 OR e.project_id = $1) AND ($3::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY($3)))),
		metrics AS (SELECT g.key AS group_name, m.key AS name, m.value FROM found
			CROSS JOIN LATERAL jsonb_each(coalesce(found.summary, '{}')) g
			CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value ELSE '{}' END) m
			WHERE m.value ->> 'type' = 'number'),
		sums AS (SELECT group_name, name, w.summary, `+database.FloatAt("value -> w.summary")+` AS v FROM metrics CROSS JOIN unnest(ARRAY['last', 'max', 'mean', 'min']) w(summary))
		(SELECT '' AS group_name, '' AS name, '' AS summary, min(best_metric) AS min, max(best_metric) AS max FROM found
			WHERE best_metric BETWEEN '-1e308' AND '1e308' HAVING count(*) > 0)
		UNION ALL (SELECT group_name, name, summary, min(v), max(v) FROM sums WHERE v BETWEEN '-1e308' AND '1e308'
			GROUP BY group_name, name, summary ORDER BY group_name, name, summary LIMIT $2)`, project, MaxNames, in.Only())
}

// maxBestRead is how many best trials of a project's newest experiments are read.
const maxBestRead = 100_000

// bestTrials is SQL for the best trials of the newest experiments, as newestRuns.
const bestTrials = `(SELECT e.best_trial_id AS id FROM experiments e WHERE e.best_trial_id IS NOT NULL
	AND ($1 = 0 OR e.project_id = $1) AND ($2::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY($2)))
	ORDER BY e.id DESC LIMIT $3)`

// MetricsUsed lists the metrics of the best trials of a project's experiments (0: of all
// projects), by group and name. Groups have the names that summaries use (summary.GroupKey).
func MetricsUsed(ctx context.Context, db *database.DB, in auth.Scope, project int) ([]metrics.Named, error) {
	return metrics.OfTrials(ctx, db, bestTrials, []any{project, in.Only(), maxBestRead}, func(one, other string) string { return min(one, other) })
}
