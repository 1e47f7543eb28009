package queue

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// maxUsageLabels is how many bytes of an experiment's labels the usage of each attempt repeats.
const maxUsageLabels = "16384"

// usageLabels is SQL for the first labels of an experiment, as many as usage repeats.
const usageLabels = `(SELECT array_agg(l ORDER BY place) FROM (SELECT l, place, sum(octet_length(l)) OVER (ORDER BY place) AS bytes
	FROM unnest(e.labels) WITH ORDINALITY AS x(l, place)) AS listed WHERE bytes <= ` + maxUsageLabels + `)`

// RecordUsage stores which slots an attempt holds when it is placed, and the time of its end when it
// ends. greatest ignores NULL, so an attempt that has not ended needs the CASE.
const RecordUsage = `
	INSERT INTO usage (allocation_id, task_type, owner_id, username, workspace_id, workspace, project, project_id, experiment_id, labels, pool, slots, models, queued_at, started_at, ended_at)
	SELECT a.id, k.type, k.owner_id, u.username, k.workspace_id, w.name, coalesce(p.name, ''), p.id, e.id, coalesce(` + usageLabels + `, '{}'),
		a.pool, a.slots, (SELECT coalesce(jsonb_object_agg(m.model, m.slots), '{}') FROM
			(SELECT model, sum(cardinality(slot_ids)) AS slots FROM members WHERE allocation_id = a.id AND model <> '' GROUP BY model) m),
		a.queued_at, a.assigned_at, CASE WHEN a.ended_at IS NOT NULL THEN greatest(a.assigned_at, a.ended_at) END
	FROM allocations a JOIN tasks k ON k.id = a.task_id JOIN users u ON u.id = k.owner_id JOIN workspaces w ON w.id = k.workspace_id
		LEFT JOIN experiments e ON e.id = k.experiment_id AND k.type = 'TRIAL' LEFT JOIN projects p ON p.id = e.project_id
	WHERE a.id = $1 AND a.assigned_at IS NOT NULL
	ON CONFLICT (allocation_id) DO UPDATE SET ended_at = excluded.ended_at`

// A Usage has the slots that an attempt held, and for how long within a window.
type Usage struct {
	AllocationID string         `db:"allocation_id"`
	TaskType     string         `db:"task_type"`
	OwnerID      int            `db:"owner_id"`
	Username     string         `db:"username"`
	Workspace    string         `db:"workspace"`
	Project      string         `db:"project"`
	ExperimentID *int           `db:"experiment_id"`
	Labels       []string       `db:"labels"`
	Pool         string         `db:"pool"`
	Slots        int            `db:"slots"`
	Models       map[string]int `db:"models"` // the slots of each known model of GPUs
	StartedAt    time.Time      `db:"started_at"`
	EndedAt      *time.Time     `db:"ended_at"`
	Seconds      float64        `db:"seconds"` // within the window; to now if it has not ended
}

// inWindow selects the attempts in the scope that ran within @since..@until.
const inWindow = `
	u.started_at < @until AND coalesce(u.ended_at, 'infinity'::timestamptz) > @since AND u.started_at <= now()
	AND (@scope::int[] IS NULL OR u.workspace_id = ANY(@scope))`

// Usages lists at most limit attempts that ran within a window, in the order of their start.
func Usages(ctx context.Context, db *database.DB, in auth.Scope, since, until time.Time, limit int) ([]Usage, error) {
	return database.Rows[Usage](ctx, db, `
		SELECT u.allocation_id, u.task_type, u.owner_id, u.username, u.workspace, u.project, u.experiment_id, u.labels, u.pool, u.slots, u.models, u.started_at, u.ended_at,
			greatest(0, extract(epoch FROM least(coalesce(u.ended_at, now()), @until) - greatest(u.started_at, @since)))::float8 AS seconds
		FROM usage u WHERE `+inWindow+` ORDER BY u.started_at, u.allocation_id LIMIT @limit`,
		database.Args{"since": since, "until": until, "scope": in.Only(), "limit": limit})
}

// A UsageSum is the slot-seconds of a period for one key of a kind, such as a user.
type UsageSum struct {
	Period  time.Time `db:"period"` // its first day
	Kind    string    `db:"kind"`
	Key     string    `db:"key"`
	Seconds float64   `db:"seconds"`
}

// The kinds of UsageSum.
const (
	UsageTotal     = "total"
	UsageUser      = "username"
	UsageLabel     = "experiment_label"
	UsagePool      = "resource_pool"
	UsageWorkspace = "workspace"
	UsageProject   = "project"
	UsageTask      = "task_type"
	UsageModel     = "gpu_model"
)

// UsageSums adds up the slot-seconds of each day, or each month, of a window. Days begin at
// midnight UTC; an attempt counts on each day for the time that it held its slots there.
func UsageSums(ctx context.Context, db *database.DB, in auth.Scope, since, until time.Time, monthly bool) ([]UsageSum, error) {
	period := "day"
	if monthly {
		period = "month"
	}
	return database.Rows[UsageSum](ctx, db, `
		WITH held AS (
			SELECT u.*, greatest(u.started_at, @since) AT TIME ZONE 'UTC' AS since, least(coalesce(u.ended_at, now()), @until) AT TIME ZONE 'UTC' AS until
			FROM usage u WHERE u.slots > 0 AND `+inWindow+`),
		days AS (
			SELECT h.username, h.labels, h.pool, h.workspace, h.project, h.task_type, h.models, date_trunc(@period, d) AS period,
				extract(epoch FROM least(h.until, d + interval '1 day') - greatest(h.since, d))::float8 AS held, h.slots
			FROM held h CROSS JOIN LATERAL generate_series(date_trunc('day', h.since), h.until, interval '1 day') AS d
			WHERE h.until > h.since AND d < h.until),
		sums AS (
			SELECT period, CASE WHEN grouping(username) = 0 THEN 'username' WHEN grouping(pool) = 0 THEN 'resource_pool' WHEN grouping(project) = 0 THEN 'project'
					WHEN grouping(workspace) = 0 THEN 'workspace' WHEN grouping(task_type) = 0 THEN 'task_type' ELSE 'total' END AS kind,
				CASE WHEN grouping(username) = 0 THEN username WHEN grouping(pool) = 0 THEN pool WHEN grouping(project) = 0 THEN workspace || '/' || project
					WHEN grouping(workspace) = 0 THEN workspace WHEN grouping(task_type) = 0 THEN task_type ELSE 'total' END AS key, sum(slots * held) AS seconds,
				grouping(project) = 0 AND project = '' AS none
			FROM days GROUP BY GROUPING SETS ((period), (period, username), (period, pool), (period, workspace), (period, workspace, project), (period, task_type))
			UNION ALL
			SELECT period, 'experiment_label', l, sum(slots * held), false FROM days, unnest(labels) AS l GROUP BY period, l
			UNION ALL
			SELECT period, 'gpu_model', m.key, sum(m.value::int * held), false FROM days, jsonb_each_text(models) AS m GROUP BY period, m.key)
		SELECT period AT TIME ZONE 'UTC' AS period, kind, key, seconds FROM sums WHERE NOT none ORDER BY period, kind, key`,
		database.Args{"since": since, "until": until, "scope": in.Only(), "period": period})
}
