package store

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/webhook"
)

// A threshold is a trigger for values of a metric.
type threshold struct {
	ID        int               `db:"id"`
	Condition webhook.Condition `db:"condition"`
}

// A thresholdHit is the first report of a trial that a threshold searches for.
type thresholdHit struct {
	trigger, trial, steps int
	value                 float64
}

// fireThresholds inserts the deliveries of reports that exceed thresholds. It runs in the
// transaction that adds the reports to the summaries, which reads each report once. A trigger
// fires once for each trial.
func (db *DB) fireThresholds(ctx context.Context, list []metricRow) error {
	if len(list) == 0 {
		return nil
	}
	limits, err := database.Rows[threshold](ctx, db.DB, `SELECT id, condition FROM webhook_triggers WHERE type = 'METRIC_THRESHOLD_EXCEEDED' ORDER BY id`)
	if err != nil || len(limits) == 0 {
		return err
	}
	hits, err := exceeded(limits, list)
	if err != nil || len(hits) == 0 {
		return err
	}
	n := len(hits)
	triggers, trials, steps, values := make([]int, n), make([]int, n), make([]int, n), make([]float64, n)
	for i, h := range hits {
		triggers[i], trials[i], steps[i], values[i] = h.trigger, h.trial, h.steps, h.value
	}
	_, err = db.Exec(ctx, `
		WITH u AS (SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::float8[]) AS u(trigger, trial, steps, value)),
		v AS MATERIALIZED (
			SELECT r.id AS trial, r.task_id, p.workspace_id, `+hooksOf+` AS hooks, `+experimentOf+` || jsonb_build_object('trial_id', r.id) AS experiment
			FROM `+experimentJoins+` JOIN trials r ON r.experiment_id = e.id WHERE r.id IN (SELECT trial FROM u)),
		m AS (SELECT w.id AS webhook, t.id AS trigger, v.task_id, v.workspace_id AS workspace, gen_random_uuid() AS event_id,
				jsonb_build_object('event_type', 'METRIC_THRESHOLD_EXCEEDED', 'timestamp', extract(epoch FROM now())::bigint, 'condition', t.condition,
					'experiment', v.experiment, 'metric', jsonb_build_object('name', t.condition->'metric', 'group', t.condition->'group', 'value', u.value, 'steps_completed', u.steps)) AS event
			FROM u JOIN v ON v.trial = u.trial JOIN webhook_triggers t ON t.id = u.trigger JOIN webhooks w ON w.id = t.webhook_id JOIN tasks k ON k.id = v.task_id
			WHERE `+receives+` FOR KEY SHARE OF w, t, k SKIP LOCKED),
		fired AS (INSERT INTO webhook_fired (trigger_id, task_id) SELECT trigger, task_id FROM m ORDER BY trigger, task_id ON CONFLICT DO NOTHING RETURNING trigger_id, task_id)
		`+putEvents+` JOIN fired ON fired.trigger_id = m.trigger AND fired.task_id = m.task_id`, triggers, trials, steps, values)
	return err
}

// exceeded returns the first report of each trial that exceeds each threshold.
func exceeded(limits []threshold, list []metricRow) (hits []thresholdHit, err error) {
	type key struct{ trigger, trial int }
	seen := map[key]bool{}
	for _, r := range list {
		var values map[string]any
		for _, l := range limits {
			c := l.Condition
			if r.Archived || r.Group != c.Group || seen[key{l.ID, r.TrialID}] || !mentions(r.Metrics, c.Metric) {
				continue
			}
			if values == nil {
				if values, err = reported(r.Metrics); err != nil {
					return nil, err
				}
			}
			number, _ := values[c.Metric].(json.Number) // "" for what is no number, which has no value
			value, noNumber := number.Float64()
			if noNumber != nil || !(c.Above != nil && value > *c.Above || c.Below != nil && value < *c.Below) {
				continue
			}
			seen[key{l.ID, r.TrialID}] = true
			h := thresholdHit{trigger: l.ID, trial: r.TrialID, value: value}
			if r.Steps != nil {
				h.steps = *r.Steps
			}
			hits = append(hits, h)
		}
	}
	return hits, nil
}

// mentions reports whether a report may have a metric, without decoding the report.
func mentions(report json.RawMessage, metric string) bool {
	name, err := json.Marshal(metric)
	return err != nil || bytes.Contains(report, name) || bytes.ContainsRune(report, '\\') || bytes.ContainsRune(name, '\\')
}
