package api

import (
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/detent-ml/detent/master/database"
)

var growthMetrics = flag.Int("growth-metrics", 10, "how many reports of metrics each experiment of BenchmarkGrowth has")

// BenchmarkGrowth measures what usual calls cost in a cluster that has existed for longer and longer: with a hundred,
// ten thousand and a hundred thousand experiments that have ended, each with reports of metrics and lines of its log. docs/operate/scale.md has the figures.
//
//	go test ./master/api -run '^$' -bench Growth -benchtime 1x
func BenchmarkGrowth(b *testing.B) {
	for b.Loop() {
		r := rigOf(b)
		a := r.running(yaml(), 1)
		for n := range 100 {
			a.ranks[0].post(a.trialPath("/metrics"), string(fiveMetrics(a.trial, 1, n+1))).ok()
		}
		client, me := &http.Client{}, r.user("determined")
		for _, size := range []int{100, 10_000, 100_000} {
			grow(b, r, a, size)
			step := 100 + size
			for _, call := range []struct {
				what string
				do   func() error
			}{
				{"submit", func() error { return me.send(client, "/api/v1/experiments", []byte(createBody(yaml()))) }},
				{"list", func() error {
					return me.read(client, "/api/v1/experiments?limit=40&sortBy=SORT_BY_START_TIME&orderBy=ORDER_BY_DESC")
				}},
				{"describe", func() error { return me.read(client, fmt.Sprintf("/api/v1/experiments/%d", a.experiment(r))) }},
				{"report", func() error {
					step++
					return a.ranks[0].send(client, a.trialPath("/metrics"), fiveMetrics(a.trial, 1, step))
				}},
				{"curve", func() error {
					return me.read(client, fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d&maxDatapoints=100&startBatches=0&endBatches=2147483647&metricNames=loss&metricType=METRIC_TYPE_TRAINING", a.trial))
				}},
				{"queue", func() error { return me.read(client, "/api/v1/job-queues-v2?resourcePool=default&limit=50") }},
			} {
				b.ReportMetric(medianOf(b, call.do), fmt.Sprintf("ms-%s-%d", call.what, size))
			}
		}
	}
}

// medianOf calls forty times, and returns the median in milliseconds.
func medianOf(b *testing.B, call func() error) float64 {
	b.Helper()
	var all []time.Duration
	for range 40 {
		began := time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	return float64(percentile(all, 50).Microseconds()) / 1000
}

// read gets a path on a client's own connection.
func (c as) read(client *http.Client, path string) error {
	req, err := http.NewRequest("GET", c.r.url+path, nil)
	if err != nil {
		return err
	}
	return c.answered(client, req)
}

// experiment is the number of the attempt's experiment.
func (a *attempt) experiment(r *rig) int {
	id, err := database.Scalar[int](r.t.Context(), r.db, `SELECT experiment_id FROM trials WHERE id = $1`, a.trial)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// grow copies the experiment of an attempt, as one that has ended, until there are as many as size.
func grow(b *testing.B, r *rig, a *attempt, size int) {
	b.Helper()
	of := a.experiment(r)
	pool, err := pgxpool.New(b.Context(), r.dsn) // without the limits of the master's statements
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	copies := func(table string, other map[string]string) string { return copied(b, r, table, other) }
	for _, sql := range []string{
		copies("experiments", map[string]string{"job_id": "gen_random_uuid()", "external_id": "NULL", "name": "'old ' || i", "state": "'COMPLETED'", "ended_at": "now()",
			"started_at": "started_at - i * interval '1 minute'"}) + fmt.Sprintf(" FROM experiments x, generate_series(1, %d - (SELECT count(*) FROM experiments)) i WHERE x.id = %d", size, of),
		copies("tasks", map[string]string{"id": "e.id || '.old'", "experiment_id": "e.id", "job_id": "e.job_id"}) +
			fmt.Sprintf(" FROM tasks x, experiments e WHERE x.experiment_id = %d AND e.name LIKE 'old %%' AND NOT EXISTS (SELECT FROM tasks t WHERE t.experiment_id = e.id)", of),
		copies("trials", map[string]string{"experiment_id": "e.id", "task_id": "e.id || '.old'", "state": "'COMPLETED'", "ended_at": "now()"}) +
			fmt.Sprintf(" FROM trials x, experiments e WHERE x.experiment_id = %d AND e.name LIKE 'old %%' AND NOT EXISTS (SELECT FROM trials t WHERE t.experiment_id = e.id)", of),
		copies("metrics", map[string]string{"trial_id": "t.id", "merged": "true"}) +
			fmt.Sprintf(" FROM metrics x, trials t WHERE x.trial_id = %d AND x.steps <= %d AND t.id <> %d AND NOT EXISTS (SELECT FROM metrics m WHERE m.trial_id = t.id)", a.trial, *growthMetrics, a.trial),
		// As it is when the summaries have all reports, of which no master runs a summarizer here.
		"UPDATE metrics_cursor SET xid = pg_snapshot_xmin(pg_current_snapshot())",
		"VACUUM ANALYZE",
	} {
		if _, err := pool.Exec(b.Context(), sql); err != nil {
			b.Fatalf("%s: %v", sql, err)
		}
	}
}

// copied begins a statement that copies rows x of a table, but for some columns.
func copied(b *testing.B, r *rig, table string, other map[string]string) string {
	b.Helper()
	names, err := database.Scalars[string](b.Context(), r.db, `SELECT column_name::text FROM information_schema.columns
		WHERE table_name = $1 AND is_generated = 'NEVER' AND is_identity = 'NO' ORDER BY ordinal_position`, table)
	if err != nil {
		b.Fatal(err)
	}
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = "x." + name
		if v, ok := other[name]; ok {
			values[i] = v
		}
	}
	return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(values, ", ")
}
