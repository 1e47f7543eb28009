package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/memory"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
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
	aside *memory.Memory[int, struct{}] // trials
	moved time.Time                     // when the cursor was moved although there are no thresholds
}

func newThresholds(log *slog.Logger) *thresholds {
	return &thresholds{log: log, aside: memory.New[int, struct{}](asideFor, maxCachedTrials)}
}

// step compares the next reports, of which it reads at most so many, in one transaction. Where not even one report can be compared in time,
// most is 0: step sets the trial of the next report aside.
func (t *thresholds) step(ctx context.Context, db *database.DB, most int) (done summarized, err error) {
	ctx, cancel := context.WithTimeout(ctx, thresholdsTimeout)
	defer cancel()
	limits, err := webhook.Thresholds(ctx, db)
	if err != nil || len(limits) == 0 && time.Since(t.moved) < summarizeInterval {
		return done, err
	}
	rows := max(1, most)
	if len(limits) == 0 {
		rows, t.moved = 1, time.Now()
	}
	err = db.Tx(ctx, func(tx *database.DB) error {
		done = summarized{}
		from, upTo, ok, err := takeCursor(ctx, tx, thresholdCursor)
		if err != nil || !ok {
			return err
		}
		list, more, err := nextRows(ctx, tx, rowLimits{rows, summarizeStored, summarizeBytes}, beforeXID, from.XID, from.ID, upTo)
		if err != nil || len(list) == 0 {
			return err
		}
		done.read = len(list)
		if len(limits) == 0 {
			return moveCursor(ctx, tx, thresholdCursor, Position{upTo, 0})
		}
		if most == 0 {
			t.aside.Put(list[0].TrialID, struct{}{}, time.Now())
			t.log.Error("the reports of a trial are not compared with the thresholds of webhooks for a while", "trial_id", list[0].TrialID, "duration", asideFor)
		}
		n, err := t.fire(ctx, tx, limits, list)
		if err != nil {
			return err
		}
		to := Position{upTo, 0}
		if done.more = more || n < len(list); done.more {
			to = Position{list[n-1].XID, list[n-1].ID}
		}
		return moveCursor(ctx, tx, thresholdCursor, to)
	})
	return done, err
}

// fire adds the events of the first reports of a list, and returns the number of these reports.
func (t *thresholds) fire(ctx context.Context, tx *database.DB, limits []webhook.Threshold, list []pendingRow) (int, error) {
	now := time.Now()
	wanted, err := webhook.Wanted(ctx, tx, slices.DeleteFunc(reportedBy(list), func(trial int) bool {
		_, aside, _ := t.aside.Get(trial, now)
		return aside
	}))
	if err != nil {
		return 0, err
	}
	hits, n := exceeded(limits, wanted, list)
	if len(hits) == 0 {
		return n, nil
	}
	return n, webhook.FireThresholds(ctx, tx, hits)
}

// exceeded returns the first report of each trial that exceeds each threshold that is wanted for the trial, and how many reports of the list it
// has compared: it ends after maxHits.
func exceeded(limits []webhook.Threshold, wanted map[int][]int, list []pendingRow) (hits []webhook.ThresholdHit, n int) {
	type key struct{ trigger, trial int }
	seen := map[key]bool{}
	conditions := map[int]event.Condition{}
	for _, l := range limits {
		conditions[l.ID] = l.Condition
	}
	for _, r := range list {
		if len(hits) >= maxHits {
			break
		}
		n++
		var values map[string]any
		for _, id := range wanted[r.TrialID] {
			c := conditions[id]
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
			h := webhook.ThresholdHit{Trigger: id, Trial: r.TrialID, Value: value}
			if r.Steps != nil {
				h.Steps = *r.Steps
			}
			hits = append(hits, h)
		}
	}
	return hits, n
}

// mentions reports whether a report may have a metric, without decoding the report.
func mentions(report json.RawMessage, metric string) bool {
	name, err := json.Marshal(metric)
	return err != nil || bytes.Contains(report, name) || bytes.ContainsRune(report, '\\') || bytes.ContainsRune(name, '\\')
}
