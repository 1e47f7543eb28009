package mlflow

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/mlflow/filter"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// oneRun is a run of TestRunsInTheOrderOfAMetric.
type oneRun struct {
	id, started int
	loss, score *float64
}

// compareRuns compares runs by MLflow's rules: a run without the metric comes last, then the later start counts, then the lower number.
func compareRuns(a, b oneRun, desc bool) int {
	switch {
	case a.loss != nil && b.loss != nil && *a.loss != *b.loss:
		if desc {
			return cmp.Compare(*b.loss, *a.loss)
		}
		return cmp.Compare(*a.loss, *b.loss)
	case (a.loss == nil) != (b.loss == nil):
		if a.loss == nil {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(b.started, a.started), cmp.Compare(a.id, b.id))
}

// TestRunsInTheOrderOfAMetric: a page of runs is the same whether their newest values are listed, in their summaries, or in none yet.
func TestRunsInTheOrderOfAMetric(t *testing.T) {
	w := rowtest.New(t)
	random := rand.New(rand.NewPCG(7, 7))
	exp := w.Experiment(rowtest.LossSearcher)
	list := make([]oneRun, 120)
	value := func() *float64 { return new(float64(random.IntN(20)) / 4) }
	for i := range list {
		r := &list[i]
		r.id, r.started = w.Trial(exp, i, 1), random.IntN(10)
		w.Exec(`UPDATE trials SET started_at = to_timestamp($2::int) WHERE id = $1`, r.id, r.started)
		if random.IntN(4) > 0 {
			r.loss, r.score = value(), value()
			w.Exec(`INSERT INTO trial_summaries (trial_id, summary) VALUES ($1, jsonb_build_object('validation_metrics', jsonb_build_object('loss', jsonb_build_object('last', $2::float8)),
				'avg_metrics', jsonb_build_object('loss', '{"last":-1}'::jsonb, 'score', jsonb_build_object('last', $3::float8))))`, r.id, *r.loss, *r.score)
		}
		if random.IntN(3) > 0 {
			w.Exec(`UPDATE trials SET state = 'COMPLETED', ended_at = now() WHERE id = $1`, r.id)
		}
	}
	lister := metrics.NewLister(w.DB)
	for more := true; more; {
		var err error
		if more, err = lister.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range list { // what is in no summary yet
		if r := &list[i]; random.IntN(6) == 0 {
			r.loss = value()
			w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) VALUES ($1, 1, 'validation', 1, 1, now(), jsonb_build_object('loss', $2::float8))`, r.id, *r.loss)
		}
	}
	if n := w.Int(`SELECT count(*) FROM trial_summaries WHERE listed = 'yes'`); n < 20 || n > 100 {
		t.Fatalf("%d of the runs are listed", n)
	}
	for range 200 {
		q := runSearch{page: page{offset: random.IntN(80), limit: 1 + random.IntN(60)}, order: []filter.Order{{Kind: filter.Metric, Name: "loss", Desc: random.IntN(2) == 0}}}
		sorted := slices.Clone(list)
		if random.IntN(2) == 0 {
			q.filter = []filter.Comparison{{Kind: filter.Metric, Name: "score", Op: "<", Number: new(3.0)}}
			sorted = slices.DeleteFunc(sorted, func(r oneRun) bool { return r.score == nil || *r.score >= 3 })
		}
		slices.SortFunc(sorted, func(a, b oneRun) int { return compareRuns(a, b, q.order[0].Desc) })
		want := []int{}
		for _, r := range sorted[min(q.offset, len(sorted)):min(q.offset+q.limit, len(sorted))] {
			want = append(want, r.id)
		}
		found, more, err := searchRuns(t.Context(), w.DB, auth.Scope{All: true}, q)
		if err != nil {
			t.Fatal(err)
		}
		got := []int{}
		for _, r := range found {
			got = append(got, r.ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || more != (len(sorted) > q.offset+q.limit) {
			t.Fatalf("%+v finds\n%v %t, want\n%v of %d", q, got, more, want, len(sorted))
		}
	}
}
