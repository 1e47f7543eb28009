package runs

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/find/query"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// What one request may cost PostgreSQL, with documents of 1 MB.
const (
	maxSearchMemory = 48 << 20 // of one backend, over that of a search for nothing
	maxSearchTemp   = 4 << 20  // bytes of temporary files
)

// costs is Costs beside a search that finds nothing.
func (w *world) costs(search func(db *database.DB) error) (memory, temp int) {
	w.T.Helper()
	return w.Costs(search, func(db *database.DB) error {
		_, _, err := Search(w.T.Context(), db, auth.Everywhere(), query.Search{IDs: []int{0}}, 0, 10)
		return err
	})
}

// someOf joins a number of conditions by "or".
func someOf(n int, condition func(i int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = condition(i)
	}
	return strings.Join(list, " or ")
}

// largeDocuments makes runs whose metadata, hyperparameters and summaries have a megabyte each: in texts, in a list, and 400 levels deep.
func largeDocuments(t *testing.T) *world {
	w := newWorld(t)
	e := w.Experiment(rowtest.LossSearcher)
	for i, document := range []string{
		`jsonb_build_object('text', repeat('x', 1000000), 'small', 1)`,
		`jsonb_build_object('list', (SELECT jsonb_agg(n) FROM generate_series(1, 100000) n), 'small', 2)`,
		`(repeat('{"a": ', 400) || '"' || repeat('y', 1000000) || '"' || repeat('}', 400))::jsonb`,
		`(SELECT jsonb_object_agg('k' || n, jsonb_build_object('v', repeat('z', 1000))) FROM generate_series(1, 1000) n)`,
	} {
		trial := w.Trial(e, i, 1)
		w.Exec(`UPDATE trials SET metadata = `+document+`, hparams = `+document+` WHERE id = $1`, trial)
		w.Exec(`INSERT INTO trial_summaries (trial_id, summary) SELECT $1, jsonb_build_object('validation_metrics',
			jsonb_build_object('loss', jsonb_build_object('last', 1, 'type', 'number'), 'long', jsonb_build_object('last', `+document+`)))`, trial)
		w.Exec(`UPDATE experiments SET best_trial_id = $1 WHERE id = $2`, trial, e)
	}
	return w
}

// One request takes little of PostgreSQL's memory and disk, also if the documents of the runs are large.
func TestSearchesInLargeDocuments(t *testing.T) {
	w := largeDocuments(t)
	deep := "metadata" + strings.Repeat(".a", 200)
	for name, line := range map[string]string{
		"many names":      someOf(query.MaxInDocuments-5, func(i int) string { return fmt.Sprintf("metadata.k%d.v ~ q%d", i, i) }),
		"one name":        someOf(query.MaxInDocuments-5, func(i int) string { return fmt.Sprintf("metadata.text ~ q%d", i) }),
		"hyperparameters": someOf(query.MaxInDocuments-5, func(i int) string { return fmt.Sprintf("hp.text = q%d", i) }),
		"summaries":       someOf(query.MaxInDocuments-5, func(i int) string { return fmt.Sprintf("validation.loss < -%d", i) }),
		"a list":          someOf(query.MaxInDocuments-5, func(i int) string { return fmt.Sprintf("metadata.list < -%d", i) }),
		"deep":            someOf(query.MaxInDocuments-5, func(i int) string { return fmt.Sprintf("%s%s ~ q%d", deep, strings.Repeat(".a", i), i) }),
		"absent":          someOf(query.MaxInDocuments-5, func(i int) string { return fmt.Sprintf("metadata.none%d is not empty", i) }),
		"a range":         "metadata.small > 1 and metadata.small < 1 and hp.small > 1 and hp.small < 1 and validation.loss > 1 and validation.loss < 1",
	} {
		memory, temp := w.costs(func(db *database.DB) error {
			for _, q := range []query.Search{{Filter: runFilter(t, line)}, {Filter: runFilter(t, line), Sort: runSorts(t, "metadata.text=asc,metadata.list=desc,hp.a=asc,validation.long=asc,metadata.k1=asc")}} {
				if list, n, err := Search(context.Background(), db, auth.Everywhere(), q, 0, 10); err != nil || n != 0 {
					return fmt.Errorf("%s: found %d (%d), %w", name, n, len(list), err)
				}
				if heads, err := Heads(context.Background(), db, auth.Everywhere(), q, 10); err != nil || len(heads) != 0 {
					return fmt.Errorf("%s: found %d heads, %w", name, len(heads), err)
				}
			}
			return nil
		})
		t.Logf("%s: %.1f MB of memory, %.1f MB of temporary files", name, float64(memory)/(1<<20), float64(temp)/(1<<20))
		if memory > maxSearchMemory || temp > maxSearchTemp {
			t.Errorf("%s: a search takes %.1f MB of memory and %.1f MB of temporary files", name, float64(memory)/(1<<20), float64(temp)/(1<<20))
		}
	}
}

// The same holds for names, descriptions and labels of experiments, and for their hyperparameters.
func TestSearchesInLongTexts(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		e := w.Experiment(rowtest.LossSearcher)
		w.Trial(e, 1, 1)
		w.Exec(`UPDATE experiments SET name = x.long, description = x.long, labels = x.list,
				config = config || jsonb_build_object('hyperparameters', jsonb_build_object('opt', jsonb_build_object('type', 'categorical', 'vals', to_jsonb(x.list))))
			FROM (SELECT string_agg(md5(n::text), '') AS long, array_agg(left(repeat(md5(n::text), 4), 120)) AS list FROM generate_series(1, 2000) n) x WHERE id = $1`, e)
	}
	for name, line := range map[string]string{
		"names":           someOf(query.MaxOnTexts-2, func(i int) string { return fmt.Sprintf("name ~ q%d", i) }),
		"descriptions":    someOf(query.MaxOnTexts-2, func(i int) string { return fmt.Sprintf("description ~ q%d", i) }),
		"labels":          someOf(query.MaxOnTexts-2, func(i int) string { return fmt.Sprintf("tags ~ q%d", i) }),
		"hyperparameters": someOf(query.MaxInDocuments, func(i int) string { return fmt.Sprintf("hp.opt ~ q%d", i) }),
	} {
		sorts := runSorts(t, "tags=asc,experimentDescription=desc")
		memory, temp := w.costs(func(db *database.DB) error {
			f, err := find.Experiments.Parse(line, time.Now())
			if err != nil {
				return err
			}
			_, n, err := experiments.Search(context.Background(), db, auth.Everywhere(), query.Search{Filter: f}, 0, 10)
			if err != nil || n != 0 {
				return fmt.Errorf("%s: found %d experiments, %w", name, n, err)
			}
			if name != "hyperparameters" {
				_, n, err = Search(context.Background(), db, auth.Everywhere(), query.Search{Filter: runFilter(t, line), Sort: sorts}, 0, 10)
			}
			if err != nil || n != 0 {
				return fmt.Errorf("%s: found %d runs, %w", name, n, err)
			}
			return nil
		})
		t.Logf("%s: %.1f MB of memory, %.1f MB of temporary files", name, float64(memory)/(1<<20), float64(temp)/(1<<20))
		if memory > maxSearchMemory || temp > maxSearchTemp {
			t.Errorf("%s: a search takes %.1f MB of memory and %.1f MB of temporary files", name, float64(memory)/(1<<20), float64(temp)/(1<<20))
		}
	}
}

// So do the lists of names and of values.
func TestNamesInLargeDocuments(t *testing.T) {
	w := largeDocuments(t)
	for name, ask := range map[string]func(db *database.DB) error{
		"sorted": func(db *database.DB) error {
			_, _, err := Search(context.Background(), db, auth.Everywhere(), query.Search{Sort: runSorts(t, "metadata.text=asc,metadata.list=desc,hp.a=asc,hp.k1=desc")}, 0, 1)
			return err
		},
		"metadata": func(db *database.DB) error {
			_, err := MetadataUsed(context.Background(), db, auth.Everywhere(), 0)
			return err
		},
		"hyperparameters": func(db *database.DB) error {
			_, err := HParamsUsed(context.Background(), db, auth.Everywhere(), 0)
			return err
		},
		"metrics": func(db *database.DB) error {
			_, err := MetricsUsed(context.Background(), db, auth.Everywhere(), 0)
			return err
		},
		"metrics of experiments": func(db *database.DB) error {
			_, err := experiments.MetricsUsed(context.Background(), db, auth.Everywhere(), 0)
			return err
		},
		"values": func(db *database.DB) error {
			_, err := MetadataValues(context.Background(), db, auth.Everywhere(), 0, "text")
			return err
		},
	} {
		memory, temp := w.costs(ask)
		t.Logf("%s: %.1f MB of memory, %.1f MB of temporary files", name, float64(memory)/(1<<20), float64(temp)/(1<<20))
		if memory > maxSearchMemory || temp > maxSearchTemp {
			t.Errorf("%s: takes %.1f MB of memory and %.1f MB of temporary files", name, float64(memory)/(1<<20), float64(temp)/(1<<20))
		}
	}
}

// More conditions than people write are refused, before PostgreSQL sees them.
func TestConditionsWithinDocumentsAreLimited(t *testing.T) {
	w := newWorld(t)
	for line, allowed := range map[string]bool{
		someOf(40, func(i int) string { return fmt.Sprintf("metadata.k%d = 1", i) }):                                        true,
		someOf(41, func(i int) string { return fmt.Sprintf("metadata.k = %d", i) }):                                         false,
		someOf(14, func(i int) string { return fmt.Sprintf("metadata.k = %d or hp.k = %d or validation.k = %d", i, i, i) }): false,
		someOf(50, func(i int) string { return fmt.Sprintf("experimentName ~ %d", i) }):                                     true,
		someOf(51, func(i int) string { return fmt.Sprintf("tags ~ q%d", i) }):                                              false,
		someOf(30, func(i int) string { return fmt.Sprintf("checkpointSize = %d", i) }):                                     true,
		someOf(16, func(i int) string { return fmt.Sprintf("checkpointCount > %d or state = COMPLETED", i) }):               false,
		someOf(400, func(i int) string { return fmt.Sprintf("id = %d", i) }):                                                true,
	} {
		_, _, err := Search(t.Context(), w.DB, auth.Everywhere(), query.Search{Filter: runFilter(t, line)}, 0, 1)
		if allowed != (err == nil) || !allowed && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "conditions")) {
			t.Errorf("%.60s…: %v", line, err)
		}
	}
	line := someOf(41, func(i int) string { return fmt.Sprintf("hp.k = %d", i) })
	f, err := find.Experiments.Parse(line, time.Date(2020, 11, 21, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := experiments.Search(t.Context(), w.DB, auth.Everywhere(), query.Search{Filter: f}, 0, 1); !fault.Is(err, fault.Invalid) {
		t.Errorf("41 hyperparameters of experiments: %v", err)
	}
}

func runFilter(t *testing.T, line string) find.Filter {
	t.Helper()
	f, err := find.Runs.Parse(line, time.Date(2020, 11, 21, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func runSorts(t *testing.T, by string) []find.Sort {
	t.Helper()
	sorts, err := find.Runs.ParseSort(by)
	if err != nil {
		t.Fatal(err)
	}
	return sorts
}

// The lists of names and values have the first ones, however many there are.
func TestTheFirstNames(t *testing.T) {
	w := newWorld(t)
	e := w.Experiment(rowtest.LossSearcher)
	for i := range 6 {
		trial := w.Trial(e, i, 1)
		w.Exec(`UPDATE trials SET metadata = jsonb_build_object('text', 'v' || $2::int, 'deep', (SELECT jsonb_object_agg('k' || lpad(n::text, 5, '0'), n)
			FROM generate_series($2::int * 1000, $2::int * 1000 + 999) n)) || CASE $2::int WHEN 2 THEN '{"deep.k00003": true, "list": ["b", "v2", 7], "n": null, "o": {}}' ELSE '{}'::jsonb END WHERE id = $1`, trial, 5-i)
	}
	names, err := MetadataUsed(t.Context(), w.DB, auth.Everywhere(), 1)
	if err != nil || len(names) != experiments.MaxNames || names[0] != (NamedValue{"deep.k00000", "number"}) || names[3] != (NamedValue{"deep.k00003", ""}) || names[999].Name != "deep.k00999" {
		t.Errorf("%d names: %v, %v", len(names), names[:min(len(names), 5)], err)
	}
	w.Exec(`UPDATE trials SET metadata = metadata - 'deep'`)
	if names, err = MetadataUsed(t.Context(), w.DB, auth.Everywhere(), 1); err != nil || fmt.Sprint(names) != "[{deep.k00003 boolean} {list array} {text string}]" {
		t.Errorf("%v, %v", names, err)
	}
	for key, want := range map[string]string{"text": "[v0 v1 v2 v3 v4 v5]", "list": "[b v2]", "n": "[]", "deep.k00003": "[]", "none": "[]"} {
		if values, err := MetadataValues(t.Context(), w.DB, auth.Everywhere(), 1, key); err != nil || fmt.Sprint(values) != want {
			t.Errorf("%s: %v, %v", key, values, err)
		}
	}
	w.Exec(`UPDATE trials SET metadata = jsonb_build_object('text', (SELECT jsonb_agg(lpad((id * 900 + n)::text, 7, '0')) FROM generate_series(1, 900) n), 'long', repeat('x', 5001))`)
	first := w.Int(`SELECT min(id) FROM trials`)
	values, err := MetadataValues(t.Context(), w.DB, auth.Everywhere(), 1, "text")
	if err != nil || len(values) != experiments.MaxNames || values[0] != fmt.Sprintf("%07d", first*900+1) || values[999] != fmt.Sprintf("%07d", first*900+1000) {
		t.Errorf("%d values, %v", len(values), err)
	}
	if values, err := MetadataValues(t.Context(), w.DB, auth.Everywhere(), 1, "long"); err != nil || len(values) != 0 {
		t.Errorf("long values: %d, %v", len(values), err)
	}
}
