package webhook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A Delivery is an event for a webhook: one to send, or one of the log.
type Delivery struct {
	ID        int64           `db:"id"`
	WebhookID int             `db:"webhook_id"`
	URL       string          `db:"url"`
	Type      string          `db:"type"`
	EventID   string          `db:"event_id"`
	Event     json.RawMessage `db:"event"`
	State     string          `db:"state"`
	CreatedAt time.Time       `db:"created_at"`
	DueAt     time.Time       `db:"due_at"`
	EndedAt   *time.Time      `db:"ended_at"`
	Tries     int             `db:"tries"`
	Status    *int            `db:"status"`
	Error     string          `db:"error"`
	Seconds   float64         `db:"seconds"` // since it was created
}

// maxError is the maximum size of a stored error, in bytes.
const maxError = 2000

const deliveryColumns = `d.id, d.webhook_id, w.url, w.type, d.event_id::text AS event_id, d.event, d.state, d.created_at, d.due_at, d.ended_at, d.tries, d.status, d.error,
	extract(epoch FROM now() - d.created_at)::float8 AS seconds`

// Busy are the webhooks with a request in flight, and how many of them each owner of a workspace
// has, who may have at most MaxOfOwner. The webhooks for all workspaces, which are the admins', have the owner 0
// and no such limit.
type Busy struct {
	Webhooks   []int
	Owners     map[int]int
	MaxOfOwner int
}

// A DueDelivery is a delivery to send, and the owner of its webhook's workspace.
type DueDelivery struct {
	Delivery
	OwnerID int `db:"owner_id"`
}

// DueDeliveries returns the deliveries to send next: of each webhook its first one, if its
// time has come, and first those of the webhooks that have waited for their turn the longest.
// again chooses those that have failed before, or those that have not. It leaves out the
// webhooks that are busy, and those of owners who have as many as they may.
func DueDeliveries(ctx context.Context, db *database.DB, again bool, busy Busy, limit int) ([]DueDelivery, error) {
	owners, counts := []int{}, []int{}
	for owner, n := range busy.Owners {
		owners, counts = append(owners, owner), append(counts, n)
	}
	return database.Rows[DueDelivery](ctx, db, `
		WITH due AS (
			SELECT `+deliveryColumns+`, coalesce(s.owner_id, 0) AS owner_id, w.served_at,
				row_number() OVER (PARTITION BY coalesce(s.owner_id, 0) ORDER BY w.served_at, w.id) AS nth
			FROM webhooks w LEFT JOIN workspaces s ON s.id = w.workspace_id JOIN LATERAL (
				SELECT * FROM webhook_deliveries f WHERE f.webhook_id = w.id AND f.state = 'WAITING' ORDER BY f.id LIMIT 1) d ON true
			WHERE d.due_at <= now() AND (d.tries > 0) = $1 AND w.id <> ALL($2::int[]))
		SELECT due.id, webhook_id, url, type, event_id, event, state, created_at, due_at, ended_at, tries, status, error, seconds, owner_id
		FROM due LEFT JOIN unnest($3::int[], $4::int[]) AS b (owner, n) ON b.owner = due.owner_id
		WHERE due.owner_id = 0 OR nth + coalesce(b.n, 0) <= $5 ORDER BY served_at, webhook_id LIMIT $6`, again, append([]int{}, busy.Webhooks...), owners, counts, busy.MaxOfOwner, limit)
}

// NextDelivery returns how long it is until the time of a webhook's next delivery comes: 0 if one has come, or if an event waits to be
// spread. waits is false if there is none.
func NextDelivery(ctx context.Context, db *database.DB) (in time.Duration, waits bool, err error) {
	seconds, err := database.Scalar[*float64](ctx, db, `SELECT CASE WHEN EXISTS (SELECT FROM webhook_outbox) THEN 0
		ELSE (SELECT greatest(0, extract(epoch FROM min(due_at) - now()))::float8 FROM webhooks w CROSS JOIN LATERAL (
			SELECT due_at FROM webhook_deliveries f WHERE f.webhook_id = w.id AND f.state = 'WAITING' ORDER BY f.id LIMIT 1) d) END`)
	if err != nil || seconds == nil {
		return 0, false, err
	}
	return time.Duration(*seconds * float64(time.Second)), true, nil
}

// A DeliveryResult is the result of one try.
type DeliveryResult struct {
	ID         int64
	WebhookID  int
	State      string // WAITING, DELIVERED or FAILED
	RetryAfter time.Duration
	Status     int // 0 without an answer
	Error      string
}

// RecordDelivery stores the result of a try, and removes what is too old for the log. It locks the
// webhook before the delivery, as the deletion of a webhook does: they cannot deadlock.
func RecordDelivery(ctx context.Context, db *database.DB, r DeliveryResult) error {
	if err := db.Exec(ctx, `UPDATE webhooks SET served_at = clock_timestamp() WHERE id = $1`, r.WebhookID); err != nil {
		return err
	}
	n, err := db.Affect(ctx, `
		UPDATE webhook_deliveries SET tries = tries + 1, state = $2, due_at = now() + $3::interval, status = nullif($4, 0), error = $5,
			ended_at = CASE WHEN $2 <> 'WAITING' THEN now() END
		WHERE id = $1 AND state = 'WAITING'`, r.ID, r.State, r.RetryAfter, r.Status, database.TextUpTo(r.Error, maxError))
	if err == nil && n == 1 && r.State != "WAITING" {
		if err = db.Exec(ctx, `UPDATE webhooks SET waiting = greatest(waiting - 1, 0) WHERE id = $1`, r.WebhookID); err == nil {
			err = prune(ctx, db, r.WebhookID)
		}
	}
	return err
}

func prune(ctx context.Context, db *database.DB, webhook int) error {
	return db.Exec(ctx, `
		DELETE FROM webhook_deliveries WHERE webhook_id = $1 AND state <> 'WAITING' AND id <= (
			SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND state <> 'WAITING' ORDER BY id DESC OFFSET $2 LIMIT 1)`, webhook, keptDeliveries)
}

// RecordTest stores an event that was sent for a test.
func RecordTest(ctx context.Context, db *database.DB, d Delivery, r DeliveryResult) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		err := tx.Exec(ctx, `INSERT INTO webhook_deliveries (webhook_id, event_id, event, state, ended_at, tries, status, error)
			SELECT w.id, $2, $3::text::jsonb, $4, now(), 1, nullif($5, 0), $6 FROM webhooks w WHERE w.id = $1`+lockedWebhooks,
			d.WebhookID, d.EventID, string(d.Event), r.State, r.Status, database.TextUpTo(r.Error, maxError))
		if err != nil {
			return err
		}
		return prune(ctx, tx, d.WebhookID)
	})
}

// Deliveries lists the newest deliveries of a webhook, the newest first, from those before
// an id; 0 for all.
func Deliveries(ctx context.Context, db *database.DB, webhook int, before int64, limit int) ([]Delivery, error) {
	return database.Rows[Delivery](ctx, db, `SELECT `+deliveryColumns+` FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
		WHERE d.webhook_id = $1 AND ($2::bigint = 0 OR d.id < $2) ORDER BY d.id DESC LIMIT $3`, webhook, before, limit)
}

// Redeliver queues an ended delivery once more, after those that wait: the same event with
// the same id. It returns the id of the new delivery.
func Redeliver(ctx context.Context, db *database.DB, webhook int, id int64) (again int64, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		taken, err := tx.Affect(ctx, `UPDATE webhooks w SET waiting = waiting + 1 WHERE id = $1 AND waiting < $2 AND (
			SELECT coalesce(sum(x.waiting), 0) FROM workspaces mine JOIN workspaces s ON s.owner_id = mine.owner_id JOIN webhooks x ON x.workspace_id = s.id
			WHERE mine.id = w.workspace_id) < $3`, webhook, MaxWaiting, maxOwnerWaiting)
		if err != nil {
			return err
		}
		state, err := database.Scalar[string](ctx, tx, `SELECT state FROM webhook_deliveries WHERE webhook_id = $1 AND id = $2`, webhook, id)
		switch {
		case fault.Is(err, fault.NotFound):
			return fault.New(fault.NotFound, "webhook %d has no delivery %d", webhook, id)
		case err != nil:
			return err
		case state == "WAITING":
			return fault.New(fault.Conflict, "delivery %d is still waiting to be sent", id)
		case taken == 0:
			return fault.New(fault.TooMany, "%d events already wait for webhook %d, or %d for all webhooks in the workspaces of its owner; try again later", MaxWaiting, webhook, maxOwnerWaiting)
		}
		again, err = database.Scalar[int64](ctx, tx, `INSERT INTO webhook_deliveries (webhook_id, event_id, event)
			SELECT webhook_id, event_id, event FROM webhook_deliveries WHERE id = $1 RETURNING id`, id)
		return err
	})
	return again, err
}
