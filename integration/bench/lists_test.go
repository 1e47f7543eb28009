package bench

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/v1"
)

// fill copies an experiment that has ended, with its trial, until there are as
// many as years of use leave behind.
func (r *rig) fill(b *testing.B, template, total int) {
	b.Helper()
	ctx := b.Context()
	var have int
	if err := r.db.QueryRow(ctx, "SELECT count(*) FROM experiments").Scan(&have); err != nil {
		b.Fatal(err)
	}
	experiments := r.columns(b, "experiments", map[string]string{"job_id": "gen_random_uuid()", "external_id": "NULL",
		"name": "'experiment ' || i", "gc_applied": "gc_requests", "gc_retry_at": "NULL", "labels": "ARRAY['a', 'b']", "started_at": "started_at - i * interval '1 minute'"})
	tasks := r.columns(b, "tasks", map[string]string{"id": "e.id || '.bench'", "experiment_id": "e.id", "job_id": "e.job_id"})
	trials := r.columns(b, "trials", map[string]string{"experiment_id": "e.id", "task_id": "e.id || '.bench'"})
	var last int
	if err := r.db.QueryRow(ctx, "SELECT max(id) FROM experiments").Scan(&last); err != nil {
		b.Fatal(err)
	}
	for _, sql := range []string{
		"INSERT INTO experiments (" + experiments.names + ") SELECT " + experiments.values + " FROM experiments x, generate_series(1, " +
			strconv.Itoa(total-have) + ") AS i WHERE x.id = " + strconv.Itoa(template),
		"INSERT INTO tasks (" + tasks.names + ") SELECT " + tasks.values + " FROM tasks x, experiments e WHERE x.experiment_id = " +
			strconv.Itoa(template) + " AND e.id > " + strconv.Itoa(last),
		"INSERT INTO trials (" + trials.names + ") SELECT " + trials.values + " FROM trials x, experiments e WHERE x.experiment_id = " +
			strconv.Itoa(template) + " AND e.id > " + strconv.Itoa(last),
		"ANALYZE",
	} {
		if _, err := r.db.Exec(ctx, sql); err != nil {
			b.Fatalf("%s: %v", sql, err)
		}
	}
}

// answered gives each experiment labels, hyperparameters and a metric of its own,
// so that a question finds some and not others.
func (r *rig) answered(b *testing.B) {
	b.Helper()
	for _, sql := range []string{
		`UPDATE experiments SET labels = ARRAY['l' || id % 50], config = jsonb_set(config, '{hyperparameters,lr}',
			jsonb_build_object('type', 'const', 'val', (id % 1000) / 1000.0))`,
		`UPDATE experiments e SET best_trial_id = t.id FROM trials t WHERE t.experiment_id = e.id`,
		`INSERT INTO trial_summaries (trial_id, summary) SELECT t.id, jsonb_build_object('validation_metrics', jsonb_object_agg(n, m), 'avg_metrics', jsonb_object_agg(n, m))
			FROM trials t, unnest(ARRAY['accuracy', 'loss', 'f1']) n, LATERAL (SELECT jsonb_build_object('count', 100, 'sum', 50, 'min', 0.1,
				'max', 0.99, 'mean', 0.5, 'last', (t.id % 1000) / 1000.0, 'type', 'number') m) x GROUP BY t.id ON CONFLICT (trial_id) DO NOTHING`,
		"VACUUM ANALYZE",
	} {
		if _, err := r.db.Exec(b.Context(), sql); err != nil {
			b.Fatalf("%s: %v", sql, err)
		}
	}
}

// questions are typical requests for a list, as bodies.
var questions = []struct{ name, body string }{
	{"search by metric, hyperparameter and label", `{"limit":40,"withoutConfig":true,"query":"validation.accuracy > 0.1 and hp.lr < 0.95 and label = l7"}`},
	{"search by metric and hyperparameter", `{"limit":40,"withoutConfig":true,"query":"validation.accuracy > 0.5 and hp.lr < 0.75"}`},
	{"search, sorted by a metric", `{"limit":40,"withoutConfig":true,"query":"validation.accuracy > 0.5","sort":"validation.accuracy=desc"}`},
}

// columns of a table for INSERT … SELECT: copied, but for some.
type columns struct{ names, values string }

func (r *rig) columns(b *testing.B, table string, other map[string]string) columns {
	b.Helper()
	rows, err := r.db.Query(b.Context(), `SELECT column_name FROM information_schema.columns
		WHERE table_name = $1 AND is_generated = 'NEVER' AND is_identity = 'NO' ORDER BY ordinal_position`, table)
	if err != nil {
		b.Fatal(err)
	}
	var names, values []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			b.Fatal(err)
		}
		names = append(names, name)
		if v, ok := other[name]; ok {
			values = append(values, v)
		} else {
			values = append(values, "x."+name)
		}
	}
	if rows.Err() != nil {
		b.Fatal(rows.Err())
	}
	return columns{strings.Join(names, ", "), strings.Join(values, ", ")}
}

// ended makes an experiment that has ended without having run.
func (r *rig) ended(b *testing.B) int {
	b.Helper()
	config := "name: bench\nentrypoint: 'true'\ndescription: something to look at\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n" +
		"hyperparameters: {lr: 0.1, layers: 3, width: 128}\nlabels: [a, b]\n"
	active := true
	e, err := r.client.CreateExperiment(b.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &active}, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.awaitEnd(b, e.Experiment.ID)
	return e.Experiment.ID
}

// BenchmarkLists: the first page of 1,000 and of 10,000 experiments, at the
// server and through det, and how long det takes to start at all.
func BenchmarkLists(b *testing.B) {
	const part = "Lists"
	r := start(b)
	template := r.ended(b)
	queries := []struct{ name, query string }{
		{"as det experiment list asks, 200 rows", "archived=false&limit=200&offset=0&users=determined"},
		{"newest 100", "limit=100&orderBy=ORDER_BY_DESC&sortBy=SORT_BY_ID"},
		{"100 by name", "limit=100&sortBy=SORT_BY_NAME"},
		{"last 100", "limit=100&offset=%d"},
	}
	earlier := map[string]string{"newest 100": "165 ms (44 ms of 1,000)"}
	found := map[int][]pace{}
	for _, n := range []int{1000, 10_000} {
		r.fill(b, template, n)
		w := dial(b, r.MasterURL)
		for _, q := range queries {
			path := "/api/v1/experiments?" + strings.Replace(q.query, "%d", strconv.Itoa(n-100), 1)
			found[n] = append(found[n], r.calls(b, 100, func(context.Context) error {
				_, err := w.call("GET", path, r.client.Token(), nil)
				return err
			}))
		}
		r.answered(b)
		for _, q := range questions {
			found[n] = append(found[n], r.calls(b, 100, func(context.Context) error {
				_, err := w.call("POST", "/api/v1/experiments-search", r.client.Token(), []byte(q.body))
				return err
			}))
		}
		found[n] = append(found[n], r.command(b, 20, r.cli("experiment", "list", "--pages", "1")))
	}
	add := func(f figure) { f.part = part; shared.figures.add(f) }
	for i, q := range queries {
		add(figure{what: "at the server: " + q.name, value: found[10_000][i].p50, unit: "ms", target: "20 ms, flat", against: "of 1,000",
			yardstick: found[1000][i].p50, determined: earlier[q.name]})
	}
	for i, q := range questions {
		at := len(queries) + i
		add(figure{what: "at the server: " + q.name, value: found[10_000][at].p50, unit: "ms", target: "30 ms", against: "of 1,000", yardstick: found[1000][at].p50})
	}
	last := len(queries) + len(questions)
	add(figure{what: "det experiment list, 200 of 10,000", value: found[10_000][last].p50, unit: "ms", target: "30 ms", against: "of 1,000",
		yardstick: found[1000][last].p50, determined: "500 ms"})
	all := r.command(b, 3, r.cli("experiment", "list"))
	add(figure{what: "det experiment list, all 10,000", value: all.p50, unit: "ms", determined: "12,700 ms"})
	version := r.command(b, 50, r.cli("--version"))
	nothing := r.command(b, 50, program("true"))
	python := r.command(b, 20, program(interpreter(b), "-c", "pass"))
	add(figure{what: "det --version", value: version.p50, unit: "ms", target: "10 ms", against: "true", yardstick: nothing.p50, determined: "350 ms"})
	add(figure{what: "… against Python", value: version.p50, unit: "ms", against: "python3 -c pass", yardstick: python.p50})
	b.ReportMetric(found[10_000][0].p50, "ms/list")
}

// calls times something n times.
func (r *rig) calls(b *testing.B, n int, do func(context.Context) error) pace {
	b.Helper()
	all, err := repeat(b.Context(), n, do)
	if err != nil {
		b.Fatal(err)
	}
	return pace{p50: ms(percentile(all, 50)), p99: ms(percentile(all, 99))}
}

// command times whole runs of a program.
func (r *rig) command(b *testing.B, n int, make func(context.Context) *exec.Cmd) pace {
	b.Helper()
	return r.calls(b, n, func(ctx context.Context) error {
		cmd := make(ctx)
		cmd.Stdout = io.Discard
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", cmd, err)
		}
		return nil
	})
}

// program is a run of a program of the system's.
func program(name string, args ...string) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, name, args...) }
}

// cli is a run of det.
func (r *rig) cli(args ...string) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd { return r.det(ctx, args...) }
}

// interpreter is Python itself, and not a script that looks for one.
func interpreter(b *testing.B) string {
	b.Helper()
	out, err := program("python3", "-c", "import sys; print(sys.executable)")(b.Context()).Output()
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
