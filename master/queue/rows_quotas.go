package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// What a quota bounds.
const (
	MeasureSlots     = "slots"      // held at the same time
	MeasureCPUs      = "cpus"       // processors that are held at the same time
	MeasureMemory    = "memory"     // the same in GiB
	MeasureSlotHours = "slot_hours" // used in a period
)

// The periods of slot-hours. Days, weeks (from Monday) and months begin at midnight UTC; PeriodTotal
// began when the quota was created.
const (
	PeriodDay   = "day"
	PeriodWeek  = "week"
	PeriodMonth = "month"
	PeriodTotal = "total"
)

// Limits on quotas: the loop reads all of them in each cycle.
const (
	maxQuotas            = 2000 // of the cluster
	maxQuotasOfWorkspace = 200  // of the projects and users of a workspace, which its own administrators set
	maxQuotasOfOwner     = 500  // the same, of all workspaces of one user who is no administrator of the cluster
)

// A Quota bounds a workspace, a project, a user, or a user in a workspace.
type Quota struct {
	ID             int        `db:"id"`
	WorkspaceID    *int       `db:"workspace_id"` // of a project: its workspace
	Workspace      string     `db:"workspace"`
	WorkspaceOwner int        `db:"workspace_owner"` // 0 without a workspace
	ProjectID      *int       `db:"project_id"`
	Project        string     `db:"project"`
	UserID         *int       `db:"user_id"`
	Username       string     `db:"username"`
	Pool           string     `db:"pool"` // "": all pools
	Measure        string     `db:"measure"`
	Period         string     `db:"period"` // "" for what is held
	Soft           *int       `db:"soft"`
	Hard           *int       `db:"hard"`
	Held           float64    `db:"held"` // of what it bounds now; 0 in the loop's snapshot
	CreatedAt      time.Time  `db:"created_at"`
	UsedSeconds    float64    `db:"used_seconds"` // slot-seconds from UsedSince to MeasuredAt
	UsedSince      *time.Time `db:"used_since"`
	MeasuredAt     *time.Time `db:"measured_at"`
}

// OfWorkspace reports whether the quota bounds a whole workspace.
func (q Quota) OfWorkspace() bool { return q.ProjectID == nil && q.UserID == nil }

// Name is how sentences name whom the quota bounds.
func (q Quota) Name() string {
	switch {
	case q.ProjectID != nil:
		return fmt.Sprintf("project %s of workspace %s", q.Project, q.Workspace)
	case q.UserID != nil && q.WorkspaceID != nil:
		return fmt.Sprintf("user %s in workspace %s", q.Username, q.Workspace)
	case q.UserID != nil:
		return "user " + q.Username
	}
	return "workspace " + q.Workspace
}

// Pools is how sentences name the pools of the quota.
func (q Quota) Pools() string {
	if q.Pool == "" {
		return "all pools"
	}
	return "pool " + q.Pool
}

// Raisers is how sentences name who can raise the quota.
func (q Quota) Raisers() string {
	if q.OfWorkspace() || q.WorkspaceID == nil {
		return "administrators of the cluster"
	}
	return "administrators of workspace " + q.Workspace
}

// Begin is when the current period of slot-hours has begun.
func (q Quota) Begin(now time.Time) time.Time {
	now = now.UTC()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch q.Period {
	case PeriodDay:
		return day
	case PeriodWeek:
		return day.AddDate(0, 0, -(int(now.Weekday())+6)%7)
	case PeriodMonth:
		return day.AddDate(0, 0, 1-now.Day())
	}
	return q.CreatedAt
}

// End is when the current period ends; nil if it has no end.
func (q Quota) End(now time.Time) *time.Time {
	end := q.Begin(now)
	switch q.Period {
	case PeriodDay:
		end = end.AddDate(0, 0, 1)
	case PeriodWeek:
		end = end.AddDate(0, 0, 7)
	case PeriodMonth:
		end = end.AddDate(0, 1, 0)
	default:
		return nil
	}
	return &end
}

// Measured is how many slot-seconds of the current period were counted, and up to when.
func (q Quota) Measured(now time.Time) (seconds float64, until time.Time) {
	begin := q.Begin(now)
	if q.MeasuredAt == nil || q.UsedSince == nil || q.UsedSince.Before(begin) || q.MeasuredAt.Before(begin) {
		return 0, begin
	}
	return q.UsedSeconds, *q.MeasuredAt
}

const (
	quotaColumns = `q.id, coalesce(q.workspace_id, p.workspace_id) AS workspace_id, coalesce(w.name, '') AS workspace, coalesce(w.owner_id, 0) AS workspace_owner,
		q.project_id, coalesce(p.name, '') AS project, q.user_id, coalesce(u.username, '') AS username, q.pool, q.measure, q.period, q.soft, q.hard,
		q.created_at, q.used_seconds, q.used_since, q.measured_at`
	quotaTables = ` FROM quotas q LEFT JOIN projects p ON p.id = q.project_id LEFT JOIN workspaces w ON w.id = coalesce(q.workspace_id, p.workspace_id)
		LEFT JOIN users u ON u.id = q.user_id`
	// underQuota chooses the rows of usage x that a quota q bounds.
	underQuota = `(q.pool = '' OR x.pool = q.pool) AND (q.workspace_id IS NULL OR x.workspace_id = q.workspace_id)
		AND (q.project_id IS NULL OR x.project_id = q.project_id) AND (q.user_id IS NULL OR x.owner_id = q.user_id)`
	quotaSelect = `SELECT ` + quotaColumns + `, coalesce(CASE q.measure
		WHEN 'slots' THEN (SELECT sum(x.slots)` + heldUnder + `)
		WHEN 'memory' THEN (SELECT sum(m.memory_mb) / 1024.0` + membersUnder + `)
		WHEN 'cpus' THEN (SELECT sum(m.mhz * (n.inventory ->> 'Cores')::float8 / nullif((n.inventory ->> 'MHz')::float8, 0))` + membersUnder + `)
		END, 0)::float8 AS held` + quotaTables
	heldUnder    = ` FROM usage x WHERE coalesce(x.ended_at, 'infinity'::timestamptz) = 'infinity' AND ` + underQuota
	membersUnder = ` FROM members m JOIN nodes n ON n.id = m.node_id WHERE m.allocation_id IN (SELECT x.allocation_id` + heldUnder + `)`
)

// A QuotaFilter chooses quotas; 0 stands for all.
type QuotaFilter struct{ Workspace, Project, User int }

const chosenQuotas = quotaTables + `
	WHERE ($1::int[] IS NULL OR w.id = ANY($1) OR w.id IS NULL AND q.user_id = $2) AND ($3 = 0 OR w.id = $3) AND ($4 = 0 OR q.project_id = $4) AND ($5 = 0 OR q.user_id = $5)`

// Quotas lists quotas of the workspaces of a scope, and those of the user me in all workspaces.
func Quotas(ctx context.Context, db *database.DB, in auth.Scope, me int, f QuotaFilter, offset, limit int) ([]Quota, error) {
	return database.Rows[Quota](ctx, db, `SELECT * FROM (`+quotaSelect+` WHERE q.id IN (SELECT q.id`+chosenQuotas+`)) q
		ORDER BY workspace, project, username, pool, measure, period OFFSET $6 LIMIT $7`, in.Only(), me, f.Workspace, f.Project, f.User, offset, limit)
}

// CountQuotas is the number of quotas that Quotas lists without a limit.
func CountQuotas(ctx context.Context, db *database.DB, in auth.Scope, me int, f QuotaFilter) (int, error) {
	return database.Scalar[int](ctx, db, `SELECT count(*)`+chosenQuotas, in.Only(), me, f.Workspace, f.Project, f.User)
}

// QuotasOver lists the quotas of slots and slot-hours that bound what a user starts in a project of a workspace and in a pool;
// project 0 is none. What processors and memory a task has is known when the scheduler chooses its nodes.
func QuotasOver(ctx context.Context, db *database.DB, workspace, project, user int, pool string) ([]Quota, error) {
	return database.Rows[Quota](ctx, db, `SELECT `+quotaColumns+`, 0::float8 AS held`+quotaTables+`
		WHERE (q.workspace_id IS NULL OR q.workspace_id = $1) AND (q.project_id IS NULL OR q.project_id = $2) AND (q.user_id IS NULL OR q.user_id = $3) AND q.pool IN ('', $4) AND q.measure IN ('slots', 'slot_hours')
		ORDER BY q.id`, workspace, project, user, pool)
}

// QuotaByID finds a quota.
func QuotaByID(ctx context.Context, db *database.DB, id int) (Quota, error) {
	q, err := database.Row[Quota](ctx, db, "quota", quotaSelect+` WHERE q.id = $1`, id)
	return q, database.Missing(err, noQuota(id))
}

func noQuota(id int) error { return fault.New(fault.NotFound, "quota %d not found", id) }

// SetQuota stores a quota in place of the one of the same workspace, project, user, pool, measure and
// period. It rejects a quota over that of the workspace, which check compares.
func SetQuota(ctx context.Context, db *database.DB, q Quota, check func(above Quota) error) (set Quota, err error) {
	keyWorkspace := q.WorkspaceID
	if q.ProjectID != nil {
		keyWorkspace = nil
	}
	err = db.Tx(ctx, func(tx *database.DB) error {
		// One change at a time, so that the limits hold.
		if err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('quotas', 0))`); err != nil {
			return err
		}
		if !q.OfWorkspace() && q.WorkspaceID != nil {
			above, err := database.Rows[Quota](ctx, tx, quotaSelect+` WHERE q.workspace_id = $1 AND q.user_id IS NULL AND q.measure = $2 AND q.period = $3 AND q.pool IN ('', $4) ORDER BY q.pool`,
				*q.WorkspaceID, q.Measure, q.Period, q.Pool)
			if err != nil {
				return err
			}
			for _, a := range above {
				if err := check(a); err != nil {
					return err
				}
			}
		}
		id, err := database.Scalar[int](ctx, tx, `
			INSERT INTO quotas (workspace_id, project_id, user_id, pool, measure, period, soft, hard)
			VALUES (@workspace, @project, @user, @pool, @measure, @period, @soft, @hard)
			ON CONFLICT (coalesce(workspace_id, 0), coalesce(project_id, 0), coalesce(user_id, 0), pool, measure, period)
			DO UPDATE SET soft = excluded.soft, hard = excluded.hard, set_at = now() RETURNING id`,
			database.Args{"workspace": keyWorkspace, "project": q.ProjectID, "user": q.UserID, "pool": q.Pool, "measure": q.Measure, "period": q.Period, "soft": q.Soft, "hard": q.Hard})
		if err != nil {
			return err
		}
		if err := roomForQuota(ctx, tx, q); err != nil {
			return err
		}
		if _, err := MeasureQuota(ctx, tx, id); err != nil {
			return err
		}
		set, err = QuotaByID(ctx, tx, id)
		return err
	})
	return set, err
}

// roomForQuota checks the limits after an insertion.
func roomForQuota(ctx context.Context, tx *database.DB, q Quota) error {
	type counts struct {
		All   int `db:"all_quotas"`
		Here  int `db:"here"`
		Owner int `db:"of_owner"`
	}
	n, err := database.Row[counts](ctx, tx, "", `SELECT count(*) AS all_quotas, count(*) FILTER (WHERE inside AND w.id = $1) AS here,
			count(*) FILTER (WHERE inside AND w.owner_id = (SELECT u.id FROM workspaces h JOIN users u ON u.id = h.owner_id WHERE h.id = $1 AND NOT u.admin)) AS of_owner
		FROM quotas q LEFT JOIN projects p ON p.id = q.project_id LEFT JOIN workspaces w ON w.id = coalesce(q.workspace_id, p.workspace_id)
			CROSS JOIN LATERAL (SELECT q.project_id IS NOT NULL OR q.user_id IS NOT NULL AS inside) x`, q.WorkspaceID)
	switch {
	case err != nil:
		return err
	case n.All > maxQuotas:
		return fault.New(fault.TooMany, "the cluster has %d quotas already, and no more are allowed; delete one first", maxQuotas)
	case !q.OfWorkspace() && n.Here > maxQuotasOfWorkspace:
		return fault.New(fault.TooMany, "the projects and users of workspace %q have %d quotas already, and no more are allowed; delete one first", q.Workspace, maxQuotasOfWorkspace)
	case !q.OfWorkspace() && n.Owner > maxQuotasOfOwner:
		return fault.New(fault.TooMany, "the projects and users of all workspaces of the owner of workspace %q have %d quotas already, and no more are allowed; delete one first", q.Workspace, maxQuotasOfOwner)
	}
	return nil
}

// LiveQuotas lists all quotas for the control loop, which counts itself what attempts hold.
func LiveQuotas(ctx context.Context, db *database.DB) ([]Quota, error) {
	return database.Rows[Quota](ctx, db, `SELECT `+quotaColumns+`, 0::float8 AS held`+quotaTables+` ORDER BY q.id`)
}

// DeleteQuota deletes a quota.
func DeleteQuota(ctx context.Context, db *database.DB, id int) error {
	return db.Change(ctx, noQuota(id), `DELETE FROM quotas WHERE id = $1`, id)
}

// DueQuotas lists quotas of slot-hours that were not measured for some time, the longest first.
func DueQuotas(ctx context.Context, db *database.DB, since time.Duration) ([]int, error) {
	return database.Scalars[int](ctx, db, `SELECT id FROM quotas WHERE measure = 'slot_hours' AND (measured_at IS NULL OR measured_at < now() - $1::interval) ORDER BY measured_at NULLS FIRST, id`, since)
}

// MeasureQuota counts the slot-hours that were used in the current period of a quota, in the rows of
// accounting. It reports whether there is such a quota of slot-hours.
func MeasureQuota(ctx context.Context, db *database.DB, id int) (bool, error) {
	type bounded struct {
		Workspace *int   `db:"workspace_id"`
		Project   *int   `db:"project_id"`
		User      *int   `db:"user_id"`
		Pool      string `db:"pool"`
	}
	q, err := database.Row[bounded](ctx, db, "quota", `SELECT workspace_id, project_id, user_id, pool FROM quotas WHERE id = $1 AND measure = 'slot_hours'`, id)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// Only conditions that this quota has, so that PostgreSQL finds the rows by an index.
	var c database.Conditions
	c.When(true, "x.slots > 0", "id", id)
	c.When(q.Workspace != nil, "x.workspace_id = @workspace", "workspace", q.Workspace)
	c.When(q.Project != nil, "x.project_id = @project", "project", q.Project)
	c.When(q.User != nil, "x.owner_id = @user", "user", q.User)
	c.When(q.Pool != "", "x.pool = @pool", "pool", q.Pool)
	n, err := db.Affect(ctx, `
		WITH s AS (SELECT q.id, CASE q.period WHEN 'total' THEN q.created_at ELSE date_trunc(q.period, now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' END AS since
			FROM quotas q WHERE q.id = @id)
		UPDATE quotas SET measured_at = now(), used_since = s.since, used_seconds = coalesce((
			SELECT sum(x.slots * extract(epoch FROM coalesce(x.ended_at, now()) - greatest(x.started_at, s.since))) FROM usage x`+c.Where()+`
				AND coalesce(x.ended_at, 'infinity'::timestamptz) > s.since), 0)
		FROM s WHERE quotas.id = s.id`, c.Args)
	return n > 0, err
}
