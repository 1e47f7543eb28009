package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/webhook"
)

const (
	maxHits           = 1000             // events of one transaction, after which it ends
	thresholdsTimeout = 5 * time.Second  // for one transaction
	asideFor          = 10 * time.Minute // that the reports of a trial are not compared after one of them could not be
)

// thresholds compares reports with the thresholds of webhooks, behind a cursor of their own: summaries wait for no events, of which reports
// can cause very many.
type thresholds struct {
	log   *slog.Logger
	aside *cache.Cache[int, struct{}] // trials
}

func newThresholds(log *slog.Logger) *thresholds {
	return &thresholds{log, cache.New[int, struct{}](asideFor, maxCachedTrials)}
}

// step compares the next reports, of which it reads at most so many, in one transaction. Where not even one report can be compared in time,
// most is 0: step sets the trial of the next report aside.
func (t *thresholds) step(ctx context.Context, db *database.DB, most int) (done summarized, err error) {
	limits, err := webhook.Thresholds(ctx, db)
	if err != nil || len(limits) == 0 {
		return done, err
	}
	return next(ctx, db, thresholdCursor, reported, thresholdsTimeout, most, func(ctx context.Context, tx *database.DB, list []pendingRow, _ *summarized) (int, error) {
		now := time.Now()
		if most == 0 {
			t.aside.Put(list[0].TrialID, struct{}{}, now)
			t.log.Error("the reports of a trial are not compared with the thresholds of webhooks for a while", "trial_id", list[0].TrialID, "duration", asideFor)
		}
		wanted, err := webhook.Wanted(ctx, tx, slices.DeleteFunc(reportedBy(list), func(trial int) bool {
			_, aside, _ := t.aside.Get(trial, now)
			return aside
		}))
		hits, n := exceeded(limits, wanted, list)
		if err == nil && len(hits) > 0 {
			err = webhook.FireThresholds(ctx, tx, hits)
		}
		return n, err
	})
}

// exceeded returns the first report of each trial that exceeds each threshold that is wanted for the trial, and how many reports of the list it
// has compared: it ends after maxHits.
func exceeded(limits []webhook.Threshold, wanted map[int][]int, list []pendingRow) (hits []webhook.ThresholdHit, n int) {
	type key struct{ trigger, trial int }
	seen := map[key]bool{}
	known := each.Keyed(limits, func(l webhook.Threshold) int { return l.ID })
	for ; n < len(list) && len(hits) < maxHits; n++ {
		r := list[n]
		var values map[string]any
		for _, id := range wanted[r.TrialID] {
			c := known[id].Condition
			if r.Archived || r.Group != c.Group || seen[key{id, r.TrialID}] || !mentions(r.Metrics, c.Metric) {
				continue
			}
			if values == nil {
				values, _ = summary.Values(r.Metrics) // what cannot be read exceeds nothing
			}
			number, _ := values[c.Metric].(json.Number) // "" for what is no number, which has no value
			value, noNumber := number.Float64()
			if noNumber != nil || !(c.Above != nil && value > *c.Above || c.Below != nil && value < *c.Below) {
				continue
			}
			seen[key{id, r.TrialID}] = true
			hits = append(hits, webhook.ThresholdHit{Trigger: id, Trial: r.TrialID, Value: value, Steps: optional.Value(r.Steps)})
		}
	}
	return hits, n
}

// mentions reports whether a report may have a metric, without decoding the report.
func mentions(report json.RawMessage, metric string) bool {
	name, err := json.Marshal(metric)
	return err != nil || bytes.Contains(report, name) || bytes.ContainsRune(report, '\\') || bytes.ContainsRune(name, '\\')
}
