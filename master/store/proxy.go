package store

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/trial"
)

// A ProxyTask has the fields of a task and its live attempt that the proxy needs.
type ProxyTask struct {
	ID           string             `db:"id"`
	Newest       string             `db:"newest"` // the name of its newest part
	Type         string             `db:"type"`
	Name         string             `db:"name"`
	OwnerID      int                `db:"owner_id"`
	WorkspaceID  int                `db:"workspace_id"`
	Owner        string             `db:"username"`
	OwnerGone    bool               `db:"owner_gone"`
	State        string             `db:"state"`
	Waiting      string             `db:"waiting_reason"`
	ExitStatus   string             `db:"exit_status"`
	Over         bool               `db:"over"`
	AllocationID string             `db:"allocation_id"`
	Ready        bool               `db:"is_ready"`
	Secret       string             `db:"secret"`
	Address      string             `db:"address"` // of the gateway, as its runner reported with its claim
	Port         int                `db:"port"`
	Certificate  string             `db:"certificate"` // SHA-256 of the gateway's certificate
	Ports        expconf.ProxyPorts `db:"ports"`
	Shown        []int              `db:"shown"` // workspaces of the experiments that a TensorBoard shows
}

// ProxyTask finds a task to forward requests to. The proxy can reach its attempt as soon as
// the first member's claim was accepted. The name of any part of a task stands for the task: what runs is its newest part.
func (db *DB) ProxyTask(ctx context.Context, id string) (ProxyTask, error) {
	ctx = database.ForStrangers(ctx) // any name, cookie or ticket is a question to the database
	t, err := database.Row[ProxyTask](ctx, db.DB, "task "+id, proxyTasks+`WHERE k.id = $1`, id)
	if of, n, ok := trial.PartOf(id); ok && fault.Is(err, fault.NotFound) {
		return database.Row[ProxyTask](ctx, db.DB, "task "+id, proxyTasks+`WHERE k.id = $1 AND EXISTS (SELECT FROM task_parts p WHERE p.task_id = k.id AND p.n = $2)`, of, n)
	}
	return t, err
}

// ProxyTasks finds those of these tasks that exist.
func (db *DB) ProxyTasks(ctx context.Context, ids []string) ([]ProxyTask, error) {
	return database.Rows[ProxyTask](ctx, db.DB, proxyTasks+`WHERE k.id = ANY($1)`, ids)
}

// proxyPorts are the ports that the configuration of task k, or that of its experiment e,
// declares.
const proxyPorts = `coalesce(CASE WHEN k.type = 'TRIAL' THEN e.proxy_ports ELSE k.proxy_ports END, '[]')`

var proxyTasks = `
		SELECT k.id, ` + trial.NewestPartID + ` AS newest, k.type, k.name, k.owner_id, ` + taskWorkspace + ` AS workspace_id, u.username, NOT u.active AS owner_gone, k.exit_status, k.ended_at IS NOT NULL AS over,
			CASE WHEN k.ended_at IS NOT NULL THEN 'TERMINATED' WHEN k.desired = 'kill' THEN 'TERMINATING'
				WHEN a.id IS NULL THEN 'QUEUED'
				WHEN a.state IN ('PENDING', 'ASSIGNED') THEN CASE WHEN m.claimed_at IS NULL THEN 'QUEUED' ELSE 'STARTING' END
				ELSE a.state END AS state,
			coalesce(a.waiting_reason, '') AS waiting_reason, coalesce(a.is_ready, false) AS is_ready,
			CASE WHEN m.claimed_at IS NULL OR m.exited_at IS NOT NULL THEN '' ELSE a.id END AS allocation_id,
			CASE WHEN m.claimed_at IS NULL OR m.exited_at IS NOT NULL THEN '' ELSE a.gateway_secret::text END AS secret,
			coalesce(m.address, '') AS address, coalesce((m.ports ->> 'runner')::int, 0) AS port,
			coalesce(m.gateway_certificate, '') AS certificate,
			` + proxyPorts + ` AS ports,
			CASE WHEN k.type <> 'TENSORBOARD' THEN '{}' ELSE ARRAY(SELECT DISTINCT p.workspace_id FROM tensorboards b
				CROSS JOIN LATERAL (SELECT unnest(b.experiment_ids) AS id UNION SELECT t.experiment_id FROM trials t WHERE t.id = ANY(b.trial_ids)) x
				JOIN experiments e ON e.id = x.id
				JOIN projects p ON p.id = e.project_id WHERE b.task_id = k.id) END AS shown
		FROM tasks k JOIN users u ON u.id = k.owner_id
		LEFT JOIN experiments e ON e.id = k.experiment_id AND k.type = 'TRIAL'
		LEFT JOIN allocations a ON a.task_id = k.id AND a.state <> 'TERMINATED'
		LEFT JOIN members m ON m.allocation_id = a.id AND m.rank = 0
		`

// maxPortsListed is the number of ports in a list of all attempts: a task may have a hundred, and a user thousands of tasks.
const maxPortsListed = 20_000

// LivePorts are the ports of attempts that have begun and not ended, by attempt; of very many, those of each owner's newest.
// Before that nobody can open them.
func (db *DB) LivePorts(ctx context.Context, in auth.Scope) (map[string]expconf.ProxyPorts, error) {
	type found struct {
		ID    string             `db:"id"`
		Ports expconf.ProxyPorts `db:"ports"`
	}
	list, err := database.Rows[found](ctx, db.DB, `
		SELECT id, ports FROM (
			SELECT id, ports, sum(jsonb_array_length(ports)) OVER (ORDER BY own, id) AS listed FROM (
			SELECT id, ports, sum(jsonb_array_length(ports)) OVER (PARTITION BY owner_id ORDER BY claimed_at DESC, id) AS own FROM (
				SELECT a.id, k.owner_id, m.claimed_at, CASE WHEN k.type = 'TRIAL' THEN e.proxy_ports ELSE k.proxy_ports END AS ports
				FROM allocations a JOIN members m ON m.allocation_id = a.id AND m.rank = 0 AND m.claimed_at IS NOT NULL
				JOIN tasks k ON k.id = a.task_id LEFT JOIN experiments e ON e.id = k.experiment_id
				WHERE a.state <> 'TERMINATED' AND k.type <> 'CHECKPOINT_GC' AND ($1::int[] IS NULL OR k.workspace_id = ANY($1))) live
			WHERE jsonb_typeof(ports) = 'array' AND ports <> '[]') of_owner) numbered
		WHERE listed <= $2`, in.Only(), maxPortsListed)
	ports := make(map[string]expconf.ProxyPorts, len(list))
	for _, f := range list {
		ports[f.ID] = f.Ports
	}
	return ports, err
}

// IssueTicket stores the hash of a ticket for a session and a task, and deletes expired
// tickets.
func (db *DB) IssueTicket(ctx context.Context, hash []byte, task string, session int64, life time.Duration) error {
	return db.Change(ctx, fault.New(fault.Unauthenticated, "the session is unknown or has ended: sign in again"), `
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
func (db *DB) RedeemTicket(ctx context.Context, ticket []byte, task string, cookie []byte) error {
	return db.Change(database.ForStrangers(ctx), fault.New(fault.NotFound, "no such ticket"), `
		WITH used AS (DELETE FROM passes WHERE hash = $1 AND kind = 'ticket' AND task_id = $2 AND expires_at > now() RETURNING task_id, session_id),
		     many AS (DELETE FROM passes p USING (
				SELECT o.hash FROM passes o JOIN used ON o.session_id = used.session_id AND o.task_id = used.task_id
				WHERE o.kind = 'cookie' ORDER BY o.created_at DESC OFFSET $4) old WHERE p.hash = old.hash)
		INSERT INTO passes (hash, kind, task_id, session_id)
		SELECT $3, 'cookie', used.task_id, used.session_id FROM used
		JOIN sessions s ON s.id = used.session_id WHERE s.expires_at > now()`, ticket, task, cookie, maxCookies-1)
}

// CookieWho finds the user of a cookie for a task. A cookie ends with its session, and when
// the user is deactivated.
func (db *DB) CookieWho(ctx context.Context, hash []byte, task string) (auth.Who, error) {
	type found struct {
		UserID    int    `db:"id"`
		Username  string `db:"username"`
		Admin     bool   `db:"admin"`
		SessionID int64  `db:"session_id"`
		Grants    []byte `db:"grants"`
	}
	f, err := database.Row[found](database.ForStrangers(ctx), db.DB, "cookie", `
		SELECT u.id, u.username, u.admin AND s.allocation_id IS NULL AS admin, s.id AS session_id, `+db.Roles.Grants()+`
		FROM passes p JOIN sessions s ON s.id = p.session_id JOIN users u ON u.id = s.user_id
		WHERE p.hash = $1 AND p.kind = 'cookie' AND p.task_id = $2 AND s.expires_at > now() AND u.active`, hash, task)
	if err != nil {
		return auth.Who{}, err
	}
	grants, everybodys, err := db.Roles.Read(f.Grants)
	return auth.Who{UserID: f.UserID, Username: f.Username, Admin: f.Admin, SessionID: f.SessionID, Grants: grants, Everybodys: everybodys}, err
}

// DropPasses deletes expired tickets, and cookies of tasks that ended some time ago.
func (db *DB) DropPasses(ctx context.Context) (int64, error) {
	return db.Exec(ctx, `
		DELETE FROM passes p USING tasks k WHERE k.id = p.task_id
			AND (p.expires_at < now() OR k.ended_at < now() - interval '1 day')`)
}

// ForPages says for whom the proxy looks up what it found lately: the owner of a task, or the user of a cookie; empty: nobody is known.
func ForPages(ctx context.Context, owner string) context.Context {
	if owner == "" {
		return ctx
	}
	return database.ForOwner(ctx, "pages of "+owner)
}
