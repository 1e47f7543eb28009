package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/metrics"
)

// copies adds n copies of each row that is about one of the first runs to a table. Some columns have other values, as SQL over the
// copy's number k.
func (r *rig) copies(n int, table, key string, values map[string]string) {
	r.t.Helper()
	names := strings.Split(r.text(`SELECT string_agg(quote_ident(column_name), ',' ORDER BY ordinal_position) FROM information_schema.columns WHERE table_name = $1 AND is_generated = 'NEVER'`, table), ",")
	from := make([]string, len(names))
	for i, name := range names {
		if from[i] = "t." + name; values[name] != "" {
			from[i] = values[name]
		}
	}
	for k := 1; k <= n; k++ {
		sql := fmt.Sprintf(`INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM (SELECT * FROM %[1]s WHERE %[4]s <= $1) t, (SELECT $2::int AS k) k`,
			table, strings.Join(names, ","), strings.Join(from, ","), key)
		if err := r.db.Exec(context.Background(), sql, mlflowRuns, k); err != nil {
			r.t.Fatal(table, err)
		}
	}
}

// mlflowRuns is how many runs are made by calls; the others are copies.
const mlflowRuns = 1000

// manyMLflowRuns makes a thousand times so many runs of programs elsewhere, each with ten parameters, five tags and ten metrics.
func (r *rig) manyMLflowRuns(thousands int) {
	r.t.Helper()
	me := r.user("determined")
	for i := range mlflowRuns {
		var params, metrics []string
		for p := range 10 {
			params = append(params, fmt.Sprintf(`{"key":"p%d","value":"%d"}`, p, (i*7+p)%100))
			metrics = append(metrics, fmt.Sprintf(`{"key":"m%d","value":%g,"step":1,"timestamp":1700000000000}`, p, float64((i*13+p)%1000)/1000))
		}
		run := me.newMLflowRun("1")
		me.post(mlflowPath("runs/log-batch"), fmt.Sprintf(`{"run_id":%q,"params":[%s],"metrics":[%s],"tags":[{"key":"a","value":"x%d"},{"key":"b","value":"y"},{"key":"c","value":"z"}]}`,
			run, strings.Join(params, ","), strings.Join(metrics, ","), i%10)).ok()
		me.post(mlflowPath("runs/update"), fmt.Sprintf(`{"run_id":%q,"status":"FINISHED"}`, run)).ok()
	}
	for more := true; more; {
		var err error
		if more, err = metrics.Summarize(context.Background(), r.db); err != nil {
			r.t.Fatal(err)
		}
	}
	n := thousands - 1
	r.copies(n, "experiments", "id", map[string]string{"id": "t.id + k * 10000", "job_id": "gen_random_uuid()", "best_trial_id": "NULL", "external_id": "NULL"})
	r.copies(n, "tasks", "experiment_id", map[string]string{"id": "t.id || '-' || k", "experiment_id": "t.experiment_id + k * 10000", "job_id": "(SELECT e.job_id FROM experiments e WHERE e.id = t.experiment_id + k * 10000)"})
	r.copies(n, "trials", "id", map[string]string{"id": "t.id + k * 10000", "experiment_id": "t.experiment_id + k * 10000", "task_id": "t.task_id || '-' || k"})
	r.copies(n, "trial_summaries", "trial_id", map[string]string{"trial_id": "t.trial_id + k * 10000"})
	r.exec(`VACUUM ANALYZE`)
}

// BenchmarkMLflowSearch is a page of the runs that a search of MLflow's finds among 100,000, over HTTP.
func BenchmarkMLflowSearch(b *testing.B) {
	r := newRig(b)
	r.manyMLflowRuns(100)
	me := r.user("determined")
	for name, body := range map[string]string{
		"newest 100":          `"max_results":100`,
		"metric":              `"max_results":100,"filter":"metrics.m3 < 0.1"`,
		"parameter and tag":   `"max_results":100,"filter":"params.p1 = '7' AND tags.a = 'x3'"`,
		"best by metric":      `"max_results":100,"order_by":["metrics.m1 ASC"]`,
		"status and name":     `"max_results":100,"filter":"status = 'FINISHED' AND run_name LIKE '%a%'"`,
		"nothing":             `"max_results":100,"filter":"params.none = 'x'"`,
		"newest 1000":         `"max_results":1000`,
		"metric by parameter": `"max_results":100,"filter":"metrics.m3 > 0.5","order_by":["params.p2"]`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				me.post(mlflowPath("runs/search"), `{"experiment_ids":["1"],`+body+`}`).ok()
			}
		})
	}
}

// BenchmarkMLflowBatch is a request with a thousand values of ten metrics at a hundred steps, over HTTP.
func BenchmarkMLflowBatch(b *testing.B) {
	r := newRig(b)
	me := r.user("determined")
	run, step := me.newMLflowRun("1"), 0
	for name, each := range map[string]int{"one step": 1, "a hundred steps": 100} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var metrics []string
				for i := range 1000 {
					metrics = append(metrics, fmt.Sprintf(`{"key":"m%d","value":%d.5,"step":%d,"timestamp":1700000000000}`, i/each, i, step+i%each))
				}
				step += each
				me.post(mlflowPath("runs/log-batch"), fmt.Sprintf(`{"run_id":%q,"metrics":[%s]}`, run, strings.Join(metrics, ","))).ok()
			}
		})
	}
}
