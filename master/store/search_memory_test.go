package store

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find"
)

// What one request may cost PostgreSQL, with documents of 1 MB.
const (
	maxSearchMemory = 48 << 20 // of one backend, over that of a search for nothing
	maxSearchTemp   = 4 << 20  // bytes of temporary files
)

// costs runs a search on a connection of its own, and returns by how much the memory of its backend grew at most, and how many
// bytes of temporary files it wrote.
func (w *world) costs(search func(db *DB) error) (memory, temp int) {
	w.t.Helper()
	db := openTest(w.t, w.dsn, 1)
	defer db.Close()
	ask := func(sql string) int {
		n, err := database.Scalar[int](w.t.Context(), db.DB, sql)
		if err != nil {
			w.t.Fatal(err)
		}
		return n
	}
	written := func() int {
		if _, err := db.Exec(w.t.Context(), `SELECT pg_stat_force_next_flush()`); err != nil {
			w.t.Fatal(err)
		}
		return ask(`SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()`)
	}
	if _, _, err := db.SearchRuns(w.t.Context(), auth.Everywhere(), Search{IDs: []int{0}}, 0, 10); err != nil {
		w.t.Fatal(err)
	}
	pid := ask(`SELECT pg_backend_pid()`)
	wrote, had := written(), w.highest(pid)
	if err := search(db); err != nil {
		w.t.Error(err)
	}
	return w.highest(pid) - had, written() - wrote
}

// highest is the most memory that a process has had at once, in bytes.
func (w *world) highest(pid int) int {
	w.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				w.t.Fatal(err)
			}
			return kb << 10
		}
	}
	w.t.Fatalf("process %d has no VmHWM", pid)
	return 0
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
	e := w.experiment(lossSearcher)
	for i, document := range []string{
		`jsonb_build_object('text', repeat('x', 1000000), 'small', 1)`,
		`jsonb_build_object('list', (SELECT jsonb_agg(n) FROM generate_series(1, 100000) n), 'small', 2)`,
		`(repeat('{"a": ', 400) || '"' || repeat('y', 1000000) || '"' || repeat('}', 400))::jsonb`,
		`(SELECT jsonb_object_agg('k' || n, jsonb_build_object('v', repeat('z', 1000))) FROM generate_series(1, 1000) n)`,
	} {
		trial := w.trial(e, i, 1)
		w.exec(`UPDATE trials SET metadata = `+document+`, hparams = `+document+` WHERE id = $1`, trial)
		w.exec(`INSERT INTO trial_summaries (trial_id, summary) SELECT $1, jsonb_build_object('validation_metrics',
			jsonb_build_object('loss', jsonb_build_object('last', 1, 'type', 'number'), 'long', jsonb_build_object('last', `+document+`)))`, trial)
		w.exec(`UPDATE experiments SET best_trial_id = $1 WHERE id = $2`, trial, e)
	}
	return w
}

// One request takes little of PostgreSQL's memory and disk, also if the documents of the runs are large.
func TestSearchesInLargeDocuments(t *testing.T) {
	w := largeDocuments(t)
	deep := "metadata" + strings.Repeat(".a", 200)
	for name, line := range map[string]string{
		"many names":      someOf(maxInDocuments-5, func(i int) string { return fmt.Sprintf("metadata.k%d.v ~ q%d", i, i) }),
		"one name":        someOf(maxInDocuments-5, func(i int) string { return fmt.Sprintf("metadata.text ~ q%d", i) }),
		"hyperparameters": someOf(maxInDocuments-5, func(i int) string { return fmt.Sprintf("hp.text = q%d", i) }),
		"summaries":       someOf(maxInDocuments-5, func(i int) string { return fmt.Sprintf("validation.loss < -%d", i) }),
		"a list":          someOf(maxInDocuments-5, func(i int) string { return fmt.Sprintf("metadata.list < -%d", i) }),
		"deep":            someOf(maxInDocuments-5, func(i int) string { return fmt.Sprintf("%s%s ~ q%d", deep, strings.Repeat(".a", i), i) }),
		"absent":          someOf(maxInDocuments-5, func(i int) string { return fmt.Sprintf("metadata.none%d is not empty", i) }),
		"a range":         "metadata.small > 1 and metadata.small < 1 and hp.small > 1 and hp.small < 1 and validation.loss > 1 and validation.loss < 1",
	} {
		memory, temp := w.costs(func(db *DB) error {
			for _, q := range []Search{{Filter: runFilter(t, line)}, {Filter: runFilter(t, line), Sort: runSorts(t, "metadata.text=asc,metadata.list=desc,hp.a=asc,validation.long=asc,metadata.k1=asc")}} {
				if list, n, err := db.SearchRuns(context.Background(), auth.Everywhere(), q, 0, 10); err != nil || n != 0 {
					return fmt.Errorf("%s: found %d (%d), %w", name, n, len(list), err)
				}
				if heads, err := db.RunHeads(context.Background(), auth.Everywhere(), q, 10); err != nil || len(heads) != 0 {
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
		e := w.experiment(lossSearcher)
		w.trial(e, 1, 1)
		w.exec(`UPDATE experiments SET name = x.long, description = x.long, labels = x.list,
				config = config || jsonb_build_object('hyperparameters', jsonb_build_object('opt', jsonb_build_object('type', 'categorical', 'vals', to_jsonb(x.list))))
			FROM (SELECT string_agg(md5(n::text), '') AS long, array_agg(left(repeat(md5(n::text), 4), 120)) AS list FROM generate_series(1, 2000) n) x WHERE id = $1`, e)
	}
	for name, line := range map[string]string{
		"names":           someOf(maxOnTexts-2, func(i int) string { return fmt.Sprintf("name ~ q%d", i) }),
		"descriptions":    someOf(maxOnTexts-2, func(i int) string { return fmt.Sprintf("description ~ q%d", i) }),
		"labels":          someOf(maxOnTexts-2, func(i int) string { return fmt.Sprintf("tags ~ q%d", i) }),
		"hyperparameters": someOf(maxInDocuments, func(i int) string { return fmt.Sprintf("hp.opt ~ q%d", i) }),
	} {
		sorts := runSorts(t, "tags=asc,experimentDescription=desc")
		memory, temp := w.costs(func(db *DB) error {
			f, err := find.Experiments.Parse(line, time.Now())
			if err != nil {
				return err
			}
			_, n, err := db.SearchExperiments(context.Background(), auth.Everywhere(), Search{Filter: f}, 0, 10)
			if err != nil || n != 0 {
				return fmt.Errorf("%s: found %d experiments, %w", name, n, err)
			}
			if name != "hyperparameters" {
				_, n, err = db.SearchRuns(context.Background(), auth.Everywhere(), Search{Filter: runFilter(t, line), Sort: sorts}, 0, 10)
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
	for name, ask := range map[string]func(db *DB) error{
		"sorted": func(db *DB) error {
			_, _, err := db.SearchRuns(context.Background(), auth.Everywhere(), Search{Sort: runSorts(t, "metadata.text=asc,metadata.list=desc,hp.a=asc,hp.k1=desc")}, 0, 1)
			return err
		},
		"metadata": func(db *DB) error {
			_, err := db.RunMetadataUsed(context.Background(), auth.Everywhere(), 0)
			return err
		},
		"hyperparameters": func(db *DB) error {
			_, err := db.RunHParamsUsed(context.Background(), auth.Everywhere(), 0)
			return err
		},
		"metrics": func(db *DB) error {
			_, err := db.RunMetricsUsed(context.Background(), auth.Everywhere(), 0)
			return err
		},
		"metrics of experiments": func(db *DB) error { _, err := db.MetricsUsed(context.Background(), auth.Everywhere(), 0); return err },
		"values": func(db *DB) error {
			_, err := db.RunMetadataValues(context.Background(), auth.Everywhere(), 0, "text")
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
		someOf(400, func(i int) string { return fmt.Sprintf("id = %d", i) }):                                                true,
	} {
		_, _, err := w.db.SearchRuns(t.Context(), auth.Everywhere(), Search{Filter: runFilter(t, line)}, 0, 1)
		if allowed != (err == nil) || !allowed && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "conditions")) {
			t.Errorf("%.60s…: %v", line, err)
		}
	}
	line := someOf(41, func(i int) string { return fmt.Sprintf("hp.k = %d", i) })
	f, err := find.Experiments.Parse(line, time.Date(2020, 11, 21, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.db.SearchExperiments(t.Context(), auth.Everywhere(), Search{Filter: f}, 0, 1); !fault.Is(err, fault.Invalid) {
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
	e := w.experiment(lossSearcher)
	for i := range 6 {
		trial := w.trial(e, i, 1)
		w.exec(`UPDATE trials SET metadata = jsonb_build_object('text', 'v' || $2::int, 'deep', (SELECT jsonb_object_agg('k' || lpad(n::text, 5, '0'), n)
			FROM generate_series($2::int * 1000, $2::int * 1000 + 999) n)) || CASE $2::int WHEN 2 THEN '{"deep.k00003": true, "list": ["b", "v2", 7], "n": null, "o": {}}' ELSE '{}'::jsonb END WHERE id = $1`, trial, 5-i)
	}
	names, err := w.db.RunMetadataUsed(t.Context(), auth.Everywhere(), 1)
	if err != nil || len(names) != maxNames || names[0] != (NamedValue{"deep.k00000", "number"}) || names[3] != (NamedValue{"deep.k00003", ""}) || names[999].Name != "deep.k00999" {
		t.Errorf("%d names: %v, %v", len(names), names[:min(len(names), 5)], err)
	}
	w.exec(`UPDATE trials SET metadata = metadata - 'deep'`)
	if names, err = w.db.RunMetadataUsed(t.Context(), auth.Everywhere(), 1); err != nil || fmt.Sprint(names) != "[{deep.k00003 boolean} {list array} {text string}]" {
		t.Errorf("%v, %v", names, err)
	}
	for key, want := range map[string]string{"text": "[v0 v1 v2 v3 v4 v5]", "list": "[b v2]", "n": "[]", "deep.k00003": "[]", "none": "[]"} {
		if values, err := w.db.RunMetadataValues(t.Context(), auth.Everywhere(), 1, key); err != nil || fmt.Sprint(values) != want {
			t.Errorf("%s: %v, %v", key, values, err)
		}
	}
	w.exec(`UPDATE trials SET metadata = jsonb_build_object('text', (SELECT jsonb_agg(lpad((id * 900 + n)::text, 7, '0')) FROM generate_series(1, 900) n), 'long', repeat('x', 5001))`)
	first := w.int(`SELECT min(id) FROM trials`)
	values, err := w.db.RunMetadataValues(t.Context(), auth.Everywhere(), 1, "text")
	if err != nil || len(values) != maxNames || values[0] != fmt.Sprintf("%07d", first*900+1) || values[999] != fmt.Sprintf("%07d", first*900+1000) {
		t.Errorf("%d values, %v", len(values), err)
	}
	if values, err := w.db.RunMetadataValues(t.Context(), auth.Everywhere(), 1, "long"); err != nil || len(values) != 0 {
		t.Errorf("long values: %d, %v", len(values), err)
	}
}
