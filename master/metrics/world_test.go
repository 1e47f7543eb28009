package metrics_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/sleep"
)

// world is a database, with the rows of other rooms that a test of metrics needs.
type world struct{ *rowtest.World }

func newWorld(t testing.TB) *world { t.Helper(); return &world{rowtest.New(t)} }

// step returns a pointer to a number of steps.
func step(n int) *int { return &n }

// writer returns a writer of reports, as that of another master.
func (w *world) writer() *metrics.Writer { return writerOf(w.DB, w.Bus) }

// limitedWriter is a writer of reports by a limit of bytes for each trial.
func (w *world) limitedWriter(limit int64) *metrics.Writer {
	return metrics.NewWriter(w.DB, w.Bus, limit, metrics.Searches{Add: experiments.AppendValidations, Topic: lifecycle.TopicEvents})
}

func writerOf(db *database.DB, bus *database.Bus) *metrics.Writer {
	return metrics.NewWriter(db, bus, 0, metrics.Searches{Add: experiments.AppendValidations, Topic: lifecycle.TopicEvents})
}

// summarize adds all rows to the summaries. It repeats, because transactions of other tests on
// the same server delay the summarizer.
func (w *world) summarize() {
	w.T.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		more, err := metrics.Summarize(context.Background(), w.DB)
		if err != nil {
			w.T.Fatal(err)
		}
		done, err := metrics.CaughtUp(context.Background(), w.DB)
		if err != nil {
			w.T.Fatal(err)
		}
		if done && !more {
			return
		}
		_ = sleep.For(context.Background(), 2*time.Millisecond)
	}
	w.T.Fatal("the summaries do not catch up")
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }
