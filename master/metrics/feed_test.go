package metrics_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// The feed reads long reports a page at a time, and drops a reader with megabytes that it has not read. What the
// reader then reads as missed has every report once, in pages of a megabyte.
func TestFeedOfLongReports(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	feed := metrics.NewFeed(ctx, w.DB, w.Bus)
	ch, from, cancel, err := feed.Watch(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	const n, bytes = 60, 400_000
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at)
		SELECT $1, 1, 'training', n, n, jsonb_build_object('text', repeat('x', $2)), now() FROM generate_series(1, $3) AS n`, trial, bytes, n)
	dropped := make(chan struct{})
	go func() {
		feed.Wait() // until it has no reader any more
		close(dropped)
	}()
	select {
	case <-dropped:
	case <-time.After(30 * time.Second):
		t.Fatal("the feed keeps a reader that reads nothing")
	}
	waiting := 0
	for list := range ch {
		waiting += len(list)
		if size := len(list) * bytes; size > metrics.PageBytes+bytes {
			t.Errorf("a result of %d bytes", size)
		}
	}
	if waiting == 0 || waiting*bytes > 2*metrics.FeedBytes {
		t.Errorf("%d reports of %d bytes wait for a reader", waiting, bytes)
	}
	_, now, done, err := feed.Watch(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	steps, pages := "", 0
	if err := metrics.EachBetween(t.Context(), w.DB, []int{trial}, from, now, func(page []metrics.Row) error {
		pages++
		for _, m := range page {
			steps += fmt.Sprint(" ", *m.Steps)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := ""
	for i := range n {
		want += fmt.Sprint(" ", i+1)
	}
	if steps != want || pages < n*bytes/metrics.PageBytes/2 {
		t.Errorf("missed in %d pages:%s", pages, steps)
	}
}
