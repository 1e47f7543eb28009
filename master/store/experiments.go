package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// ExperimentHead has the fields of an experiment that a request to change it needs.
type ExperimentHead struct {
	ID          int    `db:"id"`
	OwnerID     int    `db:"owner_id"`
	WorkspaceID int    `db:"workspace_id"`
	State       string `db:"state"` // as the loop wrote it
	Shown       string `db:"shown"` // the state for users, see shownState
	Desired     string `db:"desired"`
	Unmanaged   bool   `db:"unmanaged"`
	Archived    bool   `db:"archived"`
}

// An Experiment as users see it.
type Experiment struct {
	ExperimentHead
	JobID           string     `db:"job_id"`
	Owner           string     `db:"username"`
	OwnerName       string     `db:"display_name"`
	ProjectID       int        `db:"project_id"`
	ProjectName     string     `db:"project_name"`
	ProjectOwnerID  int        `db:"project_owner_id"`
	WorkspaceName   string     `db:"workspace_name"`
	ParentArchived  bool       `db:"parent_archived"` // its project or workspace is archived
	ParentID        *int       `db:"parent_id"`
	ExternalID      *string    `db:"external_id"`
	Config          []byte     `db:"config"`
	OriginalConfig  string     `db:"original_config"`
	ContextHash     []byte     `db:"context_hash"`
	ContextSize     int64      `db:"context_size"`
	Name            string     `db:"name"`
	Description     string     `db:"description"`
	Labels          []string   `db:"labels"`
	Notes           string     `db:"notes"`
	Pool            string     `db:"pool"`
	SlotsPerTrial   int        `db:"slots_per_trial"`
	MaxSlots        *int       `db:"max_slots"`
	Weight          float64    `db:"weight"`
	Priority        int        `db:"priority"`
	Error           string     `db:"error"`
	Progress        *float64   `db:"progress"`
	StartedAt       time.Time  `db:"started_at"`
	EndedAt         *time.Time `db:"ended_at"`
	Seconds         int        `db:"seconds"` // from its start to its end, or to now
	BestTrialID     *int       `db:"best_trial_id"`
	BestMetric      *float64   `db:"best_metric"`
	Searcher        *string    `db:"searcher"`
	Metric          *string    `db:"metric"`
	SmallerIsBetter bool       `db:"smaller_is_better"`
	Trials          int        `db:"trials"`
	Checkpoints     int        `db:"checkpoints"`
	CheckpointBytes int64      `db:"checkpoint_bytes"`
}

// Terminal reports whether the experiment has ended.
func (e ExperimentHead) Terminal() bool {
	switch e.State {
	case "COMPLETED", "CANCELED", "ERROR", "DELETE_FAILED":
		return true
	}
	return false
}

// shownState is the state of experiment e for users. The loop writes the column state some
// time after a request; shownState shows the effect of the request at once, for clients
// that, for example, activate an experiment and then wait for it. An active experiment is
// shown with the state of its most advanced attempt.
const shownState = `CASE
	WHEN e.desired = 'deleted' AND (e.state <> 'DELETE_FAILED' OR e.delete_requests > e.delete_failed) THEN 'DELETING'
	WHEN e.desired = 'killed' AND e.state IN ('ACTIVE', 'PAUSED', 'STOPPING_CANCELED', 'STOPPING_COMPLETED') THEN 'STOPPING_KILLED'
	WHEN e.continues > e.continued THEN 'QUEUED'
	WHEN e.state NOT IN ('ACTIVE', 'PAUSED') THEN e.state
	WHEN e.desired = 'canceled' THEN 'STOPPING_CANCELED'
	WHEN e.desired = 'paused' THEN 'PAUSED'
	WHEN e.unmanaged THEN 'RUNNING'
	ELSE coalesce((SELECT ` + furthest + ` FROM tasks k JOIN allocations a ON a.task_id = k.id
		WHERE k.experiment_id = e.id AND k.type = 'TRIAL' AND a.state <> 'TERMINATED'), 'QUEUED') END`

// furthest is the most advanced state among attempts a.
const furthest = `(ARRAY['QUEUED', 'PULLING', 'STARTING', 'RUNNING'])[max(CASE a.state
	WHEN 'RUNNING' THEN 4 WHEN 'TERMINATING' THEN 4 WHEN 'STARTING' THEN 3 WHEN 'PULLING' THEN 2 ELSE 1 END)]`

const trialCount = `(SELECT count(*) FROM trials t WHERE t.experiment_id = e.id)`

var experimentSelect = `
	SELECT e.id, e.job_id::text, e.owner_id, u.username, u.display_name, e.project_id, p.name AS project_name,
		p.owner_id AS project_owner_id, p.workspace_id, w.name AS workspace_name, p.archived OR w.archived AS parent_archived,
		e.parent_id, e.external_id, e.unmanaged, e.config, e.original_config, e.context_hash,
		coalesce((SELECT size FROM contexts c WHERE c.hash = e.context_hash), 0) AS context_size,
		e.name, e.description, e.labels, e.notes, e.archived, e.desired, e.pool, e.slots_per_trial, e.max_slots, e.weight, e.priority,
		e.state, ` + shownState + ` AS shown, e.error, CASE WHEN e.state = 'COMPLETED' THEN 1 ELSE e.progress END AS progress,
		e.started_at, e.ended_at, extract(epoch FROM coalesce(e.ended_at, now()) - e.started_at)::int AS seconds,
		e.best_trial_id, e.best_metric, e.searcher, e.metric, e.smaller_is_better, ` + trialCount + ` AS trials, c.checkpoints, c.checkpoint_bytes
	FROM experiments e JOIN users u ON u.id = e.owner_id JOIN projects p ON p.id = e.project_id
	JOIN workspaces w ON w.id = p.workspace_id
	CROSS JOIN LATERAL (` + checkpointSums + `) c`

var checkpointSums = `SELECT count(*) AS checkpoints, ` + database.SumOf("c.size") + ` AS checkpoint_bytes
		FROM trials t JOIN checkpoints c ON c.trial_id = t.id
		WHERE t.experiment_id = e.id AND c.state IN ('COMPLETED', 'PARTIALLY_DELETED')`

// Experiment reads an experiment.
func (db *DB) Experiment(ctx context.Context, id int) (Experiment, error) {
	e, err := database.Row[Experiment](ctx, db.DB, "experiment", experimentSelect+` WHERE e.id = $1`, id)
	return e, database.Missing(err, NoExperiment(id))
}

// headSelect reads heads of experiments.
const headSelect = `SELECT e.id, e.owner_id, p.workspace_id, e.state, ` + shownState + ` AS shown, e.desired, e.unmanaged, e.archived
	FROM experiments e JOIN projects p ON p.id = e.project_id`

// ExperimentHead reads the head of an experiment.
func (db *DB) ExperimentHead(ctx context.Context, id int) (ExperimentHead, error) {
	e, err := database.Row[ExperimentHead](ctx, db.DB, "experiment", headSelect+` WHERE e.id = $1`, id)
	return e, database.Missing(err, NoExperiment(id))
}

// NoExperiment is the error of every call about an experiment that does not exist.
func NoExperiment(id int) error { return fault.New(fault.NotFound, "experiment %d not found", id) }

// ExperimentFilter chooses experiments. Zero values choose all.
type ExperimentFilter struct {
	Archived    *bool
	Name        string // part of it
	Description string // part of it
	Labels      []string
	ProjectID   int
	States      []string // as shown to users; ACTIVE stands for all states of an active experiment
	UserIDs     []int
	Users       []string
	IDs         []int
	NotIDs      []int
	Above       *int // only ids above this one
	Below       *int
	Sort        string
	Desc        bool
}

// byMetricName groups rows with a value by the name of its metric: values of different metrics do not compare. The
// SQL for the value is an argument.
const byMetricName = "CASE WHEN %s IS NOT NULL THEN e.metric END"

var experimentSorts = database.Sorts{
	"": "e.id", "description": database.SortText("e.description"), "start_time": "e.started_at", "end_time": "e.ended_at", "state": shownState,
	"trials": trialCount, "progress": "e.progress", "user": "(SELECT username FROM users u WHERE u.id = e.owner_id)",
	"name": database.SortText("e.name"), "forked_from": "e.parent_id", "pool": "e.pool", "project": "e.project_id", "metric": fmt.Sprintf(byMetricName, "e.best_metric") + ", e.best_metric" + database.NullsLast,
	"checkpoint_size":  "(SELECT checkpoint_bytes FROM (" + checkpointSums + ") c)",
	"checkpoint_count": "(SELECT checkpoints FROM (" + checkpointSums + ") c)",
}

// where returns only the conditions that the filter sets, so that PostgreSQL can use
// indexes for them.
func (f ExperimentFilter) where(in auth.Scope) (string, database.Args) {
	var c database.Conditions
	inProjects(&c, in, "e.project_id")
	c.When(f.Archived != nil, "e.archived = @archived", "archived", f.Archived)
	// Within a project its experiments' own mark counts alone.
	// coalesce keeps PostgreSQL from an estimate: it would expect no rows, and sort all to find the first.
	c.When(f.Archived != nil && !*f.Archived && f.ProjectID == 0, "NOT coalesce(e.project_id = ANY(ARRAY(SELECT p.id FROM projects p JOIN workspaces w ON w.id = p.workspace_id WHERE p.archived OR w.archived)), false)", "archived", f.Archived)
	c.Containing("e.name", "name", f.Name)
	c.Containing("e.description", "description", f.Description)
	c.When(len(f.Labels) > 0, hasLabels("@labels::text[]"), "labels", f.Labels)
	c.When(f.ProjectID != 0, "e.project_id = @project", "project", f.ProjectID)
	c.When(len(f.UserIDs) > 0, "e.owner_id = ANY(@owners::int[])", "owners", f.UserIDs)
	c.When(len(f.Users) > 0, "e.owner_id = ANY(ARRAY(SELECT id FROM users WHERE username = ANY(@users::text[])))", "users", f.Users)
	c.When(len(f.IDs) > 0, "e.id = ANY(@ids::int[])", "ids", f.IDs)
	c.When(len(f.NotIDs) > 0, "NOT e.id = ANY(@notids::int[])", "notids", f.NotIDs)
	c.When(f.Above != nil, "e.id > @above", "above", f.Above)
	c.When(f.Below != nil, "e.id < @below", "below", f.Below)
	// The shown state depends on attempts; a condition on the column state can use an index.
	c.When(len(f.States) > 0, "("+shownState+" = ANY(@states::text[]) OR 'ACTIVE' = ANY(@states::text[]) AND "+
		shownState+" IN ('QUEUED', 'PULLING', 'STARTING', 'RUNNING'))", "states", f.States)
	return c.Where(), c.Args
}

// maxSeparate is the maximum number of workspaces whose projects are read one by one.
const maxSeparate = 20

// from returns the tables and conditions of a page of ids. Of a few workspaces, and in the order of ids, it
// takes the first ids of each project: PostgreSQL would pass over the experiments of all other workspaces.
func (f ExperimentFilter) from(in auth.Scope, order string) (string, database.Args) {
	if in.All || f.Sort != "" || f.ProjectID != 0 || len(f.IDs) > 0 || len(in.Workspaces) > maxSeparate {
		where, args := f.where(in)
		return ` FROM experiments e` + where, args
	}
	where, args := f.where(auth.Everywhere())
	args["scope"] = in.Only()
	return ` FROM projects mine CROSS JOIN LATERAL (SELECT e.id FROM experiments e WHERE e.project_id = mine.id` +
		strings.Replace(where, " WHERE ", " AND ", 1) + order + ` LIMIT @most::bigint) e WHERE mine.workspace_id = ANY(@scope::int[])`, args
}

// CountExperiments counts the experiments that the filter chooses.
func (db *DB) CountExperiments(ctx context.Context, in auth.Scope, f ExperimentFilter) (int, error) {
	where, args := f.where(in)
	return database.Scalar[int](ctx, db.DB, `SELECT count(*) FROM experiments e`+where, args)
}

// Experiments lists a page of the experiments that the filter chooses. It first finds the
// ids of the page with small columns, and then reads only these rows whole. It returns fewer than limit
// if their texts and configurations are longer than a page may be, but at least one.
func (db *DB) Experiments(ctx context.Context, in auth.Scope, f ExperimentFilter, offset, limit int) ([]Experiment, error) {
	order, err := experimentSorts.Order(f.Sort, f.Desc, "e.id")
	if err != nil {
		return nil, err
	}
	from, args := f.from(in, order)
	args["limit"], args["offset"], args["most"] = limit, offset, int64(limit)+int64(offset)
	ids, err := database.Scalars[int](ctx, db.DB, `SELECT e.id`+from+order+` LIMIT @limit OFFSET @offset`, args)
	if err != nil {
		return nil, err
	}
	return db.experimentsOfPage(ctx, ids)
}

// hasLabels is SQL for the experiments that have all these labels, of which there is at least one. The
// index has only the beginnings of labels, and only the experiments that have some.
func hasLabels(labels string) string {
	return "(e.labels <> '{}' AND label_keys(e.labels) @> label_keys(" + labels + ") AND e.labels @> " + labels + ")"
}

// textsOf is SQL for the bytes of an experiment's name, description and labels.
const textsOf = `octet_length(e.name) + octet_length(e.description) + octet_length(array_to_string(e.labels, ''))`

// experimentsOfPage reads the first of these experiments whose texts and configurations fit into a page, at least one,
// in the order of the ids.
func (db *DB) experimentsOfPage(ctx context.Context, ids []int) ([]Experiment, error) {
	if ids = ids[:min(len(ids), database.MaxPage)]; len(ids) == 0 {
		return nil, nil
	}
	return database.Rows[Experiment](ctx, db.DB, experimentSelect+`
		JOIN (SELECT p.id, p.place, sum(e.text_bytes + octet_length(array_to_string(e.labels, ''))) OVER (ORDER BY p.place) AS bytes FROM unnest($1::int[]) WITH ORDINALITY AS p(id, place) JOIN experiments e ON e.id = p.id)
			AS page ON page.id = e.id AND (page.bytes <= $2 OR page.place = 1) ORDER BY page.place`, ids, database.MaxPageBytes)
}

// ExperimentHeads lists the heads of the experiments that the filter chooses, at most limit.
func (db *DB) ExperimentHeads(ctx context.Context, in auth.Scope, f ExperimentFilter, limit int) ([]ExperimentHead, error) {
	where, args := f.where(in)
	args["limit"] = limit
	return database.Rows[ExperimentHead](ctx, db.DB, headSelect+where+` ORDER BY e.id LIMIT @limit`, args)
}

// TrialIDs lists an experiment's trials in their order.
func (db *DB) TrialIDs(ctx context.Context, experiment int) ([]int, error) {
	return database.Scalars[int](ctx, db.DB, `SELECT id FROM trials WHERE experiment_id = $1 ORDER BY id`, experiment)
}

// A UsedTemplate is the template of an experiment, as it was when the experiment was created.
type UsedTemplate struct {
	Name   string `db:"template"`
	Source string `db:"template_source"`
}

// TemplateOf reads the template of an experiment; the zero value if it has none.
func (db *DB) TemplateOf(ctx context.Context, experiment int) (UsedTemplate, error) {
	return database.Row[UsedTemplate](ctx, db.DB, "experiment", `SELECT template, template_source FROM experiments WHERE id = $1`, experiment)
}

// OwnedExperiments counts the experiments of all users, by workspace.
func (db *DB) OwnedExperiments(ctx context.Context) ([]accounts.Owned, error) {
	return database.Rows[accounts.Owned](ctx, db.DB, `SELECT e.owner_id, p.workspace_id, count(*)::int AS n FROM experiments e JOIN projects p ON p.id = e.project_id GROUP BY 1, 2`)
}
