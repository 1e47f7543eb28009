package metrics

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/webhook"
)

// fireThresholds adds the events of reports that exceed thresholds. It runs in the
// transaction that adds the reports to the summaries, which reads each report once. A trigger
// fires once for each trial.
func fireThresholds(ctx context.Context, db *database.DB, list []pendingRow) error {
	if len(list) == 0 {
		return nil
	}
	limits, err := webhook.Thresholds(ctx, db)
	if err != nil || len(limits) == 0 {
		return err
	}
	hits, err := exceeded(limits, list)
	if err != nil || len(hits) == 0 {
		return err
	}
	return webhook.FireThresholds(ctx, db, hits)
}

// exceeded returns the first report of each trial that exceeds each threshold.
func exceeded(limits []webhook.Threshold, list []pendingRow) (hits []webhook.ThresholdHit, err error) {
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
				if values, err = summary.Values(r.Metrics); err != nil {
					return nil, err
				}
			}
			number, _ := values[c.Metric].(json.Number) // "" for what is no number, which has no value
			value, noNumber := number.Float64()
			if noNumber != nil || !(c.Above != nil && value > *c.Above || c.Below != nil && value < *c.Below) {
				continue
			}
			seen[key{l.ID, r.TrialID}] = true
			h := webhook.ThresholdHit{Trigger: l.ID, Trial: r.TrialID, Value: value}
			if r.Steps != nil {
				h.Steps = *r.Steps
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
