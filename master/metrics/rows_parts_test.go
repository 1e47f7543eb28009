package metrics_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// A scene is a trial that reports metrics one by one, in any order of its steps, while its summary is folded and rebuilt.
type scene struct {
	*world
	m          *metrics.Writer
	trial, run int
	at         map[string]int  // the last step of each metric, by group and name
	values     map[string]int  // and its value
	reported   map[string]int  // the value of a metric of this run at a step
	revised    map[string]bool // metrics of which an earlier value was replaced: a search may find it for the newest until it is in the summary
}

var groups = map[string]string{"a": "training", "b": "training", "loss": "validation", "acc": "validation"}

// log reports a metric at a step that is not before its last one.
func (s *scene) log(t *rapid.T, report func(metrics.Report) error) {
	name, again := rapid.SampledFrom([]string{"a", "b", "loss", "acc"}).Draw(t, "name"), rapid.IntRange(0, 3).Draw(t, "steps")
	value := rapid.IntRange(-3, 9).Draw(t, "value")
	at := s.at[name] + again
	key := fmt.Sprint(name, " ", at)
	newer := rapid.IntRange(0, 7).Draw(t, "newer") == 0
	if was, twice := s.reported[key]; twice && !newer {
		value = was
	}
	err := report(metrics.Report{TrialID: s.trial, RunID: s.run, Group: groups[name], Steps: step(at), Metrics: raw(fmt.Sprintf(`{%q: %d}`, name, value)), Newer: newer})
	if err != nil {
		t.Fatalf("%s = %d: %v", key, value, err)
	}
	s.at[name], s.values[name], s.reported[key] = at, value, value
}

// revises replaces a value of an earlier step of this run.
func (s *scene) revises(t *rapid.T) {
	keys := slices.Sorted(maps.Keys(s.reported))
	if len(keys) == 0 {
		return
	}
	key, value := rapid.SampledFrom(keys).Draw(t, "of"), rapid.IntRange(-3, 9).Draw(t, "value")
	var name string
	var at int
	if _, err := fmt.Sscan(key, &name, &at); err != nil {
		t.Fatal(err)
	}
	err := s.m.Report(context.Background(), metrics.Report{TrialID: s.trial, RunID: s.run, Group: groups[name], Steps: step(at), Metrics: raw(fmt.Sprintf(`{%q: %d}`, name, value)), Newer: true})
	if err != nil {
		t.Fatalf("%s = %d: %v", key, value, err)
	}
	if s.reported[key] = value; at == s.at[name] {
		s.values[name] = value
	} else {
		s.revised[name] = true
	}
}

// restarts begins the next run from a step, as the claim of an attempt does.
func (s *scene) restarts(t *rapid.T) {
	from := rapid.IntRange(0, 12).Draw(t, "from")
	s.Exec(`UPDATE trials SET run_id = run_id + 1 WHERE id = $1`, s.trial)
	s.run++
	if _, err := metrics.ArchiveBeyond(context.Background(), s.DB, s.trial, s.run, from, 1000); err != nil {
		t.Fatal(err)
	}
	for name := range s.at {
		s.at[name] = from + 1
	}
	clear(s.values)
	clear(s.reported)
	clear(s.revised)
}

// keys are the groups of summaries.
var keys = map[string]string{"training": "avg_metrics", "validation": "validation_metrics"}

// found compares what a search finds with what was reported.
func (s *scene) found(t *rapid.T) {
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		if s.revised[name] || rapid.IntRange(0, 2).Draw(t, "look") > 0 {
			continue
		}
		got := s.Text(`SELECT coalesce(w.`+groups[name]+` -> $2, s.summary -> $3 -> $2 -> 'last', '"none"')::text
			FROM trials t LEFT JOIN trial_summaries s ON s.trial_id = t.id LEFT JOIN `+metrics.WaitingValues+` w ON w.trial_id = t.id WHERE t.id = $1`, s.trial, name, keys[groups[name]])
		if got != fmt.Sprint(s.values[name]) {
			t.Fatalf("a search finds %s for %s, which was reported as %d", got, name, s.values[name])
		}
	}
}

// whole is the summary of the trial.
func (s *scene) whole() string {
	s.summarize()
	return s.Text(`SELECT coalesce(max(concat_ws(' ', jsonb_pretty(summary), total_batches, latest_run, latest_steps, best_run, best_steps, searcher_value, incomplete)), '')
		FROM trial_summaries WHERE trial_id = $1`, s.trial)
}

// counted compares the summary with the rows of the trial.
func (s *scene) counted(t *rapid.T) {
	s.summarize()
	clear(s.revised)
	s.equals(t)
	if n := s.Int(`SELECT (SELECT count(*) FROM metric_parts) + (SELECT count(*) FROM summary_rebuilds)`); n != 0 {
		t.Fatalf("%d parts and rebuilds are left", n)
	}
}

// folded compares it when all rows were folded and no rebuild is needed.
func (s *scene) folded(t *rapid.T) {
	_, err := metrics.Fold(context.Background(), s.DB)
	if err != nil {
		t.Fatal(err)
	}
	done, err := metrics.CaughtUp(context.Background(), s.DB)
	if err != nil {
		t.Fatal(err)
	}
	if done {
		s.equals(t)
	}
}

func (s *scene) equals(t *rapid.T) {
	for name, last := range s.values {
		got := s.Text(`SELECT concat_ws(' ', x->>'count', x->>'sum', x->>'min', x->>'max', x->>'last') FROM (SELECT summary -> $2 -> $3 AS x FROM trial_summaries WHERE trial_id = $1) s`, s.trial, keys[groups[name]], name)
		want := s.Text(`SELECT concat_ws(' ', count(*), sum(v), min(v), max(v), $4::text) FROM (SELECT (avg ->> $3)::int AS v FROM metrics
			WHERE trial_id = $1 AND group_name = $2 AND NOT archived AND avg ? $3) m`, s.trial, groups[name], name, fmt.Sprint(last))
		if got != want {
			t.Fatalf("%s: the summary has %s, the rows have %s", name, got, want)
		}
	}
}

// rarely runs an action in one of three cases: what changes much hides what went wrong before.
func rarely(action func(*rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) {
		if rapid.IntRange(0, 2).Draw(t, "rarely") == 0 {
			action(t)
		}
	}
}

// actions are what happens to the trial.
func (s *scene) actions() map[string]func(*rapid.T) {
	ctx := context.Background()
	fold := func(t *rapid.T) {
		if err := metrics.FoldSome(ctx, s.DB, rapid.IntRange(1, 8).Draw(t, "rows")); err != nil {
			t.Fatal(err)
		}
	}
	report := func(t *rapid.T) { s.log(t, func(r metrics.Report) error { return s.m.Report(ctx, r) }) }
	rebuild := func(t *rapid.T) {
		s.Exec(`UPDATE trial_summaries SET rebuild_at = NULL WHERE stale`)
		if _, err := metrics.RebuildDue(ctx, s.DB); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(*rapid.T){
		"report": report, "report again": report, "report once more": report, "fold": fold, "fold again": fold, "rebuild": rebuild, "rebuild again": rebuild,
		"fold while a report is stored": func(t *rapid.T) {
			s.log(t, func(r metrics.Report) error {
				return s.DB.Tx(ctx, func(tx *database.DB) error {
					err := s.m.ReportIn(ctx, tx, r)
					fold(t)
					return err
				})
			})
		},
		"restart": rarely(s.restarts),
		"stale": func(t *rapid.T) {
			if err := metrics.MarkStale(ctx, s.DB, s.trial); err != nil {
				t.Fatal(err)
			}
			rebuild(t)
		},
		"count": s.counted, "count what was folded": s.folded, "revise": s.revises, "revise again": rarely(s.revises),
		"": s.found,
	}
}

// Whatever is reported, merged, replaced and archived, and whenever the loops look: a summary has each value once, as if it were made from the rows
// of its trial alone; and a search finds what was reported last.
func TestSummariesOfMergedReports(t *testing.T) {
	w := newWorld(t)
	m := w.writer()
	rapid.Check(t, func(t *rapid.T) {
		undo := metrics.SmallSteps(rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "rows of a step"))
		defer undo()
		exp := w.Experiment(rowtest.LossSearcher)
		s := &scene{world: w, m: m, trial: w.Trial(exp, 0, 1), run: 1, at: map[string]int{}, values: map[string]int{}, reported: map[string]int{}, revised: map[string]bool{}}
		t.Repeat(s.actions())
		if len(s.at) == 0 {
			return
		}
		s.counted(t)
		got := s.whole()
		if err := metrics.MarkStale(context.Background(), w.DB, s.trial); err != nil {
			t.Fatal(err)
		}
		if want := s.whole(); got != want {
			t.Fatalf("the summary:\n%s\nas a rebuild makes it:\n%s", got, want)
		}
	})
}
