package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// patientWire is a wire whose server closes connections that are idle for some seconds, as MLflow's does, or replaces a worker.
type patientWire struct{ *wire }

// maxRedials is how often a call is repeated on another connection.
const maxRedials = 20

func (w patientWire) call(method, path, token string, body []byte) ([]byte, error) {
	answer, err := w.wire.call(method, path, token, body)
	for range maxRedials {
		if err == nil || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			break
		}
		if err := w.redial(); err != nil {
			return nil, err
		}
		answer, err = w.wire.call(method, path, token, body)
	}
	return answer, err
}

func (w patientWire) redial() (err error) {
	var d net.Dialer
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if w.conn, err = d.DialContext(ctx, "tcp", w.host); err == nil {
		w.r = bufio.NewReaderSize(w.conn, 64<<10)
	}
	return err
}

// mlflowCall is the path of a call of MLflow's interface below its server.
func mlflowCall(call string) string { return "/api/2.0/mlflow/" + call }

// theirMLflow starts MLflow's own server, with as many workers as it has by itself, on a database of the same PostgreSQL.
func (r *rig) theirMLflow(b *testing.B) (address string, db *pgxpool.Pool) {
	b.Helper()
	python, err := pyenv.Named(b.Context(), "mlflow", servers.NewReporter(os.Stderr))
	if err != nil {
		b.Fatal(err)
	}
	dsn, err := r.database(b.Context(), fmt.Sprint("mlflow_", time.Now().UnixNano()))
	if err != nil {
		b.Fatal(err)
	}
	port, err := servers.FreePort()
	if err != nil {
		b.Fatal(err)
	}
	address = fmt.Sprintf("http://127.0.0.1:%d", port)
	log, err := os.Create(filepath.Join(r.dir, "mlflow.log"))
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	_, rest, _ := strings.Cut(dsn, "://")
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), python, "-m", "mlflow", "server", "--backend-store-uri", "postgresql+psycopg2://"+rest,
		"--host", "127.0.0.1", "--port", strconv.Itoa(port), "--artifacts-destination", b.TempDir(),
		"--uvicorn-opts", "--timeout-worker-healthcheck 120") // on a busy machine uvicorn kills workers that do not answer for 5 s
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = b.TempDir(), log, log, append(os.Environ(), "MLFLOW_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	b.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with its workers
		<-ended
	})
	awaitFor(b, 3*time.Minute, "the start of MLflow's server; its log is "+log.Name(), func() bool {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address+"/health", nil)
		if err != nil {
			return false
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	if db, err = pgxpool.New(b.Context(), dsn); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	return address, db
}

// newRun creates a run, and returns its id.
func newRun(b *testing.B, w patientWire, prefix, token, experiment string) string {
	b.Helper()
	answer, err := w.call("POST", prefix+mlflowCall("runs/create"), token, fmt.Appendf(nil, `{"experiment_id":%q,"start_time":1700000000000}`, experiment))
	var got struct {
		Run struct {
			Info struct {
				ID string `json:"run_id"`
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(answer, &got)
	}
	if err != nil {
		b.Fatal(err)
	}
	return got.Run.Info.ID
}

// batchOf is a request with a thousand metrics of a step.
func batchOf(run string, step int) []byte {
	var list []string
	for i := range 1000 {
		list = append(list, fmt.Sprintf(`{"key":"metric_%d","value":%d.25,"timestamp":1700000000000,"step":%d}`, i, step, step))
	}
	return fmt.Appendf(nil, `{"run_id":%q,"metrics":[%s]}`, run, strings.Join(list, ","))
}

// BenchmarkMLflow: the calls of MLflow's client, against MLflow's own server on the same PostgreSQL.
func BenchmarkMLflow(b *testing.B) {
	const part = "MLflow's interface, and MLflow 3.17's server on the same PostgreSQL"
	const theirs = "MLflow's server"
	r := start(b)
	address, db := r.theirMLflow(b)
	add := func(f figure) { f.part, f.against = part, theirs; shared.figures.add(f) }
	token := r.client.Token()
	one, other := patientWire{dial(b, r.MasterURL)}, patientWire{dial(b, address)}
	for _, clients := range []int{1, 32} {
		us, them := dialAll(b, r.MasterURL, clients), dialAll(b, address, clients)
		ours, their, steps := make([]string, clients), make([]string, clients), make([]int, clients)
		for c := range clients {
			ours[c], their[c] = newRun(b, one, "/mlflow", token, "1"), newRun(b, other, "", "", "0")
		}
		metric := func(run string, step int) []byte {
			return fmt.Appendf(nil, `{"run_id":%q,"key":"loss","value":%g,"timestamp":1700000000000,"step":%d}`, run, 1/float64(step), step)
		}
		found := alternately(func() pace {
			return load(b, clients, func(c int) error {
				steps[c]++
				_, err := us[c].call("POST", "/mlflow"+mlflowCall("runs/log-metric"), token, metric(ours[c], steps[c]))
				return err
			})
		}, func() pace {
			return load(b, clients, func(c int) error {
				steps[c]++
				_, err := patientWire{them[c]}.call("POST", mlflowCall("runs/log-metric"), "", metric(their[c], steps[c]))
				return err
			})
		})
		add(figure{what: "log_metric, " + plural(clients), value: found[0].rate, unit: "/s", target: map[int]string{32: "10 × of MLflow's"}[clients], yardstick: found[1].rate})
		add(figure{what: "log_metric, " + plural(clients) + ", p99", value: found[0].p99, unit: "ms", yardstick: found[1].p99})
	}
	ours, their, step := newRun(b, one, "/mlflow", token, "1"), newRun(b, other, "", "", "0"), 0
	found := alternately(func() pace {
		return load(b, 1, func(int) error {
			step++
			_, err := one.call("POST", "/mlflow"+mlflowCall("runs/log-batch"), token, batchOf(ours, step))
			return err
		})
	}, func() pace {
		return load(b, 1, func(int) error {
			step++
			_, err := other.call("POST", mlflowCall("runs/log-batch"), "", batchOf(their, step))
			return err
		})
	})
	add(figure{what: "log_batch of 1,000 metrics, p50", value: found[0].p50, unit: "ms", yardstick: found[1].p50})
	add(figure{what: "log_batch of 1,000 metrics, p99", value: found[0].p99, unit: "ms", target: "20 ms", yardstick: found[1].p99})
	r.manyRuns(b, db)
	for _, q := range []struct{ name, body string }{
		{"the newest 100", `"max_results":100`},
		{"100 by a metric", `"max_results":100,"filter":"metrics.m3 < 0.1"`},
		{"100 by a parameter and a tag", `"max_results":100,"filter":"params.p1 = '7' AND tags.a = 'x3'"`},
		{"the best 100 by a metric", `"max_results":100,"order_by":["metrics.m1 ASC"]`},
	} {
		found := alternately(func() pace {
			return load(b, 1, func(int) error {
				_, err := one.call("POST", "/mlflow"+mlflowCall("runs/search"), token, []byte(`{"experiment_ids":["1"],`+q.body+`}`))
				return err
			})
		}, func() pace {
			return load(b, 1, func(int) error {
				_, err := other.call("POST", mlflowCall("runs/search"), "", []byte(`{"experiment_ids":["0"],`+q.body+`}`))
				return err
			})
		})
		add(figure{what: "search_runs among 100,000, " + q.name + ", p50", value: found[0].p50, unit: "ms", target: "200 ms", yardstick: found[1].p50})
	}
}

// manyRuns gives both servers 100,000 runs with ten parameters, three tags and ten metrics each.
func (r *rig) manyRuns(b *testing.B, theirs *pgxpool.Pool) {
	b.Helper()
	const runs = 100_000
	template, err := strconv.Atoi(newRun(b, patientWire{dial(b, r.MasterURL)}, "/mlflow", r.client.Token(), "1"))
	if err != nil {
		b.Fatal(err)
	}
	// A copy of a run that has ended: the loop of the master reads all experiments that have not.
	if _, err := (patientWire{dial(b, r.MasterURL)}).call("POST", "/mlflow"+mlflowCall("runs/update"), r.client.Token(), fmt.Appendf(nil, `{"run_id":"%d","status":"FINISHED"}`, template)); err != nil {
		b.Fatal(err)
	}
	var experiment int
	if err := r.db.QueryRow(b.Context(), `SELECT experiment_id FROM trials WHERE id = $1`, template).Scan(&experiment); err != nil {
		b.Fatal(err)
	}
	r.fill(b, experiment, runs)
	for _, sql := range []string{
		`UPDATE trials t SET metadata = jsonb_build_object('mlflow', jsonb_build_object(
			'params', (SELECT jsonb_object_agg('p' || p, ((t.id * 7 + p) % 100)::text) FROM generate_series(0, 9) p),
			'tags', jsonb_build_object('a', 'x' || t.id % 10, 'b', 'y', 'c', 'z'))) WHERE t.metadata ? 'mlflow'`,
		`INSERT INTO trial_summaries (trial_id, summary) SELECT t.id, jsonb_build_object('avg_metrics', (SELECT jsonb_object_agg('m' || n,
				jsonb_build_object('count', 1, 'sum', 0.5, 'min', 0.5, 'max', 0.5, 'mean', 0.5, 'last', ((t.id * 13 + n) % 1000) / 1000.0, 'type', 'number')) FROM generate_series(0, 9) n))
			FROM trials t WHERE t.metadata ? 'mlflow' ON CONFLICT (trial_id) DO UPDATE SET summary = excluded.summary`,
		`VACUUM ANALYZE`,
	} {
		r.run(b, sql)
	}
	awaitFor(b, 10*time.Minute, "the lists of the newest values of all runs", func() bool {
		var waits bool
		err := r.db.QueryRow(b.Context(), `SELECT EXISTS (SELECT FROM trial_summaries s JOIN trials t ON t.id = s.trial_id WHERE s.listed = 'no' AND t.ended_at IS NOT NULL)`).Scan(&waits)
		return err == nil && !waits
	})
	r.run(b, `VACUUM ANALYZE`)
	for _, sql := range []string{
		`INSERT INTO runs (run_uuid, name, source_type, source_name, entry_point_name, user_id, status, start_time, end_time, source_version, lifecycle_stage, artifact_uri, experiment_id)
			SELECT md5(i::text), 'run ' || i, 'LOCAL', '', '', 'a', 'FINISHED', 1700000000000 + i, 1700000001000 + i, '', 'active', 'mlflow-artifacts:/0/' || i, 0 FROM generate_series(1, 100000) i`,
		`INSERT INTO params (key, value, run_uuid) SELECT 'p' || p, ((i * 7 + p) % 100)::text, md5(i::text) FROM generate_series(1, 100000) i, generate_series(0, 9) p`,
		`INSERT INTO tags (key, value, run_uuid) SELECT k.key, CASE k.key WHEN 'a' THEN 'x' || i % 10 ELSE 'y' END, md5(i::text) FROM generate_series(1, 100000) i, (VALUES ('a'), ('b'), ('c'), ('mlflow.runName')) k (key)`,
		`INSERT INTO latest_metrics (key, value, timestamp, step, is_nan, run_uuid) SELECT 'm' || n, ((i * 13 + n) % 1000) / 1000.0, 1700000000000, 1, false, md5(i::text)
			FROM generate_series(1, 100000) i, generate_series(0, 9) n`,
		`VACUUM ANALYZE`,
	} {
		if _, err := theirs.Exec(b.Context(), sql); err != nil {
			b.Fatalf("%s: %v", sql, err)
		}
	}
}
