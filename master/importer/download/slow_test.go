package download

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// A slow old master sends the reports and the log of one trial, and stops in the middle of each until somebody lets it go on.
type slow struct {
	rows  int
	stops chan string   // what it was sending when it stopped
	goOn  chan struct{} // one for each stop
	cut   bool          // it closes the connection instead
}

func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.Contains(r.URL.Path, "/trials/metrics/") && r.URL.Query().Get("group") == "training":
		s.send(w, "reports", func(i int) string {
			return fmt.Sprintf(`{"result": {"metrics": [{"trialId": 7, "trialRunId": 1, "group": "training", "totalBatches": %d, "metrics": {"loss": 1}}]}}`, i)
		})
	case strings.Contains(r.URL.Path, "/trials/metrics/"):
	case strings.HasSuffix(r.URL.Path, "/logs"):
		s.send(w, "lines", func(i int) string { return fmt.Sprintf(`{"result": {"id": "%d", "log": "line %[1]d"}}`, i) })
	default:
		http.Error(w, `{"error": {"error": "not found"}}`, http.StatusNotFound)
	}
}

func (s *slow) send(w http.ResponseWriter, what string, line func(int) string) {
	for i := range s.rows {
		fmt.Fprintln(w, line(i+1))
		if i != s.rows-10 {
			continue
		}
		w.(http.Flusher).Flush()
		if s.cut {
			panic(http.ErrAbortHandler)
		}
		s.stops <- what
		<-s.goOn
	}
}

// TestASlowOldMaster: while the download waits for the old master, it holds no transaction, so nobody here waits for it. What it has stored before an interruption is
// replaced by the next download.
func TestASlowOldMaster(t *testing.T) {
	w := rowtest.New(t)
	old := &slow{rows: reportsAtOnce + 100, stops: make(chan string), goOn: make(chan struct{}), cut: true}
	server := httptest.NewServer(old)
	defer server.Close()
	c, err := client.New(client.Options{Master: server.URL, Token: "t", Transport: newBounded(), Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	d := &copying{Options: Options{Begin: func(string, int64) {}, Add: func(int64) {}, Note: func(text string) { t.Error(text) }}, db: w.DB, c: c}
	if err := d.prepare(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	w.Exec(`INSERT INTO determined_import.runs (id, experiment_id, wanted) VALUES (7, 1, 'now')`)
	trial := unfetched{ID: 7, Task: []string{"a"}, Wanted: "now", Reports: true, Lines: true}
	err = d.trial(t.Context(), trial)
	if err == nil || w.Int(`SELECT count(*) FROM determined_import.raw_steps`) == 0 || w.Int(`SELECT count(*) FROM determined_import.runs WHERE fetched IS NULL`) != 1 {
		t.Errorf("a stream that was cut: %v", err)
	}
	old.cut = false
	ended := make(chan error, 1)
	go func() { ended <- d.trial(t.Context(), trial) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	until := func(what, sql string, want int) {
		t.Helper()
		for got := w.Int(sql); got != want; got = w.Int(sql) {
			if ctx.Err() != nil {
				t.Fatalf("%s: %d in place of %d", what, got, want)
			}
		}
	}
	for _, table := range []string{"raw_steps", "task_logs"} {
		var what string
		select {
		case what = <-old.stops:
		case err := <-ended:
			t.Fatalf("before its %s the download ended: %v", table, err)
		}
		until("stored "+what, `SELECT count(*) FROM determined_import.`+table, reportsAtOnce)
		until("open transactions", `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
			AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL OR state LIKE 'idle in transaction%')`, 0)
		old.goOn <- struct{}{}
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]int{
		`SELECT count(DISTINCT total_batches) FROM determined_import.raw_steps`: old.rows, `SELECT count(*) FROM determined_import.raw_steps`: old.rows,
		`SELECT count(DISTINCT id) FROM determined_import.task_logs`: old.rows, `SELECT count(*) FROM determined_import.task_logs`: old.rows,
		`SELECT count(*) FROM determined_import.runs WHERE fetched = 'now' AND logged = 'now' AND summary_metrics_timestamp IS NOT NULL`: 1,
	} {
		if got := w.Int(sql); got != want {
			t.Errorf("%s: %d in place of %d", sql, got, want)
		}
	}
}
