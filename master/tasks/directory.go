package tasks

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/trial"
)

// A Directory is where the proxy finds tasks, sessions, tickets and cookies, which are rows, so that every master accepts those of the others.
type Directory struct {
	DB    *database.DB
	Roles accounts.Roles
}

// Task finds a task to forward requests to. The proxy can reach its attempt as soon as
// the first member's claim was accepted. The name of any part of a task stands for the task: what runs is its newest part.
// lately is the owner of a task that was found lately.
func (d Directory) Task(ctx context.Context, id, lately string) (proxy.Task, error) {
	ctx = forPages(ctx, lately)
	t, err := database.Row[proxy.Task](ctx, d.DB, "task "+id, proxyTasks+`WHERE k.id = $1`, id)
	if of, n, ok := trial.PartOf(id); ok && fault.Is(err, fault.NotFound) {
		return database.Row[proxy.Task](ctx, d.DB, "task "+id, proxyTasks+`WHERE k.id = $1 AND EXISTS (SELECT FROM task_parts p WHERE p.task_id = k.id AND p.n = $2)`, of, n)
	}
	return t, err
}

// Tasks finds those of these tasks that exist.
func (d Directory) Tasks(ctx context.Context, ids []string) (map[string]proxy.Task, error) {
	list, err := database.Rows[proxy.Task](ctx, d.DB, proxyTasks+`WHERE k.id = ANY($1)`, ids)
	return each.Keyed(list, func(t proxy.Task) string { return t.ID }), err
}

// Sessions returns the users of those of these sessions that are valid.
func (d Directory) Sessions(ctx context.Context, ids []int64) (map[int64]auth.Who, error) {
	return accounts.ValidSessions(ctx, d.DB, d.Roles, ids)
}

// declaredPorts are the ports that the configuration of task k, or that of its experiment e,
// declares.
const declaredPorts = `coalesce(CASE WHEN k.type = 'TRIAL' THEN e.proxy_ports ELSE k.proxy_ports END, '[]')`

var proxyTasks = `
		SELECT k.id, ` + trial.NewestPartID + ` AS newest, k.type, k.name, k.owner_id, ` + Workspace + ` AS workspace_id, u.username AS owner, NOT u.active AS owner_gone, k.exit_status, k.ended_at IS NOT NULL AS over,
			CASE WHEN k.ended_at IS NOT NULL THEN 'TERMINATED' WHEN k.desired = 'kill' THEN 'TERMINATING'
				WHEN a.id IS NULL THEN 'QUEUED'
				WHEN a.state IN ('PENDING', 'ASSIGNED') THEN CASE WHEN m.claimed_at IS NULL THEN 'QUEUED' ELSE 'STARTING' END
				ELSE a.state END AS state,
			coalesce(a.waiting_reason, '') AS waiting, coalesce(a.is_ready, false) AS ready,
			CASE WHEN m.claimed_at IS NULL OR m.exited_at IS NOT NULL THEN '' ELSE a.id END AS allocation_id,
			CASE WHEN m.claimed_at IS NULL OR m.exited_at IS NOT NULL THEN '' ELSE a.gateway_secret::text END AS secret,
			coalesce(m.address, '') AS address, coalesce((m.ports ->> 'runner')::int, 0) AS port,
			coalesce(m.gateway_certificate, '') AS certificate,
			` + declaredPorts + ` AS ports,
			CASE WHEN k.type <> 'TENSORBOARD' THEN '{}' ELSE ARRAY(SELECT DISTINCT p.workspace_id FROM tensorboards b
				CROSS JOIN LATERAL (SELECT unnest(b.experiment_ids) AS id UNION SELECT t.experiment_id FROM trials t WHERE t.id = ANY(b.trial_ids)) x
				JOIN experiments e ON e.id = x.id
				JOIN projects p ON p.id = e.project_id WHERE b.task_id = k.id) END AS shown
		FROM tasks k JOIN users u ON u.id = k.owner_id
		LEFT JOIN experiments e ON e.id = k.experiment_id AND k.type = 'TRIAL'
		LEFT JOIN allocations a ON a.task_id = k.id AND a.state <> 'TERMINATED'
		LEFT JOIN members m ON m.allocation_id = a.id AND m.rank = 0
		`

// IssueTicket stores the hash of a ticket for a session and a task, and deletes expired
// tickets.
func (d Directory) IssueTicket(ctx context.Context, hash []byte, task string, session int64, life time.Duration) error {
	return d.DB.Change(ctx, fault.New(fault.Unauthenticated, "the session is unknown or has ended: sign in again"), `
		WITH stale AS (DELETE FROM passes WHERE session_id = $3 AND expires_at < now())
		INSERT INTO passes (hash, kind, task_id, session_id, expires_at)
		SELECT $1, 'ticket', k.id, s.id, now() + $4 FROM tasks k, sessions s WHERE k.id = $2 AND s.id = $3 AND s.expires_at > now()`,
		hash, task, session, life)
}

// maxCookies is the maximum number of cookies of a session for one task; a new one replaces
// the oldest.
const maxCookies = 20

// RedeemTicket exchanges a ticket for a cookie. If two requests try this at once, on any
// masters, only one succeeds.
func (d Directory) RedeemTicket(ctx context.Context, ticket []byte, task string, cookie []byte) error {
	return d.DB.Change(database.ForStrangers(ctx), fault.New(fault.NotFound, "no such ticket"), `
		WITH used AS (DELETE FROM passes WHERE hash = $1 AND kind = 'ticket' AND task_id = $2 AND expires_at > now() RETURNING task_id, session_id),
		     many AS (DELETE FROM passes p USING (
				SELECT o.hash FROM passes o JOIN used ON o.session_id = used.session_id AND o.task_id = used.task_id
				WHERE o.kind = 'cookie' ORDER BY o.created_at DESC OFFSET $4) old WHERE p.hash = old.hash)
		INSERT INTO passes (hash, kind, task_id, session_id)
		SELECT $3, 'cookie', used.task_id, used.session_id FROM used
		JOIN sessions s ON s.id = used.session_id WHERE s.expires_at > now()`, ticket, task, cookie, maxCookies-1)
}

// CookieWho finds the user of a cookie for a task. A cookie ends with its session, and when
// the user is deactivated. lately is the user of a cookie that was valid lately.
func (d Directory) CookieWho(ctx context.Context, hash []byte, task, lately string) (auth.Who, error) {
	type found struct {
		UserID    int    `db:"id"`
		Username  string `db:"username"`
		Admin     bool   `db:"admin"`
		SessionID int64  `db:"session_id"`
		Grants    []byte `db:"grants"`
	}
	f, err := database.Row[found](forPages(ctx, lately), d.DB, "cookie", `
		SELECT u.id, u.username, u.admin AND s.allocation_id IS NULL AS admin, s.id AS session_id, `+d.Roles.Grants()+`
		FROM passes p JOIN sessions s ON s.id = p.session_id JOIN users u ON u.id = s.user_id
		WHERE p.hash = $1 AND p.kind = 'cookie' AND p.task_id = $2 AND s.expires_at > now() AND u.active`, hash, task)
	if err != nil {
		return auth.Who{}, err
	}
	grants, everybodys, err := d.Roles.Read(f.Grants)
	return auth.Who{UserID: f.UserID, Username: f.Username, Admin: f.Admin, SessionID: f.SessionID, Grants: grants, Everybodys: everybodys}, err
}

// DropPasses deletes expired tickets, and cookies of tasks that ended some time ago.
func DropPasses(ctx context.Context, db *database.DB) (int64, error) {
	return db.Affect(ctx, `
		DELETE FROM passes p USING tasks k WHERE k.id = p.task_id
			AND (p.expires_at < now() OR k.ended_at < now() - interval '1 day')`)
}

// forPages says in whose name the proxy looks up what it found lately: of the owner of a task, or of the user of a cookie. Otherwise
// strangers ask: any name, cookie or ticket is a question to the database.
func forPages(ctx context.Context, lately string) context.Context {
	if lately == "" {
		return database.ForStrangers(ctx)
	}
	return database.ForOwner(ctx, "pages of "+lately)
}
