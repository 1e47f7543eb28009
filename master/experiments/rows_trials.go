package experiments

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/trial"
)

// A Trial is a trial with the fields that users see. Summaries of its metrics and
// checkpoints are read separately, a page at a time: Summaries and ValidationsAt of package metrics,
// CountCheckpoints, BestCheckpoints.
type Trial struct {
	ID              int        `db:"id"`
	ExperimentID    int        `db:"experiment_id"`
	OwnerID         int        `db:"owner_id"`
	WorkspaceID     int        `db:"workspace_id"`
	Number          int        `db:"number"`
	TaskID          string     `db:"task_id"`
	Part            int        `db:"part"` // the newest of its task
	HParams         []byte     `db:"hparams"`
	WarmStart       *string    `db:"warm_start"`
	State           string     `db:"state"`
	Shown           string     `db:"shown"`
	Restarts        int        `db:"restarts"`
	StartedAt       time.Time  `db:"started_at"`
	EndedAt         *time.Time `db:"ended_at"`
	Error           string     `db:"error"`
	Progress        *float64   `db:"progress"`
	RunnerState     string     `db:"runner_state"`
	Metadata        []byte     `db:"metadata"`
	Seconds         float64    `db:"seconds"` // how long its attempts ran
	Metric          *string    `db:"metric"`  // searcher.metric of its experiment
	SmallerIsBetter bool       `db:"smaller_is_better"`
	OriginID        *int       `db:"origin_id"` // the trial of another experiment with which a trial of a branch goes on
	Waiting         string     `db:"waiting"`   // why it waits; "" if it does not
	LogPolicy       *string    `db:"log_policy_matched"`
}

// ShownTrial is the state of trial t of experiment e for users.
const ShownTrial = `CASE
	WHEN t.state IN ('COMPLETED', 'CANCELED', 'ERROR') THEN t.state
	WHEN t.kill_wanted OR e.desired = 'killed' THEN 'STOPPING_KILLED'
	WHEN t.state NOT IN ('ACTIVE', 'PAUSED') THEN t.state
	WHEN e.desired = 'canceled' THEN 'STOPPING_CANCELED'
	WHEN e.desired = 'paused' THEN 'PAUSED'
	WHEN e.unmanaged THEN 'RUNNING'
	ELSE coalesce((SELECT ` + furthest + ` FROM allocations a WHERE a.task_id = t.task_id AND a.state <> 'TERMINATED'), CASE WHEN t.held THEN 'PAUSED' ELSE 'QUEUED' END) END`

var trialSelect = `
	SELECT t.id, t.experiment_id, e.owner_id, p.workspace_id, t.number, t.task_id, ` + trial.NewestPart("t.task_id") + ` AS part, t.hparams, t.warm_start::text, t.state, ` + ShownTrial + ` AS shown,
		t.restarts, t.started_at, t.ended_at, t.error, t.progress, t.runner_state, t.metadata, e.metric, e.smaller_is_better, (SELECT o.id FROM trials o WHERE o.id = t.origin_id) AS origin_id, t.log_policy_matched,
		coalesce((SELECT extract(epoch FROM sum(coalesce(a.ended_at, now()) - a.started_at))
			FROM allocations a WHERE a.task_id = t.task_id AND a.started_at IS NOT NULL), 0)::float8 AS seconds,
		coalesce((SELECT ` + tasks.WaitingReason + ` FROM allocations a WHERE a.task_id = t.task_id AND a.state IN ('PENDING', 'ASSIGNED')), '') AS waiting
	FROM trials t JOIN experiments e ON e.id = t.experiment_id JOIN projects p ON p.id = e.project_id`

// GetTrial reads a trial.
func GetTrial(ctx context.Context, db *database.DB, id int) (Trial, error) {
	t, err := database.Row[Trial](ctx, db, "trial", trialSelect+` WHERE t.id = $1`, id)
	return t, database.Missing(err, fault.New(fault.NotFound, "trial %d not found", id))
}

// TrialFilter chooses trials of an experiment.
type TrialFilter struct {
	ExperimentID int
	States       []string // as shown to users; ACTIVE stands for all states of an active trial
	LogDays      int      // for which the cluster keeps lines
	Sort         string
	Desc         bool
}

// metricAt is SQL for the searcher's metric of a validation whose key is in the summary s.
func metricAt(which string) string {
	return `(SELECT ` + database.FloatAt("m.avg->e.metric") + ` FROM metrics m
		WHERE m.trial_id = ` + trial.ReportsOf("t") + ` AND m.group_name = 'validation' AND m.run_id = s.` + which + `_run AND m.position = s.` + which + `_steps)`
}

var trialSorts = database.Sorts{
	"": "t.id", "start_time": "t.started_at", "end_time": "t.ended_at", "state": ShownTrial, "restarts": "t.restarts",
	"batches": "coalesce(s.total_batches, 0)", "duration": "coalesce(t.ended_at, now()) - t.started_at",
	"log_days": logs.OwnRetention + " @log_days::int)", // forever, -1, is the lowest, as in Determined
	"best":     "s.searcher_value" + database.NullsLast, "latest": metricAt("latest") + database.NullsLast,
	"checkpoint_size": "(SELECT sum(c.size) FROM checkpoints c WHERE c.trial_id = t.id AND c.state IN ('COMPLETED', 'PARTIALLY_DELETED'))",
}

func (f TrialFilter) where(in auth.Scope) (string, database.Args) {
	var c database.Conditions
	inProjects(&c, in, "e.project_id")
	c.When(true, "t.experiment_id = @experiment", "experiment", f.ExperimentID)
	c.When(len(f.States) > 0, "("+ShownTrial+" = ANY(@states::text[]) OR 'ACTIVE' = ANY(@states::text[]) AND "+
		ShownTrial+" IN ('QUEUED', 'PULLING', 'STARTING', 'RUNNING'))", "states", f.States)
	return ` FROM trials t JOIN experiments e ON e.id = t.experiment_id LEFT JOIN trial_summaries s ON s.trial_id = t.id` + c.Where(), c.Args
}

// CountTrials counts the trials that the filter chooses.
func CountTrials(ctx context.Context, db *database.DB, in auth.Scope, f TrialFilter) (int, error) {
	where, args := f.where(in)
	return database.Scalar[int](ctx, db, `SELECT count(*)`+where, args)
}

// ListTrials lists a page of the trials that the filter chooses. It returns fewer than limit if their hyperparameters and
// metadata are longer than a page may be, but at least one.
func ListTrials(ctx context.Context, db *database.DB, in auth.Scope, f TrialFilter, offset, limit int) ([]Trial, error) {
	order, err := trialSorts.Order(f.Sort, f.Desc, "t.id")
	if err != nil {
		return nil, err
	}
	where, args := f.where(in)
	args["limit"], args["offset"], args["log_days"] = limit, offset, f.LogDays
	ids, err := database.Scalars[int](ctx, db, `SELECT t.id`+where+order+` LIMIT @limit OFFSET @offset`, args)
	if err != nil {
		return nil, err
	}
	if ids, err = database.FirstThatFit(ctx, db, ids[:min(len(ids), database.MaxPage)], `
		SELECT p.place, `+OwnOf+` AS size FROM unnest($1::int[]) WITH ORDINALITY AS p(id, place) JOIN trials t ON t.id = p.id`); err != nil {
		return nil, err
	}
	return TrialsByID(ctx, db, ids)
}

// OwnOf is SQL for the bytes of what the search and the program of a trial have stored with it.
const OwnOf = `octet_length(t.hparams::text) + coalesce(octet_length(t.metadata::text), 0)`

// TrialsByID reads trials in the order of the given ids.
func TrialsByID(ctx context.Context, db *database.DB, ids []int) ([]Trial, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return database.Rows[Trial](ctx, db, trialSelect+`
		JOIN unnest($1::int[]) WITH ORDINALITY AS page(id, place) ON page.id = t.id ORDER BY page.place`, ids)
}

// KillTrials requests the end of trials, but for those that have ended.
func KillTrials(ctx context.Context, db *database.DB, ids []int) error {
	return db.Exec(ctx, `UPDATE trials SET kill_wanted = true WHERE id = ANY($1) AND ended_at IS NULL`, ids)
}

// A Workload (Determined's word) is a report or a checkpoint of a trial.
type Workload struct {
	Kind      string     `db:"kind"` // training, validation or checkpoint
	Steps     int        `db:"steps"`
	At        *time.Time `db:"at"`
	Metrics   []byte     `db:"metrics"` // of a report
	Batches   []byte     `db:"batches"`
	UUID      *string    `db:"uuid"` // of a checkpoint
	State     *string    `db:"state"`
	Resources []byte     `db:"resources"`
	Metadata  []byte     `db:"metadata"`
}

// WorkloadFilter chooses workloads of a trial.
type WorkloadFilter struct {
	TrialID     int
	Groups      []string // groups of metrics: training, validation, or a program's own
	Checkpoints bool
	Deleted     bool // include deleted checkpoints
	Batches     bool
	SortKey     string // name of a metric; "": sort by steps
	Desc        bool
}

// Workloads lists a page of a trial's workloads, and counts all of them. A limit of 0 means
// none. The checkpoints of the common past of a branch are those of an experiment that its viewer may not see.
func Workloads(ctx context.Context, db *database.DB, in auth.Scope, f WorkloadFilter, offset, limit int) ([]Workload, int, error) {
	if f.Groups == nil {
		f.Groups = []string{}
	}
	args := database.Args{"trial": f.TrialID, "scope": in.Only(), "groups": f.Groups, "checkpoints": f.Checkpoints, "deleted": f.Deleted,
		"batches": f.Batches, "key": f.SortKey, "offset": offset, "limit": database.Unlimited(limit)}
	from := ` FROM (SELECT ` + trial.ReportsOf("t") + ` AS id, ` + trial.PastRun("t") + ` AS run FROM trials t WHERE t.id = @trial) o CROSS JOIN LATERAL (
		SELECT CASE m.group_name WHEN 'validation' THEN 'validation' ELSE 'training' END AS kind, coalesce(m.steps, 0) AS steps,
			m.reported_at AS at, m.avg AS metrics, CASE WHEN @batches THEN m.batches END AS batches,
			NULL::text AS uuid, NULL::text AS state, NULL::jsonb AS resources, NULL::jsonb AS metadata
		FROM metrics m WHERE m.trial_id = o.id AND m.run_id <= o.run AND m.group_name = ANY(@groups::text[]) AND NOT m.archived
		UNION ALL
		SELECT 'checkpoint', k.steps, k.reported_at, NULL, NULL, k.uuid::text, k.state, k.resources, k.metadata
		FROM checkpoints k WHERE k.trial_id = o.id AND k.run_id <= o.run AND k.logged = '' AND @checkpoints AND (@deleted OR k.state <> 'DELETED')
			AND (o.id = @trial OR @scope::int[] IS NULL OR k.task_id IN (SELECT id FROM tasks WHERE workspace_id = ANY(@scope)))) w`
	total, err := database.Scalar[int](ctx, db, `SELECT count(*)`+from, args)
	if err != nil {
		return nil, 0, err
	}
	dir := ""
	if f.Desc {
		dir = " DESC"
	}
	order := ` ORDER BY w.steps` + dir + `, w.at` + dir + `, w.kind DESC`
	if f.SortKey != "" {
		order = ` ORDER BY ` + database.FloatAt("w.metrics->@key") + dir + ` NULLS LAST, w.steps, w.at`
	}
	list, err := database.Rows[Workload](ctx, db, `SELECT w.*`+from+order+` LIMIT @limit OFFSET @offset`, args)
	return list, total, err
}

// An Improvement is a validation that was the best of its experiment when it was reported.
type Improvement struct {
	TrialID int       `db:"trial_id"`
	At      time.Time `db:"at"`
	Value   float64   `db:"value"`
}

// Improvements lists the improvements of an experiment, in order.
func Improvements(ctx context.Context, db *database.DB, experiment int) ([]Improvement, error) {
	return database.Rows[Improvement](ctx, db, `
		WITH reported AS (
			SELECT t.id AS trial_id, m.reported_at AS at, v.value, m.id, CASE WHEN e.smaller_is_better THEN v.value ELSE -v.value END AS cost
			FROM experiments e JOIN trials t ON t.experiment_id = e.id
			JOIN metrics m ON m.trial_id = `+trial.ReportsOf("t")+` AND m.group_name = 'validation' AND m.steps IS NOT NULL AND m.run_id <= `+trial.PastRun("t")+`
			CROSS JOIN LATERAL (SELECT `+database.FloatAt("m.avg->e.metric")+` AS value) v
			WHERE e.id = $1 AND v.value IS NOT NULL)
		SELECT trial_id, at, value FROM (
			SELECT *, min(cost) OVER (ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM reported) r
		WHERE before IS NULL OR cost < before ORDER BY at, id`, experiment)
}
