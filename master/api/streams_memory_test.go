package api

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// readUntil reads what a connection brings up to a text.
func readUntil(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(seen.String(), text); {
		if _, err := io.ReadFull(conn, one); err != nil {
			t.Fatalf("%v before %q: %.300s", err, text, seen.String())
		}
		seen.Write(one)
	}
}

// longReports stores n reports of a trial with so many bytes each.
func (r *rig) longReports(trial, n, bytes int) {
	r.t.Helper()
	r.exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at) SELECT $1, 1, 'training', n, n, jsonb_build_object('text', repeat('x', $3)), now()
		FROM generate_series(1000, 999 + $2::int) AS n`, trial, n, bytes)
}

// A stream of changes that returns from the beginning reads what it missed a page at a time, and one that
// nobody reads ends.
func TestLiveReadsMissedReportsInPages(t *testing.T) {
	pgtest.Alone(t)
	r := newRig(t, func(c *Config) { c.Receiving.Stall = 300 * time.Millisecond })
	me := r.user("determined")
	trial, _ := r.trial(me.create(yaml()), 0)
	const n, bytes = 300, 400_000
	r.longReports(trial, n, bytes)
	path := fmt.Sprintf("/api/v1/detent/live?trials=%d&trials=%[1]d&after=0-0/x-0", trial)
	before := r.heap()
	conn := r.unread(me, path)
	readUntil(t, conn, "event: metrics")
	if grown := r.heap() - before; grown > n*bytes/4 {
		t.Errorf("the stream needs %d MB for reports of %d MB", grown>>20, n*bytes>>20)
	}
	eventually(t, func() bool { return r.api.limits.streams.Count() == 0 })

	s := me.open(path, nil)
	defer s.close()
	got := 0
	s.until("the end of what was missed", func(e event) bool {
		for ; e.name == "metrics" && got < n-1; e = s.event() {
			got++
		}
		return e.name == "position"
	})
	if got < n-1 {
		t.Errorf("%d of %d reports", got, n)
	}
}

// A user may have a limited number of streams of changes.
func TestLiveStreamsAreLimited(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	for range r.api.limits.streams.MostOfOne {
		if _, err := r.api.limits.streams.Join("determined"); err != nil {
			t.Fatal(err)
		}
	}
	me.get("/api/v1/detent/live").says(429, "streams of changes", "determined", "close one")
	if s := r.user("admin").open("/api/v1/detent/live", nil); s.event().name == "" {
		t.Error("another user's stream has not begun")
	}
}

// A stream of a snapshot, and one of curves, is sent in records of about a megabyte, and holds no more than that.
func TestMetricStreamsInRecords(t *testing.T) {
	pgtest.Alone(t)
	r := newRig(t)
	me := r.user("determined")
	a := r.running(yaml(), 1)
	const n, bytes = 60, 400_000
	name := strings.Repeat("n", 900)
	for i := range n {
		trial := a.trial
		if i > 0 {
			trial, _ = r.trial(a.exp, i)
		}
		r.exec(`UPDATE trials SET hparams = jsonb_build_object('text', repeat('x', $2)) WHERE id = $1`, trial, bytes)
		r.exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at) SELECT $1, 1, 'validation', n, n, jsonb_build_object($2::text, n), now()
			FROM generate_series(1, 50) AS n`, trial, name)
	}
	r.over(a.exp)
	before := r.heap()
	path := fmt.Sprintf("/api/v1/experiments/%d/metrics-stream/trials-snapshot?metricName=%s&group=validation&batchesProcessed=7", a.exp, name)
	conn := r.unread(me, path)
	readUntil(t, conn, `"trials":`)
	if grown := r.heap() - before; grown > n*bytes/3 {
		t.Errorf("the stream needs %d MB for hyperparameters of %d MB", grown>>20, n*bytes>>20)
	}
	_ = conn.Close()
	got := map[float64]int{}
	list := me.streamed(path)
	for _, record := range list {
		for _, trial := range at(t, record, "trials").([]any) {
			got[at(t, trial, "trialId").(float64)]++
		}
	}
	if len(got) != n || len(list) < n*bytes>>22 {
		t.Errorf("%d trials in %d records", len(got), len(list))
	}
	me.get("/api/v1/experiments/metrics-stream/metric-names?periodSeconds=1&ids=" + fmt.Sprint(a.exp)).ok()

	for range r.api.limits.charts.MostOfOne {
		if _, err := r.api.limits.charts.Join("determined"); err != nil {
			t.Fatal(err)
		}
	}
	me.get(path).says(429, "streams of metrics for charts", "close one")
	me.get(fmt.Sprintf("/api/v1/trials/%d/profiler/metrics", a.trial)).says(429, "streams of metrics for charts")
}

// Curves of metrics with long names are sent in records of about a megabyte, and an answer with too many of them is an
// error. A trial that is requested several times is in an answer once.
func TestCurvesWithLongNames(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	a := r.running(yaml(), 1)
	other, _ := r.trial(a.exp, 1)
	const long = 900
	r.exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at) SELECT t, 1, 'validation', n, n,
			(SELECT jsonb_object_agg(repeat('n', $1) || k, n) FROM generate_series(10, 34) AS k), now()
		FROM generate_series(1, 2000) AS n, unnest($2::int[]) AS t`, long, []int{a.trial, other})
	r.exec(`INSERT INTO trial_summaries (trial_id, summary) SELECT t, jsonb_build_object('validation_metrics', (SELECT jsonb_object_agg(repeat('n', $1) || k,
			jsonb_build_object('type', 'number', 'min', 1, 'max', 2000, 'count', 2000)) FROM generate_series(10, 34) AS k)) FROM unnest($2::int[]) AS t
		ON CONFLICT (trial_id) DO UPDATE SET summary = EXCLUDED.summary`, long, []int{a.trial, other})
	r.exec(`UPDATE metrics_cursor SET xid = pg_snapshot_xmax(pg_current_snapshot()), id = 0`)
	me.get(fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d", a.trial)).says(413, "curves", "maxDatapoints")
	name := strings.Repeat("n", long) + "10"
	same := strings.Repeat(fmt.Sprintf("trialIds=%d&", a.trial), 100)
	got := me.get("/api/v1/trials/time-series?" + same + "metricIds=validation." + name).ok()
	if trials := at(t, got.tree(), "trials").([]any); len(trials) != 1 || len(at(t, trials[0], "metrics.0.data").([]any)) != 2000 {
		t.Errorf("%d trials of one that is requested 100 times", len(trials))
	}
	r.over(a.exp)
	list := me.streamed(fmt.Sprintf("/api/v1/experiments/%d/metrics-stream/trials-sample?metricName=%s&group=validation&maxDatapoints=2000", a.exp, name))
	points, promoted := 0, ""
	for _, record := range list {
		promoted += fmt.Sprint(at(t, record, "promotedTrials"))
		for _, trial := range at(t, record, "trials").([]any) {
			points += len(at(t, trial, "data").([]any))
		}
	}
	if points != 4000 || len(list) != 2 || promoted != fmt.Sprintf("[%d][%d]", a.trial, other) {
		t.Errorf("%d points in %d records, promoted %s", points, len(list), promoted)
	}
}

// A client of /stream receives long rows a few at a time.
func TestUpdatesOfLongRows(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	const n = 60
	r.exec(`INSERT INTO models (name, workspace_id, owner_id, notes, metadata) SELECT 'm' || n, 1, (SELECT id FROM users WHERE username = 'determined'),
			CASE WHEN n BETWEEN 20 AND 40 THEN repeat('x', 400000) ELSE '' END, '{}' FROM generate_series(1, $1::int) AS n`, n)
	f := me.follow(t)
	seen := map[string]int{}
	for _, m := range f.synced(`{"sync_id":"all","subscribe":{"models":{"workspace_ids":[1]}}}`) {
		seen[at(t, m, "model.name").(string)]++
	}
	for i := range n {
		if name := fmt.Sprint("m", i+1); seen[name] != 1 {
			t.Errorf("%s was sent %d times", name, seen[name])
		}
	}
}
