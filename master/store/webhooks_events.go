package store

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/webhook"
)

// TopicWebhooks wakes the leader's sender: there are new events.
const TopicWebhooks = "webhooks"

// receives is true for a webhook w that receives events of v: of its workspace or of all
// workspaces, unless the experiment's configuration excludes webhooks, and for the mode
// SPECIFIC only if the configuration names the webhook.
const receives = `(w.workspace_id IS NULL OR w.workspace_id = v.workspace_id) AND v.hooks->'exclude' IS DISTINCT FROM 'true'
	AND (w.mode = 'WORKSPACE' OR v.hooks->'webhook_id' @> to_jsonb(w.id) OR v.hooks->'webhook_name' @> to_jsonb(w.name))`

// hooksOf is what the configuration of experiment e says about webhooks.
const hooksOf = `e.config #> '{integrations,webhooks}'`

// experimentOf are the facts about experiment e in an event, with project p and workspace s.
const experimentOf = `jsonb_build_object('id', e.id, 'state', e.state, 'name', left(e.name, 1000),
	'duration', floor(extract(epoch FROM coalesce(e.ended_at, now()) - e.started_at))::int,
	'resource_pool', e.pool, 'slots_per_trial', e.slots_per_trial, 'workspace', s.name, 'project', p.name,
	'unnamed', coalesce(e.config->>'workspace', '') = '')`

const experimentJoins = `experiments e JOIN projects p ON p.id = e.project_id JOIN workspaces s ON s.id = p.workspace_id`

// lockedWebhooks keeps the webhooks of an INSERT from being deleted before it ends. It skips
// those that are being deleted, so that nobody waits for a deletion.
const lockedWebhooks = ` FOR KEY SHARE OF w SKIP LOCKED`

// putEvents adds the rows of m to the outbox: webhook, workspace, event_id and event.
const putEvents = `INSERT INTO webhook_outbox (webhook_id, workspace_id, event_id, event) SELECT m.webhook, m.workspace, m.event_id, m.event FROM m`

// fireStateChange adds the event of an experiment's change to a state. It runs in the
// transaction that changes the state.
const fireStateChange = `
	INSERT INTO webhook_outbox (workspace_id, experiment_id, event)
	SELECT p.workspace_id, e.id, jsonb_build_object('event_type', 'EXPERIMENT_STATE_CHANGE',
		'timestamp', extract(epoch FROM now())::bigint, 'condition', jsonb_build_object('state', e.state), 'experiment', ` + experimentOf + `)
	FROM ` + experimentJoins + ` WHERE e.id = $1 AND e.state = $2
		AND EXISTS (SELECT FROM webhooks w WHERE w.workspace_id IS NULL OR w.workspace_id = p.workspace_id)`

// queueStateEvent adds the event of an experiment's change of state, if there is one.
func queueStateEvent(b *statements, id int, from, to string) {
	if from != to && webhook.Fires(to) {
		b.queue(fireStateChange, id, to)
	}
}

// FireCustom adds an event that a program or a user sends for an experiment, and returns the number of webhooks that receive it.
func (db *DB) FireCustom(ctx context.Context, experiment int, trial *int, custom webhook.CustomData) (int, error) {
	text, err := json.Marshal(custom)
	if err != nil {
		return 0, err
	}
	type counts struct {
		Matched int `db:"matched"`
		Open    int `db:"open"` // of these, webhooks that have room
		Before  int `db:"before"`
	}
	n, err := database.Row[counts](ctx, db.DB, "", `
		WITH v AS MATERIALIZED (
			SELECT p.workspace_id, `+hooksOf+` AS hooks,
				`+experimentOf+` || CASE WHEN $2::int IS NULL THEN '{}' ELSE jsonb_build_object('trial_id', $2::int) END AS experiment
			FROM `+experimentJoins+` WHERE e.id = $1),
		n AS MATERIALIZED (SELECT count(*) AS matched, count(*) FILTER (WHERE w.waiting < $4) AS open FROM v, webhooks w WHERE `+receives+` AND w.mode = 'SPECIFIC'
			AND EXISTS (SELECT FROM webhook_triggers t WHERE t.webhook_id = w.id AND t.type = 'CUSTOM')),
		x AS MATERIALIZED (SELECT count(*) AS before FROM (SELECT FROM webhook_outbox o WHERE o.workspace_id = (SELECT workspace_id FROM v) LIMIT $5) o),
		stored AS (INSERT INTO webhook_outbox (workspace_id, experiment_id, event)
			SELECT v.workspace_id, $1, jsonb_build_object('event_type', 'CUSTOM', 'timestamp', extract(epoch FROM now())::bigint,
				'condition', '{}'::jsonb, 'experiment', v.experiment, 'custom_data', $3::text::jsonb)
			FROM v, n, x WHERE n.open > 0 AND x.before < $5)
		SELECT n.matched, n.open, x.before FROM n, x`, experiment, trial, string(text), MaxWaiting, maxOutbox)
	switch {
	case err != nil:
		return 0, database.BadData(err)
	case n.Matched > 0 && n.Open == 0:
		return 0, fault.New(fault.TooMany, "%d events already wait for each webhook that the experiment names; try again later", MaxWaiting)
	case n.Open > 0 && n.Before >= maxOutbox:
		return 0, fault.New(fault.TooMany, "%d events of the experiment's workspace already wait to be sent to webhooks; try again later", maxOutbox)
	}
	return n.Open, nil
}
