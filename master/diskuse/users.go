package diskuse

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// Limits bound what users store in the database, in bytes; 0 is no limit. Beyond Owner, a user submits nothing new
// (AdmitStored). What runs already is bounded by itself, because no row that all tasks of an owner share could be
// counted up with each of their reports: a log in logs.Store, which locks its row anyway, and reports by the counts
// of the summarizer (metrics/rows_stored.go).
type Limits struct {
	Owner   int64 // all that one user stores
	Metrics int64 // the reports of one trial
}

// Users knows what each user stores, and whether that user may store more.
type Users struct {
	db     *database.DB
	limits Limits
	sums   *cache.Cache[int, *ownerSum] // because a sum takes long for a user with many trials
}

// NewUsers returns the users of a master.
func NewUsers(db *database.DB, limits Limits) *Users {
	return &Users{db: db, limits: limits, sums: cache.New[int, *ownerSum](0, maxOwners)}
}

// Use is what a user stores, in bytes as PostgreSQL stores it; indexes count as estimates.
type Use struct {
	UserID   int    `db:"user_id"`
	Username string `db:"username"`
	Code     int64  `db:"code"`    // the same code counts once
	Logs     int64  `db:"logs"`    // lines that are not deleted
	Metrics  int64  `db:"metrics"` // with their summaries
	Records  int64  `db:"records"` // experiments, trials, tasks, checkpoints, models, templates, projects and workspaces, with their configurations and metadata
}

// All is the sum.
func (s Use) All() int64 { return s.Code + s.Logs + s.Metrics + s.Records }

// freshCode is for how long code that no experiment or task has counts for the user who sent it: DropContexts removes it then.
const freshCode = `interval '2 hours'`

// storedSQL reads what users store; of is the condition on a column with an owner, with %s for the column.
func storedSQL(of string) string {
	owned := func(sql, column string) string { return strings.ReplaceAll(sql, "OWNED", fmt.Sprintf(of, column)) }
	return `WITH used AS (
		SELECT held.owner_id, sum(c.size) AS code, 0 AS logs, 0 AS metrics, 0 AS records FROM (` +
		owned(`SELECT e.owner_id, e.context_hash AS hash FROM experiments e WHERE OWNED UNION `, "e.owner_id") +
		owned(`SELECT k.owner_id, k.context_hash FROM tasks k WHERE OWNED UNION `, "k.owner_id") +
		owned(`SELECT x.owner_id, x.hash FROM contexts x WHERE OWNED AND x.created_at > now() - `+freshCode, "x.owner_id") + `) held
			JOIN contexts c ON c.hash = held.hash GROUP BY 1
		UNION ALL ` + owned(`SELECT k.owner_id, 0, sum(l.bytes), 0, 0 FROM tasks k JOIN log_tasks l ON l.task_id = k.id WHERE OWNED GROUP BY 1
		UNION ALL SELECT k.owner_id, 0, 0, 0, sum(500 + pg_column_size(k.config) + pg_column_size(k.submitted) + pg_column_size(k.name)) FROM tasks k WHERE OWNED GROUP BY 1
		UNION ALL SELECT k.owner_id, 0, 0, 0, sum(200 + pg_column_size(c.resources) + pg_column_size(c.metadata))
			FROM tasks k JOIN checkpoints c ON c.task_id = k.id WHERE OWNED GROUP BY 1`, "k.owner_id") + `
		UNION ALL ` + owned(`SELECT e.owner_id, 0, 0, coalesce(sum(s.bytes + pg_column_size(s.summary)), 0),
				sum(500 + pg_column_size(t.hparams) + coalesce(pg_column_size(t.metadata), 0))
			FROM experiments e JOIN trials t ON t.experiment_id = e.id LEFT JOIN trial_summaries s ON s.trial_id = t.id WHERE OWNED GROUP BY 1
		UNION ALL SELECT e.owner_id, 0, 0, 0, sum(1000 + pg_column_size(e.config) + pg_column_size(e.original_config) + pg_column_size(e.template_source)
			+ pg_column_size(e.notes) + pg_column_size(e.description) + pg_column_size(e.name) + pg_column_size(e.labels)) FROM experiments e WHERE OWNED GROUP BY 1`, "e.owner_id") + `
		UNION ALL ` + owned(`SELECT m.owner_id, 0, 0, 0, sum(200 + pg_column_size(m.notes) + pg_column_size(m.metadata) + pg_column_size(m.description)
			+ pg_column_size(m.labels)) FROM models m WHERE OWNED GROUP BY 1
		UNION ALL SELECT m.owner_id, 0, 0, 0, sum(200 + pg_column_size(m.notes) + pg_column_size(m.metadata) + pg_column_size(m.comment)
			+ pg_column_size(m.labels)) FROM model_versions m WHERE OWNED GROUP BY 1
		UNION ALL SELECT m.owner_id, 0, 0, 0, sum(200 + pg_column_size(m.source) + pg_column_size(m.config)) FROM templates m WHERE OWNED GROUP BY 1
		UNION ALL SELECT m.owner_id, 0, 0, 0, sum(200 + pg_column_size(m.config)) FROM storage_backends m WHERE OWNED GROUP BY 1`, "m.owner_id") + `
		UNION ALL ` + owned(`SELECT p.owner_id, 0, 0, 0, sum(200 + pg_column_size(p.notes) + pg_column_size(p.description)) FROM projects p WHERE OWNED GROUP BY 1
		UNION ALL SELECT p.owner_id, 0, 0, 0, sum(200 + pg_column_size(p.settings)) FROM workspaces p WHERE OWNED GROUP BY 1`, "p.owner_id") + `)
	SELECT u.id AS user_id, u.username, coalesce(sum(used.code), 0)::bigint AS code, coalesce(sum(used.logs), 0)::bigint AS logs,
		coalesce(sum(used.metrics), 0)::bigint AS metrics, coalesce(sum(used.records), 0)::bigint AS records
	FROM users u LEFT JOIN used ON used.owner_id = u.id ` + owned(`WHERE OWNED`, "u.id") + ` GROUP BY u.id`
}

var storedByOne, storedByAll = storedSQL(`%s = $1`), storedSQL(`%s IS NOT NULL`) +
	` HAVING count(used.owner_id) > 0 ORDER BY sum(used.code) + sum(used.logs) + sum(used.metrics) + sum(used.records) DESC, u.id LIMIT $1`

// Of adds up what a user stores.
func Of(ctx context.Context, db *database.DB, user int) (Use, error) {
	return database.Row[Use](ctx, db, fmt.Sprintf("user %d", user), storedByOne, user)
}

// Most lists the users who store the most, the first one the most.
func Most(ctx context.Context, db *database.DB, limit int) ([]Use, error) {
	return database.Rows[Use](ctx, db, storedByAll, limit)
}

// Limit is the limit for what one user stores; 0 is no limit.
func (u *Users) Limit() int64 { return u.limits.Owner }

const (
	storedAge = time.Minute // for which a sum is used
	maxOwners = 10_000      // whose sums are cached
)

// An ownerSum is what one user stores. Requests of one user wait for each other's reads.
type ownerSum struct {
	mu    sync.Mutex
	at    time.Time // before it was read
	held  Use
	added int64 // by the requests that were admitted since
}

func (u *Users) of(owner int) *ownerSum {
	now := time.Now()
	if sum, ok, _ := u.sums.Get(owner, now); ok {
		return sum
	}
	sum := &ownerSum{}
	u.sums.Put(owner, sum, now)
	return sum
}

// Admit fails if a user stores as much as one user may. more is about what the request adds; requests that add a
// little have 0. It rejects a request only after a read that began after the request. Do not call it in a transaction: requests
// of one user wait for each other, and the connections of those that wait could be all that there are.
func (u *Users) Admit(ctx context.Context, owner int, more int64) error {
	limit := u.limits.Owner
	if limit <= 0 {
		return nil
	}
	begin, sum := time.Now(), u.of(owner)
	sum.mu.Lock()
	defer sum.mu.Unlock()
	over := func() bool { return sum.held.All()+sum.added >= limit }
	if stale := begin.Sub(sum.at) > storedAge; stale || over() && sum.at.Before(begin) {
		at := time.Now()
		held, err := Of(ctx, u.db, owner)
		if err != nil {
			return err
		}
		sum.at, sum.held, sum.added = at, held, 0
	}
	if over() {
		return sum.held.tooMuch(limit)
	}
	sum.added += more
	return nil
}

func (s Use) tooMuch(limit int64) error {
	return fault.New(fault.TooLarge, "%s stores %s in the database, and the limit for one user is %s: %s of code, %s of logs, %s of metrics, and %s of configurations and metadata; "+
		"delete experiments that you do not need (det experiment delete), or keep logs for fewer days (det experiment set log-retention); operators can raise database_limits.user_mb",
		s.Username, database.SizeText(s.All()), database.SizeText(limit), database.SizeText(s.Code), database.SizeText(s.Logs), database.SizeText(s.Metrics), database.SizeText(s.Records))
}
