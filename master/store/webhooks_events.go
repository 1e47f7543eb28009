package store

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/webhook"
)

// TopicWebhooks wakes the leader's sender: there are new events.
const TopicWebhooks = "webhooks"

// MaxWaiting is the maximum number of events that wait for one webhook. Further ones are
// dropped, which the log of its deliveries shows.
const MaxWaiting = 10_000

// isFull is true for a webhook w for which as many events wait as may.
var isFull = `(SELECT count(*) >= ` + strconv.Itoa(MaxWaiting) + ` FROM (SELECT FROM webhook_deliveries d
	WHERE d.webhook_id = w.id AND d.state = 'WAITING' LIMIT ` + strconv.Itoa(MaxWaiting) + `) AS waiting)`

// receives is true for a webhook w that receives events of v: of its workspace or of all
// workspaces, unless the experiment's configuration excludes webhooks, and for the mode
// SPECIFIC only if the configuration names the webhook.
const receives = `(w.workspace_id IS NULL OR w.workspace_id = v.workspace_id) AND v.hooks->'exclude' IS DISTINCT FROM 'true'
	AND (w.mode = 'WORKSPACE' OR v.hooks->'webhook_id' @> to_jsonb(w.id) OR v.hooks->'webhook_name' @> to_jsonb(w.name))`

// hooksOf is what the configuration of experiment e says about webhooks.
const hooksOf = `e.config #> '{integrations,webhooks}'`

// experimentOf are the facts about experiment e in an event, with project p and workspace s.
const experimentOf = `jsonb_build_object('id', e.id, 'state', e.state, 'name', e.name,
	'duration', floor(extract(epoch FROM coalesce(e.ended_at, now()) - e.started_at))::int,
	'resource_pool', e.pool, 'slots_per_trial', e.slots_per_trial, 'workspace', s.name, 'project', p.name)`

const experimentJoins = `experiments e JOIN projects p ON p.id = e.project_id JOIN workspaces s ON s.id = p.workspace_id`

// lockedWebhooks keeps the webhooks of an INSERT from being deleted before it ends. It skips
// those that are being deleted, so that nobody waits for a deletion.
const lockedWebhooks = ` FOR KEY SHARE OF w SKIP LOCKED`

// putDeliveries inserts the rows of m: webhook, event_id, event and is_full.
const putDeliveries = `INSERT INTO webhook_deliveries (webhook_id, event_id, event, state, ended_at, error)
	SELECT m.webhook, m.event_id, m.event, CASE WHEN m.is_full THEN 'DROPPED' ELSE 'WAITING' END, CASE WHEN m.is_full THEN now() END,
		CASE WHEN m.is_full THEN 'too many events were waiting for this webhook' ELSE '' END
	FROM m`

// fireStateChange inserts the deliveries of an experiment's change to a state. It runs in the
// transaction that changes the state.
var fireStateChange = `
	WITH v AS MATERIALIZED (
		SELECT gen_random_uuid() AS event_id, e.state, p.workspace_id, ` + hooksOf + ` AS hooks, ` + experimentOf + ` AS experiment
		FROM ` + experimentJoins + ` WHERE e.id = $1 AND e.state = $2 AND EXISTS (SELECT FROM webhooks)),
	m AS (SELECT w.id AS webhook, v.event_id, ` + isFull + ` AS is_full, jsonb_build_object('event_type', 'EXPERIMENT_STATE_CHANGE',
			'timestamp', extract(epoch FROM now())::bigint, 'condition', jsonb_build_object('state', v.state), 'experiment', v.experiment) AS event
		FROM v, webhooks w WHERE ` + receives + ` AND EXISTS (SELECT FROM webhook_triggers t
			WHERE t.webhook_id = w.id AND t.type = 'EXPERIMENT_STATE_CHANGE' AND t.condition->>'state' = v.state)` + lockedWebhooks + `)
	` + putDeliveries

// queueStateEvent adds the event of an experiment's change of state, if there is one.
func queueStateEvent(b *statements, id int, from, to string) {
	if from != to && webhook.Fires(to) {
		b.queue(fireStateChange, id, to)
	}
}

// FireCustom inserts the deliveries of an event that a program or a user sends for an
// experiment, and returns their number.
func (db *DB) FireCustom(ctx context.Context, experiment int, trial *int, custom webhook.CustomData) (int, error) {
	text, err := json.Marshal(custom)
	if err != nil {
		return 0, err
	}
	type counts struct {
		Matched int `db:"matched"`
		Stored  int `db:"stored"`
	}
	n, err := row[counts](ctx, db, "", `
		WITH v AS MATERIALIZED (
			SELECT gen_random_uuid() AS event_id, p.workspace_id, `+hooksOf+` AS hooks,
				`+experimentOf+` || CASE WHEN $2::int IS NULL THEN '{}' ELSE jsonb_build_object('trial_id', $2::int) END AS experiment
			FROM `+experimentJoins+` WHERE e.id = $1),
		m AS (SELECT w.id AS webhook, v.event_id, `+isFull+` AS is_full, jsonb_build_object('event_type', 'CUSTOM', 'timestamp', extract(epoch FROM now())::bigint,
				'condition', '{}'::jsonb, 'experiment', v.experiment, 'custom_data', $3::text::jsonb) AS event
			FROM v, webhooks w WHERE `+receives+` AND w.mode = 'SPECIFIC'
				AND EXISTS (SELECT FROM webhook_triggers t WHERE t.webhook_id = w.id AND t.type = 'CUSTOM')`+lockedWebhooks+`),
		stored AS (`+putDeliveries+` WHERE NOT m.is_full RETURNING id)
		SELECT (SELECT count(*) FROM m) AS matched, (SELECT count(*) FROM stored) AS stored`, experiment, trial, string(text))
	if err == nil && n.Matched > 0 && n.Stored == 0 {
		return 0, fault.New(fault.TooMany, "%d events already wait for each webhook that the experiment names; try again later", MaxWaiting)
	}
	return n.Stored, badData(err)
}
