package experiments

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find/query"
)

// Head has the fields of an experiment that a request to change it needs.
type Head struct {
	ID          int    `db:"id"`
	OwnerID     int    `db:"owner_id"`
	WorkspaceID int    `db:"workspace_id"`
	State       string `db:"state"` // as the loop wrote it
	Shown       string `db:"shown"` // the state for users, see ShownState
	Desired     string `db:"desired"`
	Unmanaged   bool   `db:"unmanaged"`
	Archived    bool   `db:"archived"`
}

// An Experiment as users see it.
type Experiment struct {
	Head
	JobID           string     `db:"job_id"`
	Owner           string     `db:"username"`
	OwnerName       string     `db:"display_name"`
	ProjectID       int        `db:"project_id"`
	ProjectName     string     `db:"project_name"`
	ProjectOwnerID  int        `db:"project_owner_id"`
	WorkspaceName   string     `db:"workspace_name"`
	ParentArchived  bool       `db:"parent_archived"` // its project or workspace is archived
	ParentID        *int       `db:"parent_id"`
	BranchEvent     *int64     `db:"branch_event"` // of its parent, at which it branches from it; nil: it is no branch
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
	Objectives      []byte     `db:"objectives"` // searcher.metrics; nil: the search has one metric
	Outlook         []byte     `db:"outlook"`    // of its search, as the loop stored it; nil: none
	Trials          int        `db:"trials"`
	Checkpoints     int        `db:"checkpoints"`
	CheckpointBytes int64      `db:"checkpoint_bytes"`
}

// Terminal reports whether the experiment has ended.
func (e Head) Terminal() bool {
	switch e.State {
	case "COMPLETED", "CANCELED", "ERROR", "DELETE_FAILED":
		return true
	}
	return false
}

// ShownState is the state of experiment e for users. The loop writes the column state some
// time after a request; ShownState shows the effect of the request at once, for clients
// that, for example, activate an experiment and then wait for it. An active experiment is
// shown with the state of its most advanced attempt.
const ShownState = `CASE
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

// TrialCount is SQL for the number of trials of experiment e.
const TrialCount = `(SELECT count(*) FROM trials t WHERE t.experiment_id = e.id)`

var selectExperiment = `
	SELECT e.id, e.job_id::text, e.owner_id, u.username, u.display_name, e.project_id, p.name AS project_name,
		p.owner_id AS project_owner_id, p.workspace_id, w.name AS workspace_name, p.archived OR w.archived AS parent_archived,
		e.parent_id, e.branch_event, e.external_id, e.unmanaged, e.config, e.original_config, e.context_hash,
		coalesce((SELECT size FROM contexts c WHERE c.hash = e.context_hash), 0) AS context_size,
		e.name, e.description, e.labels, e.notes, e.archived, e.desired, e.pool, e.slots_per_trial, e.max_slots, e.weight, e.priority,
		e.state, ` + ShownState + ` AS shown, e.error, CASE WHEN e.state = 'COMPLETED' THEN 1 ELSE e.progress END AS progress,
		e.started_at, e.ended_at, extract(epoch FROM coalesce(e.ended_at, now()) - e.started_at)::int AS seconds,
		e.best_trial_id, e.best_metric, e.searcher, e.metric, e.smaller_is_better, e.objectives, e.outlook, ` + TrialCount + ` AS trials, c.checkpoints, c.checkpoint_bytes
	FROM experiments e JOIN users u ON u.id = e.owner_id JOIN projects p ON p.id = e.project_id
	JOIN workspaces w ON w.id = p.workspace_id
	CROSS JOIN LATERAL (` + CheckpointSums + `) c`

// CheckpointSums is SQL that counts the checkpoints of experiment e, and their bytes.
var CheckpointSums = `SELECT count(*) AS checkpoints, ` + database.SumOf("c.size") + ` AS checkpoint_bytes
		FROM trials t JOIN checkpoints c ON c.trial_id = t.id
		WHERE t.experiment_id = e.id AND c.state IN ('COMPLETED', 'PARTIALLY_DELETED')`

// Get reads an experiment.
func Get(ctx context.Context, db *database.DB, id int) (Experiment, error) {
	e, err := database.Row[Experiment](ctx, db, "experiment", selectExperiment+` WHERE e.id = $1`, id)
	return e, database.Missing(err, NotFound(id))
}

// headSelect reads heads of experiments.
const headSelect = `SELECT e.id, e.owner_id, p.workspace_id, e.state, ` + ShownState + ` AS shown, e.desired, e.unmanaged, e.archived
	FROM experiments e JOIN projects p ON p.id = e.project_id`

// GetHead reads the head of an experiment.
func GetHead(ctx context.Context, db *database.DB, id int) (Head, error) {
	e, err := database.Row[Head](ctx, db, "experiment", headSelect+` WHERE e.id = $1`, id)
	return e, database.Missing(err, NotFound(id))
}

// NotFound is the error of every call about an experiment that does not exist.
func NotFound(id int) error { return fault.New(fault.NotFound, "experiment %d not found", id) }

// Filter chooses experiments. Zero values choose all.
type Filter struct {
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

var sorts = database.Sorts{
	"": "e.id", "description": database.SortText("e.description"), "start_time": "e.started_at", "end_time": "e.ended_at", "state": ShownState,
	"trials": TrialCount, "progress": "e.progress", "user": "(SELECT username FROM users u WHERE u.id = e.owner_id)",
	"name": database.SortText("e.name"), "forked_from": "e.parent_id", "pool": "e.pool", "project": "e.project_id", "metric": fmt.Sprintf(query.ByMetricName, "e.best_metric") + ", e.best_metric" + database.NullsLast,
	"checkpoint_size":  "(SELECT checkpoint_bytes FROM (" + CheckpointSums + ") c)",
	"checkpoint_count": "(SELECT checkpoints FROM (" + CheckpointSums + ") c)",
}

// where returns only the conditions that the filter sets, so that PostgreSQL can use
// indexes for them.
func (f Filter) where(in auth.Scope) (string, database.Args) {
	var c database.Conditions
	inProjects(&c, in, "e.project_id")
	c.When(f.Archived != nil, "e.archived = @archived", "archived", f.Archived)
	// Within a project its experiments' own mark counts alone.
	// coalesce keeps PostgreSQL from an estimate: it would expect no rows, and sort all to find the first.
	c.When(f.Archived != nil && !*f.Archived && f.ProjectID == 0, "NOT coalesce(e.project_id = ANY(ARRAY(SELECT p.id FROM projects p JOIN workspaces w ON w.id = p.workspace_id WHERE p.archived OR w.archived)), false)", "archived", f.Archived)
	c.Containing("e.name", "name", f.Name)
	c.Containing("e.description", "description", f.Description)
	c.When(len(f.Labels) > 0, query.HasLabels("@labels::text[]"), "labels", f.Labels)
	c.When(f.ProjectID != 0, "e.project_id = @project", "project", f.ProjectID)
	c.When(len(f.UserIDs) > 0, "e.owner_id = ANY(@owners::int[])", "owners", f.UserIDs)
	c.When(len(f.Users) > 0, "e.owner_id = ANY(ARRAY(SELECT id FROM users WHERE username = ANY(@users::text[])))", "users", f.Users)
	c.When(len(f.IDs) > 0, "e.id = ANY(@ids::int[])", "ids", f.IDs)
	c.When(len(f.NotIDs) > 0, "NOT e.id = ANY(@notids::int[])", "notids", f.NotIDs)
	c.When(f.Above != nil, "e.id > @above", "above", f.Above)
	c.When(f.Below != nil, "e.id < @below", "below", f.Below)
	// The shown state depends on attempts; a condition on the column state can use an index.
	c.When(len(f.States) > 0, "("+ShownState+" = ANY(@states::text[]) OR 'ACTIVE' = ANY(@states::text[]) AND "+
		ShownState+" IN ('QUEUED', 'PULLING', 'STARTING', 'RUNNING'))", "states", f.States)
	return c.Where(), c.Args
}

// maxSeparate is the maximum number of workspaces whose projects are read one by one.
const maxSeparate = 20

// from returns the tables and conditions of a page of ids. Of a few workspaces, and in the order of ids, it
// takes the first ids of each project: PostgreSQL would pass over the experiments of all other workspaces.
func (f Filter) from(in auth.Scope, order string) (string, database.Args) {
	if in.All || f.Sort != "" || f.ProjectID != 0 || len(f.IDs) > 0 || len(in.Workspaces) > maxSeparate {
		where, args := f.where(in)
		return ` FROM experiments e` + where, args
	}
	where, args := f.where(auth.Everywhere())
	args["scope"] = in.Only()
	return ` FROM projects mine CROSS JOIN LATERAL (SELECT e.id FROM experiments e WHERE e.project_id = mine.id` +
		strings.Replace(where, " WHERE ", " AND ", 1) + order + ` LIMIT @most::bigint) e WHERE mine.workspace_id = ANY(@scope::int[])`, args
}

// Count counts the experiments that the filter chooses.
func Count(ctx context.Context, db *database.DB, in auth.Scope, f Filter) (int, error) {
	where, args := f.where(in)
	return database.Scalar[int](ctx, db, `SELECT count(*) FROM experiments e`+where, args)
}

// List lists a page of the experiments that the filter chooses. It first finds the
// ids of the page with small columns, and then reads only these rows whole. It returns fewer than limit
// if their texts and configurations are longer than a page may be, but at least one.
func List(ctx context.Context, db *database.DB, in auth.Scope, f Filter, offset, limit int) ([]Experiment, error) {
	order, err := sorts.Order(f.Sort, f.Desc, "e.id")
	if err != nil {
		return nil, err
	}
	from, args := f.from(in, order)
	args["limit"], args["offset"], args["most"] = limit, offset, int64(limit)+int64(offset)
	ids, err := database.Scalars[int](ctx, db, `SELECT e.id`+from+order+` LIMIT @limit OFFSET @offset`, args)
	if err != nil {
		return nil, err
	}
	return ofPage(ctx, db, ids)
}

// TextsOf is SQL for the bytes of an experiment's name, description and labels.
const TextsOf = `octet_length(e.name) + octet_length(e.description) + octet_length(array_to_string(e.labels, ''))`

// ofPage reads the first of these experiments whose texts and configurations fit into a page, at least one,
// in the order of the ids.
func ofPage(ctx context.Context, db *database.DB, ids []int) ([]Experiment, error) {
	if ids = ids[:min(len(ids), database.MaxPage)]; len(ids) == 0 {
		return nil, nil
	}
	return database.Rows[Experiment](ctx, db, selectExperiment+`
		JOIN (SELECT p.id, p.place, sum(e.text_bytes + octet_length(array_to_string(e.labels, ''))) OVER (ORDER BY p.place) AS bytes FROM unnest($1::int[]) WITH ORDINALITY AS p(id, place) JOIN experiments e ON e.id = p.id)
			AS page ON page.id = e.id AND (page.bytes <= $2 OR page.place = 1) ORDER BY page.place`, ids, database.MaxPageBytes)
}

// ListHeads lists the heads of the experiments that the filter chooses, at most limit.
func ListHeads(ctx context.Context, db *database.DB, in auth.Scope, f Filter, limit int) ([]Head, error) {
	where, args := f.where(in)
	args["limit"] = limit
	return database.Rows[Head](ctx, db, headSelect+where+` ORDER BY e.id LIMIT @limit`, args)
}

// TrialIDs lists an experiment's trials in their order.
func TrialIDs(ctx context.Context, db *database.DB, experiment int) ([]int, error) {
	return database.Scalars[int](ctx, db, `SELECT id FROM trials WHERE experiment_id = $1 ORDER BY id`, experiment)
}

// A UsedTemplate is the template of an experiment, as it was when the experiment was created.
type UsedTemplate struct {
	Name   string `db:"template"`
	Source string `db:"template_source"`
}

// TemplateOf reads the template of an experiment; the zero value if it has none.
func TemplateOf(ctx context.Context, db *database.DB, experiment int) (UsedTemplate, error) {
	return database.Row[UsedTemplate](ctx, db, "experiment", `SELECT template, template_source FROM experiments WHERE id = $1`, experiment)
}

// Owned counts the experiments of all users, by workspace.
func Owned(ctx context.Context, db *database.DB) ([]accounts.Owned, error) {
	return database.Rows[accounts.Owned](ctx, db, `SELECT e.owner_id, p.workspace_id, count(*)::int AS n FROM experiments e JOIN projects p ON p.id = e.project_id GROUP BY 1, 2`)
}

// inProjects limits a list to a scope, of rows that have a project but no workspace; project is its column.
func inProjects(c *database.Conditions, s auth.Scope, project string) {
	c.When(!s.All, project+" IN (SELECT id FROM projects WHERE workspace_id = ANY(@scope::int[]))", "scope", s.Only())
}

// CheckPatterns is CheckPattern for a name and a description.
func CheckPatterns(name, description string) error {
	return cmp.Or(database.CheckPattern("name", name), database.CheckPattern("description", description))
}
