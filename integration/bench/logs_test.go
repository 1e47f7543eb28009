package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

const perRequest = 500

func logText(i int, rng *rand.Rand) string {
	return fmt.Sprintf("epoch %d: step %d loss=%.6f acc=%.4f lr=0.001000 samples/s=%.2f", i/1000, i, rng.Float64(), rng.Float64(), 1000*rng.Float64())
}

// logLines is the part of a request that can be made beforehand: making it is the
// runners' time, on other machines. Its lines differ as those of a training do.
func logLines(n int, rng *rand.Rand) []byte {
	b := []byte(`[`)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"timestamp":"2026-11-20T04:22:%02d.%06dZ","log":%q,"stdtype":"stdout","level":"LOG_LEVEL_INFO","source":"task"}`, i%60, i, logText(i, rng))
	}
	return append(b, `],"done":false}`...)
}

// ship sends lines in the name of an attempt; first is the number of the first.
func (w *wire) ship(a attempt, first int, lines []byte) error {
	body := fmt.Appendf(nil, `{"shipper":"bench of %s","first":"%d","lines":`, a.task, first)
	_, err := w.call("POST", "/api/v1/detent/logs", a.token, append(body, lines...))
	return err
}

// BenchmarkLogs: log lines per second, against bare inserts of rows.
func BenchmarkLogs(b *testing.B) {
	const part = "Log lines, 500 in each request"
	r := start(b)
	r.emptyBare(b)
	attempts := r.hold(b, 8)
	first := make([]int, 8)
	rng := rand.New(rand.NewPCG(1, 2))
	var lines [32][]byte
	var texts [32][]string
	var ats []time.Time
	for i := range lines {
		lines[i] = logLines(perRequest, rng)
		for n := range perRequest {
			texts[i] = append(texts[i], logText(n, rng))
		}
	}
	for range perRequest {
		ats = append(ats, time.Now())
	}
	inserted := make([]int, 8)
	earlier := map[int]string{1: "28,000 /s", 4: "35,000 /s", 8: "33,000 /s"}
	target := map[int]string{1: "280,000 /s", 4: "350,000 /s", 8: "330,000 /s"}
	before := r.disk(b, "^log_")
	for _, clients := range []int{1, 4, 8} {
		ours := dialAll(b, r.MasterURL, clients)
		found := alternately(func() pace {
			return r.metered(b, r.part(b, "master"), clients, func(c int) error {
				first[c] += perRequest
				return ours[c].ship(attempts[c], first[c]-perRequest, lines[first[c]/perRequest%len(lines)])
			})
		}, func() pace {
			return load(b, clients, func(c int) error {
				inserted[c]++
				_, err := r.bare.Exec(b.Context(), `INSERT INTO bare_lines (task, at, level, std, source, log)
					SELECT $1, t, 'INFO', 'stdout', 'task', l FROM unnest($2::timestamptz[], $3::text[]) AS u(t, l)`, fmt.Sprint("task-", c), ats, texts[inserted[c]%len(texts)])
				return err
			})
		})
		us, inserts := found[0], found[1]
		name := plural(clients)
		add := func(f figure) { f.part = part; shared.figures.add(f) }
		add(figure{what: name, value: us.rate * perRequest, unit: "/s", target: target[clients], against: "inserts of rows, no HTTP", yardstick: inserts.rate * perRequest, determined: earlier[clients]})
		add(figure{what: name + ", p50 of a request", value: us.p50, unit: "ms", against: "the insert", yardstick: inserts.p50})
		add(figure{what: name + ", p99 of a request", value: us.p99, unit: "ms", against: "the insert", yardstick: inserts.p99})
		add(figure{what: name + ", processor time of the master", value: us.cpu[serving] / perRequest, unit: "µs/line"})
		add(figure{what: name + ", processor time of PostgreSQL", value: us.cpu[inDatabase] / perRequest, unit: "µs/line"})
		b.ReportMetric(us.rate*perRequest, fmt.Sprintf("lines/s-%d", clients))
	}
	shipped := 0
	for _, n := range first {
		shipped += n
	}
	shared.figures.add(figure{part: part, what: "on disk, a million lines", value: (r.disk(b, "^log_") - before) / float64(shipped), unit: "MB",
		against: "as rows", yardstick: r.bareDisk(b), determined: "281 MB"})
}

// BenchmarkFollow: reading a long log with follow, against reading its rows from
// the database; and when a new line is seen.
func BenchmarkFollow(b *testing.B) {
	const part, total = "Following a log", 100_000
	r := start(b)
	r.emptyBare(b)
	a := r.hold(b, 1)[0]
	w := dial(b, r.MasterURL)
	rng := rand.New(rand.NewPCG(1, 2))
	lines := logLines(perRequest, rng)
	for first := 0; first < total; first += perRequest {
		if err := w.ship(a, first, lines); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := r.bare.Exec(b.Context(), `INSERT INTO bare_lines (task, at, level, std, source, log)
		SELECT 'long', now(), 'INFO', 'stdout', 'task', 'epoch ' || i/1000 || ': step ' || i || ' loss=0.123456 acc=0.7500 lr=0.001000 samples/s=1034.52'
		FROM generate_series(1, $1) AS i`, total); err != nil {
		b.Fatal(err)
	}
	// Determined's own clients ask whole records; det asks the same.
	found := alternately(func() pace { return timed(func() { r.follow(b, a.trial, total, nil) }) },
		func() pace { return timed(func() { r.readRows(b, total) }) },
		func() pace {
			return timed(func() {
				if out, err := r.det(b.Context(), "trial", "logs", strconv.Itoa(a.trial)).Output(); err != nil || bytes.Count(out, []byte("\n")) < total {
					b.Fatalf("det trial logs: %d lines, %v", bytes.Count(out, []byte("\n")), err)
				}
			})
		})
	var seen []time.Duration
	sent := make(chan time.Time, 1)
	r.follow(b, a.trial, total+50, func(n int) {
		if n > total {
			seen = append(seen, time.Since(<-sent))
		}
		if n >= total && n < total+50 {
			sent <- time.Now()
			if err := w.ship(a, n, logLines(1, rng)); err != nil {
				b.Error(err)
			}
		}
	})
	add := func(f figure) { f.part = part; shared.figures.add(f) }
	add(figure{what: "100,000 lines with follow", value: found[0].p50, unit: "ms", target: "1,000 ms", against: "reading them as rows", yardstick: found[1].p50, determined: "2,380 ms"})
	add(figure{what: "100,000 lines with det trial logs", value: found[2].p50, unit: "ms", against: "reading them as rows", yardstick: found[1].p50})
	add(figure{what: "a new line is seen after, p50", value: ms(percentile(seen, 50)), unit: "ms", target: "50 ms", determined: "590 ms"})
	add(figure{what: "a new line is seen after, p98", value: ms(percentile(seen, 98)), unit: "ms", target: "50 ms"})
	printed := r.printed(b)
	add(figure{what: "a line that a program prints is seen after, p50", value: ms(percentile(printed, 50)), unit: "ms"})
	add(figure{what: "a line that a program prints is seen after, p98", value: ms(percentile(printed, 98)), unit: "ms"})
	b.ReportMetric(found[0].p50, "ms/100k-lines")
}

// bareDisk returns the size of a million of the yardstick's rows, in MB.
func (r *rig) bareDisk(b *testing.B) (size float64) {
	b.Helper()
	err := r.bare.QueryRow(b.Context(), "SELECT pg_total_relation_size('bare_lines')::float8 / count(*) FROM bare_lines").Scan(&size)
	if err != nil {
		b.Fatal(err)
	}
	return size
}

// timed measures something long once.
func timed(do func()) pace {
	at := time.Now()
	do()
	return pace{p50: ms(time.Since(at))}
}

// follow reads a trial's log until n lines have arrived. It calls each, which may be nil, with the
// number of lines after each line.
func (r *rig) follow(b *testing.B, trial, n int, each func(n int)) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/api/v1/trials/%d/logs?follow=true", r.MasterURL, trial), nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.client.Token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReaderSize(resp.Body, 64<<10)
	for got := 1; got <= n; got++ {
		if _, err := in.ReadSlice('\n'); err != nil {
			b.Fatalf("line %d of the log: %v", got, err)
		}
		if each != nil {
			each(got)
		}
	}
}

func (r *rig) readRows(b *testing.B, n int) {
	b.Helper()
	rows, err := r.bare.Query(b.Context(), `SELECT id, at, level, std, source, log FROM bare_lines WHERE task = 'long' ORDER BY id`)
	if err != nil {
		b.Fatal(err)
	}
	got := 0
	for rows.Next() {
		got++
		rows.RawValues()
	}
	if rows.Err() != nil || got != n {
		b.Fatalf("%d rows, %v", got, rows.Err())
	}
}

// printed is how long the lines of a program take from its own clock, through its
// runner and the master, to a follower.
func (r *rig) printed(b *testing.B) (all []time.Duration) {
	b.Helper()
	const n = 40
	id := r.submit(b, fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 0.2; echo printed at $(date +%%s%%N); i=$((i+1)); done", n))
	var trial int
	await(b, "the trial", func() bool {
		list, err := client.List(b.Context(), r.client, v1.ListTrials, client.Page{}, nil, id)
		if err != nil {
			b.Fatal(err)
		}
		if len(list) == 1 {
			trial = list[0].ID
		}
		return len(list) == 1
	})
	for rec, err := range r.client.TrialLogs(b.Context(), trial, client.LogQuery{Follow: true}) {
		if err != nil {
			b.Fatal(err)
		}
		_, said, _ := strings.Cut(strings.TrimSpace(rec.Message), "printed at ")
		if ns, err := strconv.ParseInt(said, 10, 64); err == nil { // the log has the script too, in the configuration
			all = append(all, time.Since(time.Unix(0, ns)))
		}
	}
	if len(all) != n {
		b.Fatalf("%d of %d lines were seen", len(all), n)
	}
	return all
}
