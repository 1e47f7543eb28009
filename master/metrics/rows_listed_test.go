package metrics_test

import (
	"context"
	"testing"

	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// listed are the listed values of a trial.
func (w *world) listed(trial int) string {
	return w.Text(`SELECT concat_ws(' ', (SELECT listed FROM trial_summaries WHERE trial_id = $1), (SELECT string_agg(n.name || '=' || v.value, ' ' ORDER BY n.name)
		FROM newest_values v JOIN (VALUES ('loss'), ('both'), ('system/cpu'), ('text'), ('nan'), ('own')) n (name) ON v.metric = metric_key(n.name) WHERE v.trial_id = $1))`, trial)
}

func (w *world) list() {
	w.T.Helper()
	l := metrics.NewLister(w.DB)
	for more := true; more; {
		var err error
		if more, err = l.List(context.Background()); err != nil {
			w.T.Fatal(err)
		}
	}
}

// TestNewestValuesAreListed: a trial that has ended is listed, with the value of each metric that MLflow's clients see, and it is no longer
// when its summary changes.
func TestNewestValuesAreListed(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	trial, large, runs := w.Trial(exp, 0, 1), w.Trial(exp, 1, 1), w.Trial(exp, 2, 1)
	w.Exec(`INSERT INTO trial_summaries (trial_id, summary) VALUES ($1, '{"avg_metrics":{"loss":{"last":1},"both":{"last":2},"nan":{"last":"NaN"},"text":{"last":"a"}},
		"validation_metrics":{"loss":{"last":3},"both":{"last":4},"nan":{"last":5}},"system":{"system/cpu":{"last":6},"both":{"last":7}},"others":{"own":{"last":8}}}')`, trial)
	w.Exec(`INSERT INTO trial_summaries (trial_id, summary) SELECT $1, jsonb_build_object('avg_metrics', jsonb_object_agg('m' || n, jsonb_build_object('last', n))) FROM generate_series(0, 500) n`, large)
	w.Exec(`INSERT INTO trial_summaries (trial_id, summary) VALUES ($1, '{"avg_metrics":{"loss":{"last":1}}}')`, runs)
	w.Exec(`UPDATE trials SET state = 'COMPLETED', ended_at = now() WHERE id = ANY($1)`, []int{trial, large})
	w.list()
	for id, want := range map[int]string{trial: "yes both=2 loss=3 system/cpu=6", large: "large", runs: "no"} {
		if got := w.listed(id); got != want {
			t.Errorf("trial %d is listed as %q, want %q", id, got, want)
		}
	}
	w.Exec(`UPDATE trial_summaries SET bytes = 1, stale = true`)
	if got := w.listed(trial); got != "yes both=2 loss=3 system/cpu=6" {
		t.Errorf("the summary is as before, but listed as %q", got)
	}
	w.Exec(`UPDATE trial_summaries SET summary = '{"avg_metrics":{"loss":{"last":9}}}'`)
	w.list()
	if got := w.listed(trial); got != "no" {
		t.Errorf("a stale summary that has changed is listed as %q", got)
	}
	w.Exec(`UPDATE trial_summaries SET stale = false`)
	w.list()
	for id, want := range map[int]string{trial: "yes loss=9", large: "yes loss=9"} {
		if got := w.listed(id); got != want {
			t.Errorf("trial %d is listed as %q, want %q", id, got, want)
		}
	}
	w.Exec(`DELETE FROM trials WHERE id = $1`, trial)
	if n := w.Int(`SELECT count(*) FROM newest_values`); n != 1 {
		t.Errorf("%d values are left", n)
	}
}

// TestWideTrialsAreListed: if the database cannot list many metrics at once, fewer trials are listed at once, and a trial whose metrics are
// still too many stays unlisted, but not those after it.
func TestWideTrialsAreListed(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	const trials, wide = 40, 3
	for i := range trials {
		n := 100
		if i == wide {
			n = 400
		}
		trial := w.Trial(exp, i, 1)
		w.Exec(`INSERT INTO trial_summaries (trial_id, summary) SELECT $1, jsonb_build_object('avg_metrics', jsonb_object_agg('m' || n, jsonb_build_object('last', n))) FROM generate_series(1, $2) n`, trial, n)
	}
	w.Exec(`UPDATE trials SET state = 'COMPLETED', ended_at = now()`)
	w.Exec(`CREATE FUNCTION too_many() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF (SELECT count(*) FROM fresh) > 300 THEN RAISE query_canceled USING MESSAGE = 'canceling statement due to statement timeout'; END IF; RETURN NULL; END $$`)
	w.Exec(`CREATE TRIGGER too_many AFTER INSERT ON newest_values REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION too_many()`)
	l := metrics.NewLister(w.DB)
	for looks := 0; w.Int(`SELECT count(*) FROM trial_summaries WHERE listed = 'no'`) > 0; looks++ {
		more, err := l.List(t.Context())
		if looks > 200 || err == nil && !more && w.Int(`SELECT count(*) FROM trial_summaries WHERE listed = 'no'`) > 0 {
			t.Fatalf("look %d: more %t, %v", looks, more, err)
		}
	}
	if got := w.Text(`SELECT string_agg(t.number::text, ' ') FROM trial_summaries s JOIN trials t ON t.id = s.trial_id WHERE s.listed = 'large'`); got != "3" {
		t.Errorf("unlisted are %q, want the trial with 400 metrics", got)
	}
	if n := w.Int(`SELECT count(*) FROM newest_values`); n != 100*(trials-1) {
		t.Errorf("%d values are listed, want those of the other trials", n)
	}
}
