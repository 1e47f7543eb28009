package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/metrics"
)

// These benchmarks print two rates: that of the API, and that of the same clients with a handler that
// only inserts rows in groups into the same database, or with bare inserts. An absolute rate means
// little on a shared machine.
//
//	go test ./master/api -run '^$' -bench . -benchtime 1x

const benchTime = 5 * time.Second

// load runs clients that each repeat a call for a while, and returns calls per
// second and the slowest hundredth.
func load(b *testing.B, clients int, call func(client, n int) error) (rate float64, p99 time.Duration) {
	b.Helper()
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	times := make([][]time.Duration, clients)
	begin := time.Now()
	for c := range clients {
		wg.Go(func() {
			for n := 0; time.Since(begin) < benchTime; n++ {
				at := time.Now()
				if err := call(c, n); err != nil {
					failed.Store(&err)
					return
				}
				times[c] = append(times[c], time.Since(at))
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
	var all []time.Duration
	for _, t := range times {
		all = append(all, t...)
	}
	return float64(len(all)) / took.Seconds(), percentile(all, 99)
}

func percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// send posts one body on a client's own connection.
func (c as) send(client *http.Client, path string, body []byte) error {
	req, err := http.NewRequest("POST", c.r.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	return c.answered(client, req)
}

// answered sends a request, and returns an error unless the answer is good.
func (c as) answered(client *http.Client, req *http.Request) error {
	req.Header.Set(c.header, c.token)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != 200 {
		err = fmt.Errorf("%s: %d %s", req.URL.Path, resp.StatusCode, answer)
	}
	return err
}

func benchClients(n int) []*http.Client {
	list := make([]*http.Client, n)
	for i := range list {
		list[i] = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	}
	return list
}

// fiveMetrics is a report with five metrics.
func fiveMetrics(trial, run, step int) []byte {
	return fmt.Appendf(nil, `{"group":"training","metrics":{"trialId":%d,"trialRunId":%d,"stepsCompleted":%d,"reportTime":null,`+
		`"metrics":{"avgMetrics":{"loss":%g,"accuracy":0.913,"lr":0.001,"grad_norm":1.25,"throughput":1034.5},"batchMetrics":null}}}`,
		trial, run, step, 1/float64(step+1))
}

func BenchmarkMetricReports(b *testing.B) {
	for _, clients := range []int{1, 8, 32} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			for b.Loop() {
				r := rigOf(b, func(c *Config) { c.Stored = diskuse.Limits{Owner: 100 << 30, Metrics: 10 << 30} }) // as a master has them
				ctx, cancel := context.WithCancel(b.Context())
				var wg sync.WaitGroup
				wg.Go(func() { metrics.NewSummarizer(r.db, r.bus, r.api.log).Run(ctx) })
				attempts := make([]*attempt, clients)
				for i := range attempts {
					attempts[i] = r.running(yaml(), 1)
				}
				http := benchClients(clients)
				rate, p99 := load(b, clients, func(c, n int) error {
					a := attempts[c]
					return a.ranks[0].send(http[c], a.trialPath("/metrics"), fiveMetrics(a.trial, 1, n))
				})
				cancel()
				wg.Wait()
				bare, bareP99 := bareReports(b, r, clients)
				b.ReportMetric(rate, "reports/s")
				b.ReportMetric(float64(p99.Microseconds())/1000, "p99-ms")
				b.ReportMetric(bare, "bare-reports/s")
				b.ReportMetric(float64(bareP99.Microseconds())/1000, "bare-p99-ms")
				b.ReportMetric(bare/rate, "bare/ours")
			}
		})
	}
}

// bareReports is the rate to compare with: the same clients with a handler that only groups inserts,
// without authentication, checks or summaries.
func bareReports(b *testing.B, r *rig, clients int) (float64, time.Duration) {
	b.Helper()
	pool, err := pgxpool.New(b.Context(), r.dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(b.Context(), `CREATE TABLE bare (trial int, step int, metrics jsonb, PRIMARY KEY (trial, step))`); err != nil {
		b.Fatal(err)
	}
	type report struct {
		trial, step int
		metrics     string
		done        chan error
	}
	queue := make(chan report, 1000)
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		for first := range queue {
			batch := []report{first}
			for more := true; more && len(batch) < 1000; {
				select {
				case next, ok := <-queue:
					if more = ok; ok {
						batch = append(batch, next)
					}
				default:
					more = false
				}
			}
			var trials, steps []int
			var metrics []string
			for _, x := range batch {
				trials, steps, metrics = append(trials, x.trial), append(steps, x.step), append(metrics, x.metrics)
			}
			_, err := pool.Exec(context.Background(), `INSERT INTO bare SELECT t, s, m::jsonb FROM unnest($1::int[], $2::int[], $3::text[]) AS u(t, s, m)`, trials, steps, metrics)
			for _, x := range batch {
				x.done <- err
			}
		}
	}()
	srv := bareServer(b, func(body []byte) error {
		var req struct {
			Metrics struct {
				TrialID        int
				StepsCompleted int
				Metrics        struct{ AvgMetrics json.RawMessage }
			}
		}
		if err := json.Unmarshal(body, &req); err != nil {
			return err
		}
		x := report{req.Metrics.TrialID, req.Metrics.StepsCompleted, string(req.Metrics.Metrics.AvgMetrics), make(chan error, 1)}
		queue <- x
		return <-x.done
	})
	bare := as{r: &rig{t: b, url: srv.url}, header: "Authorization", token: "none"}
	http := benchClients(clients)
	rate, p99 := load(b, clients, func(c, n int) error {
		return bare.send(http[c], "/", fiveMetrics(c, 1, n))
	})
	srv.stop()
	close(queue)
	<-flushed
	return rate, p99
}

// logBody is a batch of lines as a runner sends it.
func logBody(first, n int) []byte {
	b := fmt.Appendf(nil, `{"shipper":"s","first":"%d","lines":[`, first)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"timestamp":"2026-11-20T04:22:%02d.%06dZ","log":"epoch %d: step %d loss=%.6f acc=%.4f lr=0.001000 samples/s=1034.52","stdtype":"stdout","level":"LOG_LEVEL_INFO","source":"task"}`,
			i%60, i, first/1000, first+i, 1/float64(first+i+1), 0.5+float64(i%100)/200)
	}
	return append(b, `],"done":false}`...)
}

func BenchmarkLogLines(b *testing.B) {
	const perBatch = 500
	for _, clients := range []int{1, 4, 8} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			for b.Loop() {
				r := rigOf(b, func(c *Config) { c.Stored = diskuse.Limits{Owner: 100 << 30, Metrics: 10 << 30} }) // as a master has them
				attempts := make([]*attempt, clients)
				for i := range attempts {
					attempts[i] = r.running(yaml(), 1)
				}
				http := benchClients(clients)
				lines := logBody(0, perBatch)
				lines = lines[bytes.IndexByte(lines, '['):] // the runner makes the lines on another machine
				rate, p99 := load(b, clients, func(c, n int) error {
					body := append(fmt.Appendf(nil, `{"shipper":"s%d","first":"%d","lines":`, c, n*perBatch), lines...)
					return attempts[c].ranks[0].send(http[c], "/api/v1/detent/logs", body)
				})
				bare := bareLines(b, r, clients, perBatch)
				b.ReportMetric(rate*perBatch, "lines/s")
				b.ReportMetric(float64(p99.Microseconds())/1000, "p99-ms")
				b.ReportMetric(bare, "bare-lines/s")
				b.ReportMetric(bare/(rate*perBatch), "bare/ours")
			}
		})
	}
}

// bareLines inserts lines as rows, in batches, with nothing in between.
func bareLines(b *testing.B, r *rig, clients, perBatch int) float64 {
	b.Helper()
	pool, err := pgxpool.New(b.Context(), r.dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(b.Context(), `CREATE TABLE bare_lines (id bigint GENERATED ALWAYS AS IDENTITY, task text, at timestamptz, level text, std text, source text, log text);
		CREATE INDEX ON bare_lines (task, id)`); err != nil {
		b.Fatal(err)
	}
	var ats []time.Time
	var texts []string
	for i := range perBatch {
		ats = append(ats, time.Now())
		texts = append(texts, fmt.Sprintf("epoch 1: step %d loss=%.6f acc=%.4f lr=0.001000 samples/s=1034.52", i, 1/float64(i+1), 0.5+float64(i%100)/200))
	}
	rate, _ := load(b, clients, func(c, n int) error {
		_, err := pool.Exec(context.Background(), `INSERT INTO bare_lines (task, at, level, std, source, log)
			SELECT $1, t, 'INFO', 'stdout', 'task', l FROM unnest($2::timestamptz[], $3::text[]) AS u(t, l)`, fmt.Sprint("task-", c), ats, texts)
		return err
	})
	return rate * float64(perBatch)
}

// BenchmarkReadLogs streams 100,000 lines to a client, and times how long a line
// takes from the runner to a follower.
func BenchmarkReadLogs(b *testing.B) {
	const total, perBatch = 100_000, 500
	for b.Loop() {
		r := newRig(b)
		a := r.running(yaml(), 1)
		client := benchClients(1)[0]
		for first := 0; first < total; first += perBatch {
			if err := a.ranks[0].send(client, "/api/v1/detent/logs", logBody(first, perBatch)); err != nil {
				b.Fatal(err)
			}
		}
		owner := r.user("determined")
		begin := time.Now()
		s := owner.open(fmt.Sprintf("/api/v1/trials/%d/logs?follow=true", a.trial), nil)
		for range total {
			if _, err := s.line(); err != nil {
				b.Fatal(err)
			}
		}
		took := time.Since(begin)
		var seen []time.Duration
		for i := range 50 {
			at := time.Now()
			if err := a.ranks[0].send(client, "/api/v1/detent/logs", logBody(total+i, 1)); err != nil {
				b.Fatal(err)
			}
			if _, err := s.line(); err != nil {
				b.Fatal(err)
			}
			seen = append(seen, time.Since(at))
		}
		s.close()
		b.ReportMetric(float64(took.Milliseconds()), "ms/100k-lines")
		b.ReportMetric(float64(percentile(seen, 50).Microseconds())/1000, "seen-after-ms")
		b.ReportMetric(float64(percentile(seen, 98).Microseconds())/1000, "seen-after-p98-ms")
	}
}
