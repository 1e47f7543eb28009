package metrics_test

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestATrialAdoptsWhatFits: of the reports of its origin a trial gets the validations first and the newest, up to a number and up to bytes, and once.
func TestATrialAdoptsWhatFits(t *testing.T) {
	w := newWorld(t)
	origin := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 2)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, reported_at, steps, position, avg)
		SELECT $1, r, g, now(), n, n, jsonb_build_object('x', (SELECT string_agg(md5(format('%s %s', n, i)), '') FROM generate_series(1, 300) i))
		FROM generate_series(1, 20) n, unnest('{training,validation}'::text[]) g, generate_series(1, 2) r WHERE r = 2 OR n > 18`, origin)
	for _, c := range []struct {
		rows, bytes     int64
		trained, judged int // reports
	}{
		{1000, 64 << 20, 18, 18}, {7, 64 << 20, 0, 7}, {25, 64 << 20, 7, 18}, {1000, 50_000, 0, 6}, {1000, 1, 0, 1},
	} {
		trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0)
		for range 2 {
			w.Exec(`UPDATE trials SET origin_id = $2, origin_until = now(), past = true WHERE id = $1`, trial, origin)
			if err := metrics.AdoptAtMost(t.Context(), w.DB, trial, 18, c.rows, c.bytes); err != nil {
				t.Fatal(err)
			}
			got := w.Text(`SELECT format('%s %s to %s', count(*) FILTER (WHERE group_name = 'training'), count(*) FILTER (WHERE group_name = 'validation'), max(steps)) FROM metrics WHERE trial_id = $1`, trial)
			if want := fmt.Sprintf("%d %d to 18", c.trained, c.judged); got != want {
				t.Errorf("%d rows and %d bytes: %s, want %s", c.rows, c.bytes, got, want)
			}
		}
	}
}
