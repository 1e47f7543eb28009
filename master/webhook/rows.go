package webhook

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/webhook/event"
)

// Limits on webhooks. Masters compare each line of a log, and each report of metrics, with the
// triggers for these.
const (
	maxWebhooks    = 100 // of a workspace, and of those for all workspaces
	maxSearches    = 20  // triggers for lines and metrics, of a workspace, and of webhooks for all workspaces
	maxAllSearches = 200 // such triggers of all webhooks
	maxOwnSearches = 60  // … of webhooks in the workspaces of one owner
)

const selectWebhooks = `
	SELECT w.id, w.workspace_id, coalesce(s.owner_id, 0) AS owner_id, w.name, w.url, w.type, w.mode, w.off,
		coalesce((SELECT jsonb_agg(jsonb_build_object('id', t.id, 'type', t.type, 'condition', t.condition) ORDER BY t.id)
			FROM webhook_triggers t WHERE t.webhook_id = w.id), '[]') AS triggers
	FROM webhooks w LEFT JOIN workspaces s ON s.id = w.workspace_id`

// List lists the webhooks of the workspaces in a scope, and those for all workspaces if the
// scope has all. If owner is not 0, it omits the webhooks of other owners' workspaces.
func List(ctx context.Context, db *database.DB, in auth.Scope, owner int) ([]Webhook, error) {
	return database.Rows[Webhook](ctx, db, selectWebhooks+`
		WHERE w.workspace_id IS NULL AND $1::int[] IS NULL OR ($1::int[] IS NULL OR w.workspace_id = ANY($1)) AND ($2 = 0 OR s.owner_id = $2) ORDER BY w.id`, in.Only(), owner)
}

// Get reads a webhook.
func Get(ctx context.Context, db *database.DB, id int) (Webhook, error) {
	w, err := database.Row[Webhook](ctx, db, "webhook", selectWebhooks+` WHERE w.id = $1`, id)
	return w, database.Missing(err, notFound(id))
}

func notFound(id int) error { return fault.New(fault.NotFound, "webhook %d not found", id) }

// Insert inserts a webhook with its triggers.
func Insert(ctx context.Context, db *database.DB, w Webhook) (id int, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		// One creation at a time, so that the limits hold.
		if err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('webhooks', 0))`); err != nil {
			return err
		}
		if err := hasRoom(ctx, tx, w); err != nil {
			return err
		}
		id, err = database.Scalar[int](ctx, tx, `INSERT INTO webhooks (workspace_id, name, url, type, mode) VALUES (@workspace, @name, @url, @type, @mode) RETURNING id`,
			database.Args{"workspace": w.WorkspaceID, "name": w.Name, "url": w.URL, "type": w.Type, "mode": w.Mode})
		if err != nil {
			return database.Taken(err, fault.New(fault.Conflict, "the workspace already has a webhook with the name %q", w.Name))
		}
		for _, t := range w.Triggers {
			condition, failed := json.Marshal(t.Condition)
			if err == nil {
				err = failed
			}
			if err == nil {
				err = tx.Exec(ctx, `INSERT INTO webhook_triggers (webhook_id, type, condition) VALUES ($1, $2, $3::text::jsonb)`, id, t.Type, string(condition))
			}
		}
		return err
	})
	return id, err
}

// hasRoom checks the limits.
func hasRoom(ctx context.Context, db *database.DB, w Webhook) error {
	type counts struct {
		Webhooks int `db:"webhooks"`
		Searches int `db:"searches"`
		All      int `db:"all_searches"`
		OfOwner  int `db:"of_owner"`
		Own      int `db:"own_searches"`
	}
	n, err := database.Row[counts](ctx, db, "", `
		WITH s AS (SELECT w.workspace_id FROM webhook_triggers t JOIN webhooks w ON w.id = t.webhook_id WHERE t.type IN ('TASK_LOG', 'METRIC_THRESHOLD_EXCEEDED'))
		SELECT (SELECT count(*) FROM webhooks WHERE workspace_id IS NOT DISTINCT FROM $1) AS webhooks,
			(SELECT count(*) FROM s JOIN workspaces o ON o.id = s.workspace_id WHERE o.owner_id = (SELECT owner_id FROM workspaces WHERE id = $1)) AS own_searches,
			(SELECT count(*) FROM s WHERE workspace_id IS NOT DISTINCT FROM $1) AS searches, (SELECT count(*) FROM s) AS all_searches,
			(SELECT count(*) FROM webhooks x JOIN workspaces o ON o.id = x.workspace_id WHERE o.owner_id = (SELECT owner_id FROM workspaces WHERE id = $1)) AS of_owner`, w.WorkspaceID)
	if err != nil {
		return err
	}
	more := 0
	for _, t := range w.Triggers {
		if t.Type == event.TaskLog || t.Type == event.Threshold {
			more++
		}
	}
	switch {
	case n.Webhooks >= maxWebhooks:
		return fault.New(fault.TooMany, "there are %d webhooks here already, and %d are allowed; delete one first", n.Webhooks, maxWebhooks)
	case n.OfOwner >= 2*maxWebhooks:
		return fault.New(fault.TooMany, "the workspaces of this owner have %d webhooks already, and %d are allowed; delete one first", n.OfOwner, 2*maxWebhooks)
	case more > 0 && n.Searches+more > maxSearches:
		return fault.New(fault.TooMany, "the webhooks here would have %d triggers for lines of logs and metrics, and %d are allowed", n.Searches+more, maxSearches)
	case more > 0 && n.Own+more > maxOwnSearches:
		return fault.New(fault.TooMany, "the workspaces of this owner would have %d triggers for lines of logs and metrics, and %d are allowed", n.Own+more, maxOwnSearches)
	case more > 0 && n.All+more > maxAllSearches:
		return fault.New(fault.TooMany, "all webhooks together would have %d triggers for lines of logs and metrics, and %d are allowed", n.All+more, maxAllSearches)
	}
	return nil
}

// setURL changes a webhook's address. Waiting events go to the new address.
func setURL(ctx context.Context, db *database.DB, id int, url string) error {
	return db.Change(ctx, notFound(id), `UPDATE webhooks SET url = $2 WHERE id = $1`, id, url)
}

// turnOn lets an imported webhook get events.
func turnOn(ctx context.Context, db *database.DB, id int) error {
	return db.Exec(ctx, `UPDATE webhooks SET off = false WHERE id = $1 AND off`, id)
}

// Delete deletes a webhook with its waiting events and its log.
func Delete(ctx context.Context, db *database.DB, id int) error {
	return db.Change(ctx, notFound(id), `DELETE FROM webhooks WHERE id = $1`, id)
}
