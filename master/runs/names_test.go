package runs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/find/query"
	limits "github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// incompressible is text of n bytes or a few less, in characters of four bytes.
func incompressible(n int) string {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	var b strings.Builder
	for b.Len()+4 <= n {
		b.WriteRune(rune(0x20000 + random.IntN(0xa000)))
	}
	return b.String()
}

func anything([]string) error { return nil }

// TestLongTextsAreStoredAndFound: an entry of an index of PostgreSQL has at most 2,704 bytes, and so much text does not compress.
func TestLongTextsAreStoredAndFound(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	name, label := incompressible(limits.MaxText), incompressible(8000)
	plain, id := w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher)
	if err := experiments.Change(ctx, w.DB, id, experiments.Patch{Name: &name, Labels: []string{label[:len(label)-4] + "x", "short"}}); err != nil {
		t.Fatal(err)
	}
	labels, err := experiments.ChangeLabel(ctx, w.DB, id, label, true, anything)
	if err != nil || len(labels) != 3 || !slices.Contains(labels, label) {
		t.Fatalf("%d labels, %v", len(labels), err)
	}
	for _, c := range []struct {
		filter experiments.Filter
		want   bool
	}{
		{experiments.Filter{Labels: []string{label}}, true},
		{experiments.Filter{Labels: []string{label, "short"}}, true},
		{experiments.Filter{Labels: []string{label[:len(label)-4] + "y"}}, false}, // the index has its beginning
		{experiments.Filter{Name: name[4000:4300]}, true},
		{experiments.Filter{Name: name[len(name)-300:]}, false},         // only the beginning of a text is searched
		{experiments.Filter{Name: name[:database.MaxPattern+4]}, false}, // CheckPattern rejects it
		{experiments.Filter{Labels: []string{"none"}}, false},
	} {
		list, err := experiments.List(ctx, w.DB, auth.Everywhere(), c.filter, 0, 10)
		if err != nil || (len(list) == 1 && list[0].ID == id && list[0].Name == name) != c.want || len(list) > 1 {
			t.Errorf("%.40v: %d found, %v", c.filter, len(list), err)
		}
	}
	for query, want := range map[string]string{
		"label = '" + label + "'": name, "label != '" + label + "'": w.Text(`SELECT name FROM experiments WHERE id = $1`, plain),
		"name = '" + name[:40_000] + "'": "",
	} {
		if got := w.found(searchFor(t, query)); got != want {
			t.Errorf("%.40s: found %.40s", query, got)
		}
	}
	var plan string
	err = w.DB.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `SET LOCAL enable_seqscan = off`); err != nil {
			return err
		}
		plan, err = database.Scalar[string](ctx, tx, `EXPLAIN (FORMAT JSON) SELECT id FROM experiments e WHERE `+query.HasLabels("ARRAY['short']"))
		return err
	})
	if err != nil || !strings.Contains(plan, "experiments_labels") {
		t.Errorf("the index is not used: %s, %v", plan, err)
	}
}

func TestALabelTooManyChangesNothing(t *testing.T) {
	w := newWorld(t)
	id := w.Experiment(rowtest.LossSearcher)
	if _, err := experiments.ChangeLabel(t.Context(), w.DB, id, "a", true, anything); err != nil {
		t.Fatal(err)
	}
	_, err := experiments.ChangeLabel(t.Context(), w.DB, id, "b", true, func(labels []string) error { return experiments.NotFound(len(labels)) })
	if err == nil || err.Error() != "experiment 2 not found" {
		t.Fatal(err)
	}
	if got := w.Text(`SELECT labels::text || (config->'labels')::text FROM experiments WHERE id = $1`, id); got != `{a}["a"]` {
		t.Error(got)
	}
}

// TestLongTextsDoNotFillAPage: a page has fewer experiments, or runs, when their names, descriptions and labels are long.
func TestLongTextsDoNotFillAPage(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	first := w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET description = repeat('d', $2) WHERE id = $1`, first, database.MaxPageBytes)
	trial := w.Trial(first, 0, 1)
	for range 3 {
		w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	}
	byID := []find.Sort{{Column: find.Column{Location: find.Experiment, Name: "id", Type: find.Number}}}
	list, err := experiments.List(ctx, w.DB, auth.Everywhere(), experiments.Filter{}, 0, 10)
	if err != nil || len(list) != 1 || list[0].ID != first {
		t.Errorf("a page begins with one that fills it: %d experiments, %v", len(list), err)
	}
	if list, err = experiments.List(ctx, w.DB, auth.Everywhere(), experiments.Filter{}, 1, 10); err != nil || len(list) != 3 {
		t.Errorf("the next page: %d experiments, %v", len(list), err)
	}
	list, total, err := experiments.Search(ctx, w.DB, auth.Everywhere(), query.Search{Sort: byID}, 0, 10)
	if err != nil || len(list) != 1 || total != 4 {
		t.Errorf("search: %d experiments of %d, %v", len(list), total, err)
	}
	if list, total, err = experiments.Search(ctx, w.DB, auth.Everywhere(), query.Search{Sort: []find.Sort{{Column: byID[0].Column, Desc: true}}}, 0, 10); err != nil || len(list) != 3 || total != 4 {
		t.Errorf("search from the other end: %d experiments of %d, %v", len(list), total, err)
	}
	runs, total, err := Search(ctx, w.DB, auth.Everywhere(), query.Search{}, 0, 10)
	if err != nil || total != 4 || len(runs) != 1 || runs[0].ID != trial {
		t.Errorf("runs: %d of %d, %v", len(runs), total, err)
	}
	w.Exec(`UPDATE experiments SET labels = ARRAY[repeat('a', $2), 'b'] WHERE id = $1`, first, database.MaxPageBytes)
	w.Exec(`UPDATE experiments SET labels = '{b,c}' WHERE id = $1`, first+1)
	labels, err := experiments.LabelsUsed(ctx, w.DB, auth.Everywhere(), 0)
	if err != nil || strings.Join(labels, " ") != "b" {
		t.Errorf("labels in use, as many as fit: %.40q, %v", labels, err)
	}
}

// TestConfigurationsDoNotFillAPage: so do configurations, notes, hyperparameters and metadata that are long.
func TestConfigurationsDoNotFillAPage(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	first := w.Experiment(rowtest.LossSearcher)
	second := w.Experiment(rowtest.LossSearcher)
	trial := w.Trial(first, 0, 1)
	w.Trial(first, 1, 1)
	for _, column := range []string{"notes = repeat('n', $2)", "original_config = repeat('n', $2)", "config = jsonb_set(config, '{data}', jsonb_build_object('x', repeat('n', $2)))"} {
		w.Exec(`UPDATE experiments SET `+column+` WHERE id = $1`, first, database.MaxPageBytes)
		list, err := experiments.List(ctx, w.DB, auth.Everywhere(), experiments.Filter{}, 0, 10)
		if err != nil || len(list) != 1 || list[0].ID != first {
			t.Errorf("%s: %d experiments, %v", column, len(list), err)
		}
		w.Exec(`UPDATE experiments SET notes = '', original_config = '', config = config - 'data' WHERE id = $1`, first)
		if list, err = experiments.List(ctx, w.DB, auth.Everywhere(), experiments.Filter{}, 0, 10); err != nil || len(list) != 2 || list[1].ID != second {
			t.Errorf("both fit, and %d experiments are listed, %v", len(list), err)
		}
	}
	for _, column := range []string{"hparams", "metadata"} {
		w.Exec(`UPDATE trials SET `+column+` = jsonb_build_object('x', repeat('n', $2)) WHERE id = $1`, trial, database.MaxPageBytes)
		list, err := experiments.ListTrials(ctx, w.DB, auth.Everywhere(), experiments.TrialFilter{ExperimentID: first}, 0, 10)
		if err != nil || len(list) != 1 || list[0].ID != trial {
			t.Errorf("%s: %d trials, %v", column, len(list), err)
		}
		runs, total, err := Search(ctx, w.DB, auth.Everywhere(), query.Search{Sort: []find.Sort{{Column: find.Column{Location: find.Experiment, Name: "id", Type: find.Number}}}}, 0, 10)
		if err != nil || len(runs) != 1 || total != 2 {
			t.Errorf("%s: %d runs of %d, %v", column, len(runs), total, err)
		}
		w.Exec(`UPDATE trials SET `+column+` = '{}' WHERE id = $1`, trial)
	}
}

// TestSearchesSortBeginningsOfTexts: whole texts of hundreds of kilobytes would take seconds to sort.
func TestSearchesSortBeginningsOfTexts(t *testing.T) {
	w := newWorld(t)
	first, second := w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher)
	for _, by := range []string{"name", "description"} {
		w.Exec(`UPDATE experiments SET name = repeat('a', 300) || (10 - id), description = name, labels = ARRAY[repeat('b', 300) || (10 - id)]`)
		sorts, err := find.Experiments.ParseSort(by + "=asc")
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := experiments.Search(t.Context(), w.DB, auth.Everywhere(), query.Search{Sort: sorts}, 0, 10)
		if err != nil || len(list) != 2 || list[0].ID != first || list[1].ID != second { // equal so far, and whole texts would be the other way
			t.Errorf("by %s: %d experiments, the first is %d, %v", by, len(list), list[0].ID, err)
		}
	}
}
