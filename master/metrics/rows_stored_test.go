package metrics_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestFullTrial: the reports of a trial are rejected when they take as much as those of one trial may, by every master and whether or not
// they are summarized; those of its nodes at half of it. Other trials go on.
func TestFullTrial(t *testing.T) {
	w := newWorld(t)
	experiment := w.Experiment(rowtest.LossSearcher)
	trial, other := w.Trial(experiment, 0, 1), w.Trial(experiment, 1, 1)
	m := w.limitedWriter(100_000)
	send := func(m *metrics.Writer, trial int, group string, n int) error {
		return m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: group, Steps: step(n), Metrics: raw(fmt.Sprintf(`{"loss": 1, "text": %q}`, noise(4000+n)))})
	}
	stored := func() int { return w.Int(`SELECT count(*) FROM metrics WHERE trial_id = $1`, trial) }
	for n := 1; n <= 200; n++ {
		if err := send(m, trial, "gpu", n); err != nil {
			if !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), "turn profiling off") {
				t.Error(err)
			}
			break
		}
		if n%10 == 0 {
			w.summarize()
		}
	}
	half := stored()
	if size := w.Int(`SELECT sum(pg_column_size(avg)) FROM metrics`); size < 40_000 || size > 70_000 {
		t.Errorf("the reports about nodes take %d bytes", size)
	}
	var err error
	for n := 1; n <= 200 && err == nil; n++ {
		err = send(m, trial, report.Training, n)
	}
	if !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), fmt.Sprintf("trial %d", trial)) || !strings.Contains(err.Error(), "the limit for one trial is 98 KiB") || !strings.Contains(err.Error(), "trial_metrics_mb") {
		t.Error(err)
	}
	full := stored()
	if size := w.Int(`SELECT sum(pg_column_size(avg)) FROM metrics`); full <= half || size < 90_000 || size > 130_000 {
		t.Errorf("all reports take %d bytes", size)
	}
	w.summarize()
	if n := w.Int(`SELECT bytes FROM trial_summaries WHERE trial_id = $1`, trial); n < 100_000 || n > 140_000 {
		t.Errorf("the summarizer counts %d bytes", n)
	}
	if err := send(w.limitedWriter(100_000), trial, report.Validation, 1); !fault.Is(err, fault.TooLarge) {
		t.Errorf("another master: %v", err)
	}
	if err := send(m, other, report.Training, 1); err != nil || stored() != full {
		t.Errorf("another trial: %v", err)
	}
}

// TestFullTrialAmongOthers: in one commit, the reports of a full trial are rejected and the others are stored.
func TestFullTrialAmongOthers(t *testing.T) {
	w := newWorld(t)
	experiment := w.Experiment(rowtest.LossSearcher)
	var batch []*database.Queued[*metrics.Report]
	m := w.limitedWriter(100_000)
	for i := range 6 {
		r := metrics.Report{TrialID: w.Trial(experiment, i, 1), RunID: 1, Group: report.Training, Steps: step(1), Metrics: raw(`{"loss": 1}`)}
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		batch = append(batch, &database.Queued[*metrics.Report]{Item: &r})
		if i%3 == 1 {
			w.Exec(`INSERT INTO trial_summaries (trial_id, bytes) VALUES ($1, 100000)`, r.TrialID)
		}
	}
	m.Flush(batch)
	for i, q := range batch {
		if full := i%3 == 1; full != fault.Is(q.Err, fault.TooLarge) || !full && q.Err != nil {
			t.Errorf("report %d: %v", i, q.Err)
		}
	}
	if n := w.Int(`SELECT count(*) FROM metrics`); n != 4 {
		t.Errorf("%d reports are stored", n)
	}
}

// noise is text that does not compress to less than half.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, uint64(n))) //nolint:gosec // no secret
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}
