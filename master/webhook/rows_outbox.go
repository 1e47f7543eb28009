package webhook

import (
	"context"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
)

// Whatever fires an event adds one row to webhook_outbox, and nothing that grows with the number of webhooks: state changes fire in the
// transactions of the leader, and thresholds in those that compare the reports of all trials. The sender of the leader spreads the events: it
// adds a delivery for each webhook that receives an event. It is the only one that adds new deliveries, so webhooks.waiting counts them.

const (
	// MaxWaiting is the maximum number of events that wait for one webhook. Further ones are
	// dropped, which the log of its deliveries shows.
	MaxWaiting = 10_000
	// maxOwnerWaiting is the same for all webhooks in the workspaces of one owner.
	maxOwnerWaiting = 2 * MaxWaiting
	// Of the second half of a webhook's places, the experiments of one user get none while this many of their events wait: who ends and
	// reopens an experiment again and again drops only their own events.
	maxSourceWaiting = MaxWaiting / 10
	// maxOutbox is the maximum number of events of a workspace that wait to be spread while programs and users add more.
	maxOutbox = 100
	// keptDeliveries is the number of ended deliveries in a webhook's log.
	keptDeliveries = 200
)

// A route is an event with a webhook that receives it.
type route struct {
	Event   int64 `db:"event"`
	Webhook int   `db:"webhook"`
	Owner   int   `db:"owner"`  // of the webhook's workspace; 0 for webhooks of all workspaces, which admins create
	Source  int   `db:"source"` // whose experiment the event is about; 0: unknown
	Waiting int   `db:"-"`      // events for the webhook
	dropped bool
}

// A Round selects the events that the sender spreads together: at most Most events, of the workspaces of one Owner,
// or of all owners except some.
type Round struct {
	Most   int
	Owner  *int // nil: all owners; 0 owns the workspaces that are deleted
	Except []int
}

// SpreadEvents adds the deliveries of the next events, of which each workspace has its turn, and returns the number of the events and
// the owners of their workspaces, also with an error: one of these owners has the events that failed.
func SpreadEvents(ctx context.Context, db *database.DB, r Round) (n int, owners []int, err error) {
	list, err := nextEvents(ctx, db, r)
	if err != nil || len(list) == 0 {
		return 0, nil, err
	}
	var events []int64
	for _, e := range list {
		events = append(events, e.ID)
		if !slices.Contains(owners, e.Owner) {
			owners = append(owners, e.Owner)
		}
	}
	slices.Sort(events) // the events of one webhook keep their order
	routes, err := routesOf(ctx, db, events)
	if err != nil {
		return 0, owners, err
	}
	if err := dropOverflow(ctx, db, routes); err != nil {
		return 0, owners, err
	}
	return len(events), owners, deliver(ctx, db, events, routes)
}

// A nextEvent is an event with the owner of its workspace.
type nextEvent struct {
	ID    int64 `db:"id"`
	Owner int   `db:"owner"`
}

// nextEvents reads the first events of each workspace: the query reads no more of an outbox with many.
func nextEvents(ctx context.Context, db *database.DB, r Round) ([]nextEvent, error) {
	return database.Rows[nextEvent](ctx, db, `
		WITH RECURSIVE s AS (
			SELECT min(workspace_id) AS id FROM webhook_outbox
			UNION ALL SELECT (SELECT min(o.workspace_id) FROM webhook_outbox o WHERE o.workspace_id > s.id) FROM s WHERE s.id IS NOT NULL),
		x AS (SELECT s.id, coalesce(p.owner_id, 0) AS owner FROM s LEFT JOIN workspaces p ON p.id = s.id WHERE s.id IS NOT NULL)
		SELECT o.id, x.owner FROM x CROSS JOIN LATERAL (
			SELECT first.id, row_number() OVER (ORDER BY first.id) AS nth FROM (
				SELECT id FROM webhook_outbox WHERE workspace_id = x.id ORDER BY id LIMIT $1) first) o
		WHERE ($2::int IS NULL OR x.owner = $2) AND x.owner <> ALL($3::int[]) ORDER BY o.nth, o.id LIMIT $1`, r.Most, r.Owner, append([]int{}, r.Except...))
}

// selectRoutes finds the webhooks that receive events. An event for one webhook, such as a line of a log, does not reach it once its subject is
// in another workspace.
const selectRoutes = `
	WITH v AS MATERIALIZED (
		SELECT o.id, o.webhook_id, o.workspace_id, o.experiment_id, ` + hooksOf + `, o.event->>'event_type' AS type, o.event#>>'{condition,state}' AS state,
			coalesce(e.owner_id, (SELECT x.owner_id FROM experiments x WHERE x.id = (o.event#>>'{experiment,id}')::int), 0) AS source
		FROM webhook_outbox o LEFT JOIN LATERAL (SELECT * FROM experiments y WHERE y.id = o.experiment_id OFFSET 0) e ON true WHERE o.id = ANY($1))
	SELECT v.id AS event, w.id AS webhook, v.source, coalesce((SELECT s.owner_id FROM workspaces s WHERE s.id = w.workspace_id), 0) AS owner
	FROM v CROSS JOIN LATERAL (
		SELECT * FROM webhooks h WHERE h.id = v.webhook_id AND (h.workspace_id IS NULL OR h.workspace_id = v.workspace_id)
		UNION ALL SELECT * FROM webhooks h WHERE v.webhook_id IS NULL AND h.workspace_id = v.workspace_id
		UNION ALL SELECT * FROM webhooks h WHERE v.webhook_id IS NULL AND h.workspace_id IS NULL) w
	WHERE v.webhook_id IS NOT NULL AND NOT w.off OR ` + receives + `
		AND (v.type <> 'CUSTOM' OR w.mode = 'SPECIFIC') AND EXISTS (SELECT FROM webhook_triggers t WHERE t.webhook_id = w.id
			AND t.type = v.type AND (t.type = 'CUSTOM' OR t.condition->>'state' = v.state))
	ORDER BY v.id, w.id`

// routesOf finds the routes of events, and locks their webhooks: a deletion or the result of a delivery waits for the end of the transaction.
func routesOf(ctx context.Context, db *database.DB, events []int64) ([]route, error) {
	routes, err := database.Rows[route](ctx, db, selectRoutes, events)
	if err != nil || len(routes) == 0 {
		return nil, err
	}
	return locked(ctx, db, routes)
}

// locked locks the webhooks of routes, and returns the routes of those that still exist, with how many events wait for each.
func locked(ctx context.Context, db *database.DB, routes []route) ([]route, error) {
	ids := each.Of(routes, func(r route) int { return r.Webhook })
	slices.Sort(ids)
	waiting, err := database.Map[int, int](ctx, db, `SELECT id, waiting FROM webhooks WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	kept := routes[:0]
	for _, r := range routes {
		n, exists := waiting[r.Webhook]
		if r.Waiting = n; exists {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

// dropOverflow marks the routes of webhooks for which too many events wait.
func dropOverflow(ctx context.Context, db *database.DB, routes []route) error {
	waiting, ofOwner, owners := map[int]int{}, map[int]int{}, []int{}
	for _, r := range routes {
		waiting[r.Webhook] = r.Waiting
		if _, known := ofOwner[r.Owner]; !known && r.Owner != 0 {
			ofOwner[r.Owner], owners = 0, append(owners, r.Owner)
		}
	}
	sums, err := database.Map[int, int](ctx, db, `SELECT s.owner_id, sum(w.waiting)::int FROM webhooks w JOIN workspaces s ON s.id = w.workspace_id
		WHERE s.owner_id = ANY($1) GROUP BY 1`, owners)
	if err != nil {
		return err
	}
	maps.Copy(ofOwner, sums)
	ofSource, err := sourcesOf(ctx, db, waiting)
	if err != nil {
		return err
	}
	for i := range routes {
		r := &routes[i]
		from := source{r.Webhook, r.Source}
		r.dropped = waiting[r.Webhook] >= MaxWaiting || r.Owner != 0 && ofOwner[r.Owner] >= maxOwnerWaiting ||
			r.Source != 0 && waiting[r.Webhook] >= MaxWaiting/2 && ofSource[from] >= maxSourceWaiting
		if r.dropped {
			continue
		}
		waiting[r.Webhook]++
		ofOwner[r.Owner]++
		ofSource[from]++
	}
	return nil
}

// A source is a user whose experiments' events wait for a webhook.
type source struct{ webhook, user int }

// sourcesOf counts the waiting events of each source, for the webhooks with so many that it matters during this round.
func sourcesOf(ctx context.Context, db *database.DB, waiting map[int]int) (map[source]int, error) {
	var full []int
	for id, n := range waiting {
		if n >= MaxWaiting/4 {
			full = append(full, id)
		}
	}
	type count struct {
		Webhook int `db:"webhook_id"`
		User    int `db:"owner_id"`
		N       int `db:"n"`
	}
	of := map[source]int{}
	if len(full) == 0 {
		return of, nil
	}
	counts, err := database.Rows[count](ctx, db, `SELECT webhook_id, owner_id, count(*)::int AS n FROM webhook_deliveries
		WHERE webhook_id = ANY($1) AND state = 'WAITING' AND owner_id IS NOT NULL GROUP BY 1, 2`, full)
	for _, c := range counts {
		of[source{c.Webhook, c.User}] = c.N
	}
	return of, err
}

// deliver turns events into deliveries. The log of a webhook gets one dropped event of those that it drops together.
func deliver(ctx context.Context, db *database.DB, events []int64, routes []route) error {
	var of []int64
	var to, from []int
	var dropped []bool
	full := map[int]bool{}
	for _, r := range routes {
		if r.dropped && full[r.Webhook] {
			continue
		}
		full[r.Webhook] = full[r.Webhook] || r.dropped
		of, to, from, dropped = append(of, r.Event), append(to, r.Webhook), append(from, r.Source), append(dropped, r.dropped)
	}
	err := db.Exec(ctx, `
		WITH taken AS (DELETE FROM webhook_outbox WHERE id = ANY($1) RETURNING id, event_id, event),
		made AS (INSERT INTO webhook_deliveries (webhook_id, owner_id, event_id, event, state, ended_at, error)
			SELECT u.webhook, nullif(u.source, 0), o.event_id, o.event, CASE WHEN u.dropped THEN 'DROPPED' ELSE 'WAITING' END, CASE WHEN u.dropped THEN now() END,
				CASE WHEN u.dropped THEN 'too many events were waiting for this webhook, for those of its owner, or of this experiment''s owner' ELSE '' END
			FROM unnest($2::bigint[], $3::int[], $4::int[], $5::bool[]) WITH ORDINALITY AS u(event, webhook, source, dropped, place) JOIN taken o ON o.id = u.event
			ORDER BY u.place RETURNING webhook_id, state),
		counts AS (SELECT webhook_id, count(*)::int AS n FROM made WHERE state = 'WAITING' GROUP BY 1)
		UPDATE webhooks w SET waiting = w.waiting + c.n FROM counts c WHERE w.id = c.webhook_id`, events, of, to, from, dropped)
	for id := range full {
		if err == nil && full[id] {
			err = prune(ctx, db, id)
		}
	}
	return err
}

// RecountWaiting corrects the numbers of waiting events. A new leader calls it.
func RecountWaiting(ctx context.Context, db *database.DB) error {
	return db.Exec(ctx, `UPDATE webhooks w SET waiting = c.n FROM (
			SELECT x.id, (SELECT count(*) FROM webhook_deliveries d WHERE d.webhook_id = x.id AND d.state = 'WAITING')::int AS n FROM webhooks x) c
		WHERE w.id = c.id AND w.waiting <> c.n`)
}
