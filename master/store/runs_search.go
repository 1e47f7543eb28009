package store

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/find"
)

// multiTrial is whether experiment e can have more than one trial.
const multiTrial = `(e.searcher IS DISTINCT FROM 'single')`

// searchedRuns is the table of runs: the trials of all experiments. The number of a run is the
// trial's id, also in localId, after the project's key.
var searchedRuns = searched{noun: "runs", id: "t.id", archived: "(t.archived OR e.archived)", state: shownTrial, order: "id", from: ` FROM trials t
	JOIN experiments e ON e.id = t.experiment_id LEFT JOIN trial_summaries s ON s.trial_id = t.id` + searchJoins, fields: map[string]string{
	"id": "t.id", "experimentDescription": "e.description", "forkedFrom": "e.parent_id", "startTime": "t.started_at", "endTime": "t.ended_at",
	"duration": "extract(epoch FROM coalesce(t.ended_at, now()) - t.started_at)::float8", "state": "(" + shownTrial + ")",
	"searcherType": "e.searcher", "resourcePool": "e.pool",
	"checkpointSize":  "(SELECT " + sumOf + "c.size" + summed + checkpointsOfRun,
	"checkpointCount": "(SELECT count(*)" + checkpointsOfRun,
	"user":            "u.username", "searcherMetric": "e.metric", "searcherMetricsVal": "s.searcher_value",
	"externalExperimentId": "e.external_id", "externalRunId": "t.external_id", "projectId": "e.project_id", "project": "p.name", "workspace": "w.name",
	"experimentProgress": "round(100 * CASE WHEN e.state = 'COMPLETED' THEN 1 ELSE coalesce(e.progress, 0) END)",
	"experimentId":       "e.id", "experimentName": "e.name", "isExpMultitrial": multiTrial + "::text",
	"parentArchived": "(p.archived OR w.archived)::text", "archived": "(t.archived OR e.archived)::text", "localId": "(p.key || '-' || t.id)",
}}

const checkpointsOfRun = ` FROM checkpoints c WHERE c.trial_id = t.id AND c.state IN ('COMPLETED', 'PARTIALLY_DELETED'))`

// jsonAt is the value that a JSON column has under a name, or, where the name has dots, inside
// of objects; NULL if there is none.
func (b *searchBuilder) jsonAt(column, name string) string {
	key := b.bind(name, "text")
	return "nullif(coalesce(" + column + " -> " + key + ", " + column + " #> string_to_array(" + key + ", '.')), 'null'::jsonb)"
}

// inside compares a value in a JSON column of a run. Of a list, one element must match, or, with
// "!=" and "does not contain", all.
func (b *searchBuilder) inside(column, name string, c find.Condition) (string, error) {
	at := b.jsonAt(column, name)
	switch c.Op {
	case find.IsEmpty:
		return at + " IS NULL", nil
	case find.NotEmpty:
		return at + " IS NOT NULL", nil
	}
	positive, not := c, ""
	switch c.Op {
	case find.NotEqual:
		positive.Op, not = find.Equal, at+" IS NOT NULL AND NOT "
	case find.NotContains:
		positive.Op, not = find.Contains, at+" IS NOT NULL AND NOT "
	}
	fits, err := b.valueOf("x.v", positive)
	return "(" + not + "EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof(" + at + ") WHEN 'array' THEN " + at +
		" ELSE jsonb_build_array(" + at + ") END) x(v) WHERE " + fits + "))", err
}

// A Run is a trial, as a row of its own in a table of the runs of all experiments.
type Run struct {
	RunHead
	StartedAt      time.Time  `db:"started_at"`
	EndedAt        *time.Time `db:"ended_at"`
	Seconds        int        `db:"seconds"` // from its start to its end, or to now
	Labels         []string   `db:"labels"`
	ExternalID     *string    `db:"external_id"`
	HParams        []byte     `db:"hparams"`
	Metadata       []byte     `db:"metadata"`
	LogPolicy      *string    `db:"log_policy_matched"`
	ProjectName    string     `db:"project_name"`
	ProjectKey     string     `db:"project_key"`
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

// RunHead has the fields of a run that a request to change it needs.
type RunHead struct {
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

const runHeadColumns = `t.id, t.experiment_id, e.owner_id, p.workspace_id, e.project_id, ` + shownTrial + ` AS shown, t.ended_at IS NOT NULL AS ended,
	t.archived, e.archived AS experiment_archived, p.archived OR w.archived AS parent_archived, ` + multiTrial + ` AS multi_trial, e.unmanaged`

// SearchRuns lists a page of the runs that a search finds, and counts all of them. It returns fewer than limit if
// their hyperparameters and metadata and the texts of their experiments are longer than a page may be.
func (db *DB) SearchRuns(ctx context.Context, in auth.Scope, q Search, offset, limit int) (list []Run, total int, err error) {
	ids, total, err := db.findPage(ctx, searchedRuns, in, q, offset, limit)
	if err != nil || len(ids) == 0 {
		return nil, total, err
	}
	// Runs of one experiment have its texts, so these are measured once.
	ids, err = firstThatFit(ctx, db, ids, `
		WITH mine AS MATERIALIZED (SELECT p.place, t.experiment_id, `+ownOf+` AS own
			FROM unnest($1::int[]) WITH ORDINALITY AS p(id, place) JOIN trials t ON t.id = p.id),
		sized AS MATERIALIZED (SELECT e.id, `+textsOf+` AS size FROM experiments e WHERE e.id IN (SELECT experiment_id FROM mine))
		SELECT mine.place, sized.size + mine.own AS size FROM mine JOIN sized ON sized.id = mine.experiment_id`)
	if err != nil {
		return nil, total, err
	}
	list, err = rows[Run](ctx, db, `
		SELECT `+runHeadColumns+`, t.started_at, t.ended_at, extract(epoch FROM coalesce(t.ended_at, now()) - t.started_at)::int AS seconds,
			e.labels, t.external_id, t.hparams, t.metadata, t.log_policy_matched, p.name AS project_name, p.key AS project_key, w.name AS workspace_name,
			e.name, e.description, e.searcher, e.metric, e.pool, CASE WHEN e.state = 'COMPLETED' THEN 1 ELSE e.progress END AS progress,
			e.parent_id, e.external_id AS external_parent`+searchedRuns.from+`
		JOIN unnest($1::int[]) WITH ORDINALITY AS page(id, place) ON page.id = t.id ORDER BY page.place`, ids)
	return list, total, err
}

// CountRuns counts the runs that a search finds.
func (db *DB) CountRuns(ctx context.Context, in auth.Scope, q Search) (int, error) {
	return db.countFound(ctx, searchedRuns, in, q)
}

// RunHeads lists the heads of the runs that a search finds, by their ids, up to a limit.
func (db *DB) RunHeads(ctx context.Context, in auth.Scope, q Search, limit int) ([]RunHead, error) {
	b := newSearch(searchedRuns)
	where, err := b.where(in, q)
	if err != nil {
		return nil, err
	}
	b.args["limit"] = limit
	return rows[RunHead](ctx, db, `SELECT `+runHeadColumns+searchedRuns.from+where+` ORDER BY t.id LIMIT @limit`, b.args)
}

// maxRunsRead is the number of the newest runs of a project from which the lists of metrics,
// hyperparameters and metadata are made.
const maxRunsRead = 10_000

// newestRuns is SQL for the newest runs of project $1 (0: of all) in the workspaces $3.
const newestRuns = `(SELECT t.id, t.hparams, t.metadata FROM trials t JOIN experiments e ON e.id = t.experiment_id
	WHERE ($1 = 0 OR e.project_id = $1) AND ($3::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY($3)))
	ORDER BY t.id DESC LIMIT $4)`

// RunMetricsUsed lists the metrics of a project's runs (0: of all projects), by group and name.
// Groups have the names that summaries use (groupKey).
func (db *DB) RunMetricsUsed(ctx context.Context, in auth.Scope, project int) ([]NamedMetric, error) {
	return rows[NamedMetric](ctx, db, `
		SELECT g.key AS grp, m.key AS name, CASE WHEN min(m.value->>'type') = max(m.value->>'type') THEN min(m.value->>'type') ELSE '' END AS type
		FROM `+newestRuns+` r JOIN trial_summaries s ON s.trial_id = r.id
		CROSS JOIN LATERAL jsonb_each(s.summary) g
		CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value ELSE '{}' END) m
		WHERE m.value->>'type' IS NOT NULL
		GROUP BY g.key, m.key ORDER BY g.key, m.key LIMIT $2`, project, maxNames, workspaces(in), maxRunsRead)
}

// A NamedValue is a hyperparameter, or a key of the metadata, that some run has.
type NamedValue struct {
	Name string `db:"name"`
	Type string `db:"type"` // of its values, as JSON has it; "" if they have several
}

// leaves is SQL for the values of a JSON column of runs. The name of a value begins with the names
// of the objects that contain it.
func leaves(column string) string {
	return `WITH RECURSIVE tree(name, v) AS (
			SELECT h.key, h.value FROM ` + newestRuns + ` r
			CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(r.` + column + `) WHEN 'object' THEN r.` + column + ` ELSE '{}' END) h
			UNION ALL
			SELECT t.name || '.' || h.key, h.value FROM tree t
			CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(t.v) WHEN 'object' THEN t.v ELSE '{}' END) h)`
}

const namedLeaves = `
	SELECT name, CASE WHEN min(kind) = max(kind) THEN min(kind) ELSE '' END AS type
	FROM (SELECT name, jsonb_typeof(v) AS kind FROM tree) l
	WHERE kind NOT IN ('object', 'null') GROUP BY name ORDER BY name LIMIT $2`

// RunHParamsUsed lists the hyperparameters of a project's runs (0: of all projects).
func (db *DB) RunHParamsUsed(ctx context.Context, in auth.Scope, project int) ([]NamedValue, error) {
	return rows[NamedValue](ctx, db, leaves("hparams")+namedLeaves, project, maxNames, workspaces(in), maxRunsRead)
}

// RunMetadataUsed lists the keys of the metadata of a project's runs (0: of all projects).
func (db *DB) RunMetadataUsed(ctx context.Context, in auth.Scope, project int) ([]NamedValue, error) {
	return rows[NamedValue](ctx, db, leaves("metadata")+namedLeaves, project, maxNames, workspaces(in), maxRunsRead)
}

// RunMetadataValues lists the texts that a project's runs have under a key of their metadata; for a
// list it lists the elements.
func (db *DB) RunMetadataValues(ctx context.Context, in auth.Scope, project int, key string) ([]string, error) {
	return scalars[string](ctx, db, leaves("metadata")+`
		SELECT DISTINCT x.v #>> '{}' FROM tree
		CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(tree.v) WHEN 'array' THEN tree.v ELSE jsonb_build_array(tree.v) END) x(v)
		WHERE name = $5 AND jsonb_typeof(x.v) = 'string' ORDER BY 1 LIMIT $2`, project, maxNames, workspaces(in), maxRunsRead, key)
}
