package runs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/find/query"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// searchFor parses a filter as a search in all projects.
func searchFor(t testing.TB, line string) query.Search {
	t.Helper()
	f, err := find.Experiments.Parse(line, time.Date(2020, 11, 21, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return query.Search{Filter: f}
}

// found lists the names of the experiments that a search finds, oldest first, and checks that
// the count equals the list.
func (w *world) found(q query.Search) string {
	w.T.Helper()
	if q.Sort == nil {
		q.Sort = []find.Sort{{Column: find.Column{Location: find.Experiment, Name: "id", Type: find.Number}}}
	}
	list, total, err := experiments.Search(w.T.Context(), w.DB, auth.Everywhere(), q, 0, 100)
	if err != nil {
		w.T.Fatal(err)
	}
	n, err := experiments.CountSearched(w.T.Context(), w.DB, auth.Everywhere(), q)
	if err != nil || n != len(list) || total != n {
		w.T.Fatalf("CountSearched: %d, %v; SearchExperiments: a total of %d, and %d in the list", n, err, total, len(list))
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// fourExperiments differ in every field that a filter can use.
func fourExperiments(t *testing.T) *world {
	w := newWorld(t)
	w.Exec(`INSERT INTO users (username, display_name) VALUES ('ada', 'Ada L')`)
	add := func(name, hparams, set string) int {
		t.Helper()
		id := w.Experiment(rowtest.LossSearcher)
		w.Exec(`UPDATE experiments SET name = $2, config = config || jsonb_build_object('hyperparameters', $3::text::jsonb) WHERE id = $1`, id, name, hparams)
		w.Exec(`UPDATE experiments SET `+set+` WHERE id = $1`, id)
		return id
	}
	a := add("a", `{"lr": {"type": "const", "val": 0.01}, "opt": {"type": "const", "val": "adam"}, "net": {"depth": {"type": "const", "val": 3}}}`,
		`labels = '{x,y}', state = 'COMPLETED', ended_at = '2020-11-20T10:00:00Z', started_at = '2020-11-20T09:00:00Z', progress = 1`)
	b := add("b", `{"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}, "opt": {"type": "categorical", "vals": ["adam", "sgd", 5]}}`,
		`labels = '{x}', owner_id = (SELECT id FROM users WHERE username = 'ada'), started_at = '2020-11-19T09:00:00Z', parent_id = 1, description = 'a 100% try'`)
	c := add("c", `{"lr": {"type": "double", "minval": 0.5, "maxval": 0.9}, "net": {"depth": {"type": "int", "minval": 1, "maxval": 8}}}`,
		`state = 'ERROR', ended_at = '2020-11-21T09:30:00Z', started_at = '2020-11-21T09:00:00Z', pool = 'big', template = 'gpu'`)
	d := add("d", `{"flag": {"type": "const", "val": true}, "shape": {"type": "const", "val": [1, 2]}}`, `archived = true, labels = '{xy}'`)
	m := w.Writer(experiments.AppendValidations)
	for i, exp := range []int{a, b, c, d} {
		trial := w.Trial(exp, 0, 1)
		for step := range 3 {
			for group, body := range map[string]string{
				"validation": fmt.Sprintf(`{"loss": %g, "accuracy": %g, "top.5": 1, "note": "n%d"}`, 1/float64(1+i+step), float64(step)/10+float64(i)/100, i),
				"training":   fmt.Sprintf(`{"loss": %d}`, i), "inference": `{"ms": 7}`} {
				if group == "inference" && exp != a {
					continue
				}
				if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: group, Steps: &step, Metrics: json.RawMessage(body)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if exp != d {
			w.Exec(`UPDATE experiments SET best_trial_id = $2, best_metric = $3 WHERE id = $1`, exp, trial, float64(i))
		}
	}
	w.Summarize()
	return w
}

func TestSearchExperiments(t *testing.T) {
	w := fourExperiments(t)
	for _, c := range []struct{ line, want string }{
		{"", "a b c"},
		{"archived = true", "d"},
		{"archived = false", "a b c"},
		{"name = a", "a"}, {"name != a", "b c"}, {"name in (a, c)", "a c"}, {"not name in (a, c)", "b"}, {"name ~ A", "a"},
		{"label = x", "a b"}, {"label != x", "c"}, {"label ~ Y", "a"}, {"label !~ y", "b c"}, {"label is empty", "c"}, {"label is not empty", "a b"},
		{"label ~ x and archived in (true, false)", "a b d"},
		{"user = ada", "b"}, {"user = 'Ada L'", "b"}, {"user != 'Ada L'", "a c"}, {"user != ada", "a c"}, {"user !~ ADA", "a c"}, {"user ~ 'a l'", "b"}, {"user = determined", "a c"},
		{"state = completed", "a"}, {"state = active", "b"}, {"state != active", "a c"}, {"state in (queued, error)", "b c"},
		{"description ~ '100%'", "b"}, {"description ~ '1%t'", ""}, {"description is empty", "a c"},
		{"parent = 1", "b"}, {"parent is empty", "a c"}, {"parent != 1", ""}, {"not parent = 1", "a c"},
		{"started < 2020-11-20", "b"}, {"started = 2020-11-20", "a"}, {"started > 2020-11-20", "c"}, {"started >= -4h", "c"},
		{"ended is empty", "b"}, {"duration = 1h", "a"}, {"duration < 31m", "c"},
		{"pool = big", "c"}, {"template = gpu", "c"}, {"template is empty", "a b"},
		{"progress = 100", "a"}, {"trials = 1 and checkpoints = 0", "a b c"}, {"checkpointSize > 0", ""},
		{"searcher = single and searcherMetric = loss", "a b c"}, {"metric >= 1", "b c"},
		{"project = Uncategorized and workspace ~ uncat and projectId = 1", "a b c"},
		{"hp.lr < 0.05", "a b"}, {"hp.lr >= 0.1", "b c"}, {"hp.lr = 0.01", "a b"}, {"hp.lr != 0.01", "c"}, {"hp.lr > 1", ""}, {"hp.lr <= 0.0001", "b"},
		{"hp.lr is empty", ""}, {"hp.lr is empty and archived = true", "d"}, {"hp.opt is not empty", "a b"},
		{"hp.opt = adam", "a b"}, {"hp.opt = sgd", "b"}, {"hp.opt != sgd", "a"}, {"hp.opt ~ SG", "b"}, {"hp.opt !~ sg", "a"}, {"hp.opt = 5", "b"},
		{"hp.net.depth = 3", "a c"}, {"hp.net.depth > 3", "c"}, {"not hp.net.depth > 3", "a b c"}, /* c searches through 1 to 8 */
		{"hp.flag = true and archived = true", "d"}, {"hp.shape = '[1, 2]' and archived = true", "d"},
		{"validation.accuracy > 0.205", "b c"}, {"validation.accuracy.min < 0.01", "a"}, {"val.accuracy.max >= .22", "c"}, {"validation.accuracy.mean = 0.11", "b"},
		{"validation.top.5 = 1", "a b c"}, {"validation.note = n1", "b"}, {"validation.note ~ N", "a b c"},
		{"training.loss = 2", "c"}, {"inference.ms is not empty", "a"}, {"inference.ms is empty", "b c"}, {"inference.ms.mean < 8", "a"}, {"not inference.ms < 8", "b c"},
		{"validation.nothing > 0", ""}, {"hp.nothing = 1", ""},
		{"validation.accuracy > 0.2 and hp.lr < 0.1 and label = x", "b"},
		{"(name = a or name = b) and not (label = y or user = nobody)", "b"},
		{`name = "'; DROP TABLE experiments; --"`, ""}, {`hp."x' OR true --" = 1`, ""}, {`validation."a'}',1)--" > 1`, ""},
	} {
		if got := w.found(searchFor(t, c.line)); got != c.want {
			t.Errorf("%s: found %q, want %q", c.line, got, c.want)
		}
	}
	q := searchFor(t, "")
	if q.ProjectID = 2; w.found(q) != "" {
		t.Error("a project without experiments has some")
	}
}

func TestSearchIsSorted(t *testing.T) {
	w := fourExperiments(t)
	for by, want := range map[string]string{
		"id=desc": "d c b a", "name=asc": "a b c d", "hp.lr=asc": "b a c d", "hp.lr=desc": "c a b d", "validation.accuracy=desc": "c b a d",
		"training.loss.max=asc": "a b c d", "user=asc,id=desc": "b d c a", "searcherMetricsVal=desc": "c b a d", "tags=asc,id=asc": "c b a d",
		"startTime=asc": "b a c d", "inference.ms=asc,name=desc": "a d c b", "numTrials=asc,id=desc": "d c b a",
		"progress=desc,id=asc": "a b c d",
	} {
		sorts, err := find.Experiments.ParseSort(by)
		if err != nil {
			t.Fatal(err)
		}
		q := searchFor(t, "archived in (true, false)")
		if q.Sort = sorts; w.found(q) != want {
			t.Errorf("%s: %s, want %s", by, w.found(q), want)
		}
	}
	// Pages neither repeat nor miss an experiment.
	q := searchFor(t, "archived in (true, false)")
	var names []string
	for offset := range 5 {
		page, total, err := experiments.Search(t.Context(), w.DB, auth.Everywhere(), q, offset, 1)
		if err != nil || total != 4 {
			t.Fatalf("%d, %v", total, err)
		}
		for _, e := range page {
			names = append(names, e.Name)
		}
	}
	if !slices.Equal(names, []string{"d", "c", "b", "a"}) {
		t.Errorf("page by page: %v", names)
	}
}

// PostgreSQL must accept the SQL of every filter that package find accepts.
func TestDatabaseAcceptsEveryFilter(t *testing.T) {
	w := fourExperiments(t)
	w.Exec(`UPDATE trials SET metadata = '{"stage": "warm", "list": [1, "x", null], "none": null}'`)
	shared := []string{"hp.lr", "hp.opt", "hp.none", "validation.loss", "validation.note.last", "training.loss.min", "inference.ms.mean"}
	w.triesEveryFilter(find.Experiments, shared, func(q query.Search) error {
		_, _, err := experiments.Search(t.Context(), w.DB, auth.Everywhere(), q, 0, 1)
		return err
	})
	w.triesEveryFilter(find.Runs, append(shared, "metadata.stage", "metadata.list", "metadata.none", "metadata.a.b"), func(q query.Search) error {
		_, _, err := Search(t.Context(), w.DB, auth.Everywhere(), q, 0, 1)
		return err
	})
}

// triesEveryFilter searches by each column with each operator and many values.
func (w *world) triesEveryFilter(table find.Table, columns []string, search func(query.Search) error) {
	w.T.Helper()
	for _, f := range table.Fields() {
		columns = append(columns, f.Name)
	}
	types := map[find.Type][]string{find.Text: {`"x"`, `"%_\\"`, `""`}, find.Number: {`1e308`, `-0.5`, `"7"`}, find.Date: {`"2026-11-20"`, `"9999-12-31T23:59:59Z"`}, find.Any: {`true`, `3`}}
	searches := 0
	for _, column := range columns {
		for _, op := range []find.Operator{find.Equal, find.NotEqual, find.Less, find.LessEqual, find.Greater, find.GreaterEqual, find.Contains, find.NotContains, find.IsEmpty, find.NotEmpty} {
			for kind, values := range types {
				for _, value := range values {
					src := fmt.Sprintf(`{"filterGroup":{"kind":"group","conjunction":"or","children":[{"kind":"field","columnName":%q,"operator":%q,"type":%q,"value":%s}]}}`, column, op, kind, value)
					f, err := table.ParseJSON([]byte(src))
					if err != nil {
						continue
					}
					searches++
					if err := search(query.Search{Filter: f}); err != nil {
						w.T.Errorf("%s: %v", src, err)
					}
				}
			}
		}
		sorts, err := table.ParseSort(column + "=desc")
		if err != nil {
			w.T.Fatal(err)
		}
		if err := search(query.Search{Sort: sorts}); err != nil {
			w.T.Errorf("sorted by %s: %v", column, err)
		}
	}
	if searches < 1000 {
		w.T.Errorf("only %d filters were tried", searches)
	}
}

func TestColumnsInUse(t *testing.T) {
	w := fourExperiments(t)
	hparams, err := experiments.HParamsUsed(t.Context(), w.DB, auth.Everywhere(), 1)
	want := []experiments.NamedHParam{{Name: "flag"}, {Name: "lr", Numbers: true}, {Name: "net.depth", Numbers: true}, {Name: "opt"}, {Name: "shape"}}
	if err != nil || !slices.Equal(hparams, want) {
		t.Errorf("%v, %v", hparams, err)
	}
	metrics, err := experiments.MetricsUsed(t.Context(), w.DB, auth.Everywhere(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range metrics {
		names = append(names, summary.GroupOf(m.Group)+"."+m.Name+":"+m.Type)
	}
	if got := strings.Join(names, " "); got != "training.loss:number inference.ms:number validation.accuracy:number validation.loss:number validation.note:string validation.top.5:number" {
		t.Error(got)
	}
	if none, err := experiments.MetricsUsed(t.Context(), w.DB, auth.Everywhere(), 2); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}

// The stored hyperparameters must follow the configuration, and be deleted with the experiment.
func TestHyperparametersFollowTheConfiguration(t *testing.T) {
	w := newWorld(t)
	id := w.Experiment(rowtest.LossSearcher)
	rows := func() string {
		return w.Text(`SELECT coalesce(string_agg(format('%s %s..%s %s %s', name, low, high, numbers, texts), '; ' ORDER BY name), '') FROM experiment_hparams WHERE experiment_id = $1`, id)
	}
	set := func(hparams string) {
		w.Exec(`UPDATE experiments SET config = config || jsonb_build_object('hyperparameters', $2::text::jsonb) WHERE id = $1`, id, hparams)
	}
	if rows() != "" {
		t.Error(rows())
	}
	set(`{"a": {"type": "log", "base": 10, "minval": -2, "maxval": 400}, "b": {"type": "categorical", "vals": [1, 2.5, null, "x", false, {"k": 1}]},
		"g": {"type": {"type": "const", "val": "inner"}}, "odd": 3, "null": null, "n": {"type": "const", "val": null}}`)
	if got := rows(); got != `a 0.01..1e+300  {}; b 1..2.5 {1,2.5} {x,false,"{\"k\": 1}"}; g.type .. {} {inner}; n .. {} {}` {
		t.Error(got)
	}
	set(`{"a": {"type": "int", "minval": 1, "maxval": 2}}`)
	if got := rows(); got != "a 1..2  {}" {
		t.Error(got)
	}
	set(`[]`)
	if got := rows(); got != "" {
		t.Error(got)
	}
	set(`{"a": {"type": "int", "minval": 1, "maxval": 2}}`)
	w.Exec(`DELETE FROM experiments WHERE id = $1`, id)
	if w.Int(`SELECT count(*) FROM experiment_hparams`) != 0 {
		t.Error("the hyperparameters of a deleted experiment are still stored")
	}
}

// TestHyperparametersOfSeeds tests hparams_of with the configurations of Determined's examples
// that package expconf tests with.
func TestHyperparametersOfSeeds(t *testing.T) {
	w := newWorld(t)
	seeds, err := filepath.Glob("../expconf/testdata/seeds/*.yaml")
	if err != nil || len(seeds) == 0 {
		t.Fatal(seeds, err)
	}
	taken := 0
	for _, path := range seeds {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := expconf.Parse(path, src)
		if err != nil {
			continue // not an experiment
		}
		c, err := expconf.Complete(r, expconf.ClusterDefaults{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		config, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}
		taken += w.Int(`SELECT count(*) FROM hparams_of($1::text::jsonb)`, string(config))
	}
	if taken < 10 {
		t.Errorf("only %d hyperparameters were read from all examples", taken)
	}
}
