package webhook

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/webhook/event"
)

// Topic wakes the leader's sender: there are new events.
const Topic = "webhooks"

// ListedBy is SQL for the ids of the webhooks with mode SPECIFIC that the configuration of experiment e names; NULL if it names none at all.
const ListedBy = `CASE WHEN e.hook_ids IS NOT NULL OR e.hook_names IS NOT NULL THEN ARRAY(SELECT w.id FROM webhooks w
	WHERE w.mode = 'SPECIFIC' AND (w.id = ANY(e.hook_ids) OR w.name_md5 = ANY(e.hook_names))) END`

// hooksOf are the columns of experiment e, or none, that receives reads of v.
const hooksOf = `e.hooks_excluded, e.hook_ids, e.hook_names`

// receives is true for a webhook w that receives events of v, which has an experiment_id and a workspace_id: of its workspace or of all
// workspaces, unless the experiment's configuration excludes webhooks, and for the mode SPECIFIC only if the configuration names the
// webhook. PostgreSQL makes each list after IN once for the whole statement, as a hash table, so a pair of an event and a webhook costs
// the same whatever the configuration names.
const receives = `NOT w.off AND (w.workspace_id IS NULL OR w.workspace_id = v.workspace_id) AND v.hooks_excluded IS NOT TRUE
	AND (w.mode = 'WORKSPACE' OR (v.experiment_id, w.id) IN (SELECT x.experiment_id, unnest(x.hook_ids) FROM v x)
		OR (v.experiment_id, w.name_md5) IN (SELECT x.experiment_id, unnest(x.hook_names) FROM v x))`

// experimentOf are the facts about experiment e in an event, with project p and workspace s. Events of many experiments are made in the
// transactions of the leader and of the summarizer, so these facts are in narrow columns.
const experimentOf = `jsonb_build_object('id', e.id, 'state', e.state, 'name', left(e.name, 1000),
	'duration', floor(extract(epoch FROM coalesce(e.ended_at, now()) - e.started_at))::int,
	'resource_pool', e.pool, 'slots_per_trial', e.slots_per_trial, 'workspace', s.name, 'project', p.name,
	'unnamed', e.unnamed)`

const experimentJoins = `experiments e JOIN projects p ON p.id = e.project_id JOIN workspaces s ON s.id = p.workspace_id`

// lockedWebhooks keeps the webhooks of an INSERT from being deleted before it ends. It skips
// those that are being deleted, so that nobody waits for a deletion.
const lockedWebhooks = ` FOR KEY SHARE OF w SKIP LOCKED`

// PutEvents adds the rows of m to the outbox: webhook, workspace, event_id and event.
const PutEvents = `INSERT INTO webhook_outbox (webhook_id, workspace_id, event_id, event) SELECT m.webhook, m.workspace, m.event_id, m.event FROM m`

// stateChanges adds the event of an experiment's change to a state. It runs in the
// transaction that changes the state.
const stateChanges = `
	INSERT INTO webhook_outbox (workspace_id, experiment_id, event)
	SELECT p.workspace_id, e.id, jsonb_build_object('event_type', 'EXPERIMENT_STATE_CHANGE',
		'timestamp', extract(epoch FROM now())::bigint, 'condition', jsonb_build_object('state', e.state), 'experiment', ` + experimentOf + `)
	FROM ` + experimentJoins + ` WHERE e.id = $1 AND e.state = $2
		AND EXISTS (SELECT FROM webhooks w WHERE w.workspace_id IS NULL OR w.workspace_id = p.workspace_id)`

// QueueStateChange adds the event of an experiment's change of state to the statements of a transaction, if there is one.
func QueueStateChange(queue func(sql string, args ...any), id int, from, to string) {
	if from != to && event.Fires(to) {
		queue(stateChanges, id, to)
	}
}

// FireStateChange adds the event of a change that a program made. Programs may change a state at any rate, unlike the loop.
func FireStateChange(ctx context.Context, db *database.DB, id int, to string) error {
	return db.Exec(ctx, stateChanges+` AND (SELECT count(*) FROM (SELECT FROM webhook_outbox o WHERE o.workspace_id = p.workspace_id LIMIT $3) o) < $3`, id, to, maxOutbox)
}

// FireCustom adds an event that a program or a user sends for an experiment, and returns the number of webhooks that receive it.
func FireCustom(ctx context.Context, db *database.DB, experiment int, trial *int, custom event.CustomData) (int, error) {
	text, err := json.Marshal(custom)
	if err != nil {
		return 0, err
	}
	type counts struct {
		Matched int `db:"matched"`
		Open    int `db:"open"` // of these, webhooks that have room
		Before  int `db:"before"`
	}
	n, err := database.Row[counts](ctx, db, "", `
		WITH v AS MATERIALIZED (
			SELECT e.id AS experiment_id, p.workspace_id, `+hooksOf+`,
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

// A Threshold is a trigger for values of a metric.
type Threshold struct {
	ID        int             `db:"id"`
	Condition event.Condition `db:"condition"`
}

// A ThresholdHit is the first report of a trial that a threshold searches for.
type ThresholdHit struct {
	Trigger, Trial, Steps int
	Value                 float64
}

// Thresholds lists the thresholds of all webhooks.
func Thresholds(ctx context.Context, db *database.DB) ([]Threshold, error) {
	return database.Rows[Threshold](ctx, db, `SELECT id, condition FROM webhook_triggers WHERE type = 'METRIC_THRESHOLD_EXCEEDED' ORDER BY id`)
}

// Wanted returns the thresholds that the reports of trials may exceed, by trials: those of the webhooks that receive a trial's events, without
// those that have fired for it. Trials have none while maxOwnerWaiting events of their workspace's owner wait to be spread: the owner's webhooks
// have no room for more.
func Wanted(ctx context.Context, db *database.DB, trials []int) (map[int][]int, error) {
	return database.Map[int, []int](ctx, db, `
		WITH v AS MATERIALIZED (SELECT e.id AS experiment_id, p.workspace_id, s.owner_id, `+hooksOf+` FROM `+experimentJoins+` WHERE e.id IN (SELECT experiment_id FROM trials WHERE id = ANY($1))),
		filled AS MATERIALIZED (SELECT f.owner_id FROM (SELECT DISTINCT owner_id FROM v) f WHERE $2 <= (SELECT count(*) FROM (SELECT FROM workspaces s JOIN webhook_outbox o ON o.workspace_id = s.id WHERE s.owner_id = f.owner_id LIMIT $2) o)),
		m AS MATERIALIZED (SELECT v.experiment_id, t.id AS trigger FROM webhook_triggers t JOIN webhooks w ON w.id = t.webhook_id JOIN v ON `+receives+` WHERE t.type = 'METRIC_THRESHOLD_EXCEEDED' AND v.owner_id NOT IN (SELECT owner_id FROM filled))
		SELECT r.id, array_agg(m.trigger ORDER BY m.trigger) FROM trials r JOIN m ON m.experiment_id = r.experiment_id
		WHERE r.id = ANY($1) AND NOT EXISTS (SELECT FROM webhook_fired f WHERE f.trigger_id = m.trigger AND f.task_id = r.task_id) GROUP BY r.id`, trials, maxOwnerWaiting)
}

// FireThresholds adds the events of reports that exceed thresholds that are wanted, in their order. A trigger fires once for each trial.
func FireThresholds(ctx context.Context, db *database.DB, hits []ThresholdHit) error {
	n := len(hits)
	triggers, trials, steps, values := make([]int, n), make([]int, n), make([]int, n), make([]float64, n)
	for i, h := range hits {
		triggers[i], trials[i], steps[i], values[i] = h.Trigger, h.Trial, h.Steps, h.Value
	}
	return db.Exec(ctx, `
		WITH u AS (SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::float8[]) WITH ORDINALITY AS u(trigger, trial, steps, value, place)),
		v AS MATERIALIZED (SELECT r.id AS trial, r.task_id, p.workspace_id, `+experimentOf+` || jsonb_build_object('trial_id', r.id) AS experiment
			FROM `+experimentJoins+` JOIN trials r ON r.experiment_id = e.id WHERE r.id IN (SELECT trial FROM u)),
		m AS (SELECT u.place, w.id AS webhook, t.id AS trigger, v.task_id, v.workspace_id AS workspace, gen_random_uuid() AS event_id,
				jsonb_build_object('event_type', 'METRIC_THRESHOLD_EXCEEDED', 'timestamp', extract(epoch FROM now())::bigint, 'condition', t.condition,
					'experiment', v.experiment, 'metric', jsonb_build_object('name', t.condition->'metric', 'group', t.condition->'group', 'value', u.value, 'steps_completed', u.steps)) AS event
			FROM u JOIN v ON v.trial = u.trial JOIN webhook_triggers t ON t.id = u.trigger JOIN webhooks w ON w.id = t.webhook_id JOIN tasks k ON k.id = v.task_id FOR KEY SHARE OF w, t, k SKIP LOCKED),
		fired AS (INSERT INTO webhook_fired (trigger_id, task_id) SELECT trigger, task_id FROM m ORDER BY trigger, task_id ON CONFLICT DO NOTHING RETURNING trigger_id, task_id)
		`+PutEvents+` JOIN fired ON fired.trigger_id = m.trigger AND fired.task_id = m.task_id ORDER BY m.place`, triggers, trials, steps, values)
}
