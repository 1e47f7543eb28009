package control

import (
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/pace"
	"github.com/detent-ml/detent/master/queue"
)

// expected is what the stored forecasts say of an experiment.
func (b *bench) expected(experiment int) queue.ExpectedStart {
	b.t.Helper()
	b.settle()
	if err := b.term.foreseeNow(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	forecasts, err := queue.Forecasts(b.t.Context(), b.db)
	if err != nil {
		b.t.Fatal(err)
	}
	jobs, err := queue.Jobs(b.t.Context(), b.db, auth.Everywhere(), "default")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, j := range jobs {
		if j.ExperimentID != nil && *j.ExperimentID == experiment {
			return forecasts["default"].Expect(j)
		}
	}
	b.t.Fatalf("experiment %d has no job", experiment)
	return queue.ExpectedStart{}
}

// reports stores the progress of the only trial of an experiment, a step after the other; each step takes a minute.
func (b *bench) reports(experiment int, progress ...float64) {
	b.t.Helper()
	for _, p := range progress {
		b.exec(`UPDATE trials SET progress = $2 WHERE experiment_id = $1 AND number = 0`, experiment, p)
		b.settle()
		b.reported[experiment] = append(b.reported[experiment], p)
		b.aged(experiment, time.Minute)
	}
}

// aged makes the reports of an experiment's trial as old as if one had come each minute, and the newest so long ago.
func (b *bench) aged(experiment int, ago time.Duration) {
	x := &pace.Track{}
	for i, done := range b.reported[experiment] {
		x.Note(time.Now().Add(-ago-time.Duration(len(b.reported[experiment])-1-i)*time.Minute), done)
	}
	b.term.folds.paces.Put(b.newest(experiment), x)
}

// TestForecasts: what waits gets a start when the progress of what runs says when it ends, and else a reason.
func TestForecasts(t *testing.T) {
	b := newBench(t, "n1")
	const both = "resources: {slots_per_trial: 2}"
	runs := b.experiment(both)
	b.start(runs, 0)
	waits, last := b.experiment(both), b.experiment(both)
	unknown := func(experiment int, why string) {
		t.Helper()
		if got := b.expected(experiment); got.At != nil || !strings.Contains(got.Unknown, why) {
			t.Errorf("experiment %d starts %v (%s), want none: %s", experiment, got.At, got.Unknown, why)
		}
	}
	unknown(waits, "running tasks have no known end, such as experiment 1")
	b.reports(runs, 0.1, 0.2)
	unknown(waits, "running tasks have no known end")
	b.reports(runs, 0.3)
	got := b.expected(waits)
	if got.At == nil {
		t.Fatalf("no start after three reports: %s", got.Unknown)
	}
	// A tenth a minute: the last report was a minute ago, at 0.3.
	if left := time.Until(*got.At); left < 5*time.Minute || left > 7*time.Minute {
		t.Errorf("it starts in %v, want 6 minutes", left)
	}
	unknown(last, "running tasks have no known end, such as experiment 2")
	b.aged(runs, time.Hour)
	unknown(waits, "running tasks have no known end")

	b.exec(`UPDATE experiments SET desired = 'canceled' WHERE id = $1`, waits)
	b.exec(`UPDATE experiments SET desired = 'canceled' WHERE id = $1`, last)
	b.settle()
	if err := b.term.foreseeNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := b.int(`SELECT count(*) FROM forecasts`); n != 0 {
		t.Errorf("%d forecasts without a queue", n)
	}
}

// TestForecastOfASearch: when a trial ends, its search takes the slots for the next trial, before what is less important.
func TestForecastOfASearch(t *testing.T) {
	b := newBench(t, "n1")
	grid := b.submit("searcher: {name: grid, metric: loss, max_length: {batches: 9}, max_concurrent_trials: 1}\nhyperparameters: {x: {type: categorical, vals: [1, 2]}}\nresources: {slots_per_trial: 2}")
	b.start(grid, 0)
	less := b.experiment("resources: {slots_per_trial: 2}")
	b.exec(`UPDATE experiments SET priority = 90 WHERE id = $1`, less)
	b.settle()
	b.exec(`UPDATE allocations SET priority = 90 WHERE state = 'PENDING'`)
	b.reports(grid, 0.1, 0.2, 0.3)
	if got := b.expected(less); got.At != nil || !strings.Contains(got.Unknown, "running tasks have no known end") {
		t.Errorf("behind a search that goes on: %+v", got)
	}
	b.exec(`UPDATE allocations SET priority = 42 WHERE state = 'PENDING'`) // as important, and older than the next trial
	if got := b.expected(less); got.At == nil {
		t.Errorf("before the next trial of a search: %s", got.Unknown)
	}
}
