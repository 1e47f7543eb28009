package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

func logLine(id int, text string) string {
	at := time.Date(2026, 11, 20, 12, 0, id, 0, time.UTC).Format(time.RFC3339Nano)
	return fmt.Sprintf(`{"result":{"id":"%d","message":%q,"timestamp":%q,"level":"LOG_LEVEL_INFO","trialId":1}}`+"\n", id, text+"\n", at)
}

func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }

func TestStreamArrivesLineByLine(t *testing.T) {
	next := make(chan struct{})
	c := serve(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		for i := 1; i <= 3; i++ {
			io.WriteString(w, logLine(i, "x"))
			flush(w)
			<-next
		}
	})
	got := ""
	for r, err := range c.TrialLogs(t.Context(), 1, client.LogQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		got += r.ID
		next <- struct{}{} // the server sends the next line only after this one was seen
	}
	if got != "123" {
		t.Errorf("read %q", got)
	}
}

func TestStreamParameters(t *testing.T) {
	var query string
	c := serve(t, client.Options{}, func(_ http.ResponseWriter, r *http.Request) { query = r.URL.RawQuery })
	q := client.LogQuery{
		Limit: 5, Descending: true, Ranks: []int{0, 3}, Sources: []string{"a"}, Stdtypes: []string{"stderr"},
		After: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Search: "loss",
	}
	if _, err := client.Collect(c.TaskLogs(t.Context(), "7.x", q)); err != nil {
		t.Fatal(err)
	}
	want := "limit=5&orderBy=ORDER_BY_DESC&rankIds=0&rankIds=3&searchText=loss&sources=a&stdtypes=stderr&timestampAfter=2026-01-02T03%3A04%3A05Z"
	if query != want {
		t.Errorf("asked with %s\nwant       %s", query, want)
	}
}

func TestStreamErrors(t *testing.T) {
	for _, c := range []struct {
		name, body string
		code       fault.Code
		message    string
	}{
		{"a record that is an error", logLine(1, "x") + `{"error":{"grpcCode":5,"httpCode":404,"message":"gone","httpStatus":"Not Found","details":[]}}` + "\n", fault.NotFound, "gone"},
		{"a record that is cut off", logLine(1, "x") + `{"result":{"id":"2"`, fault.Unavailable, "closed during a response"},
		{"a record that is no JSON", logLine(1, "x") + "garbage here\n", fault.Internal, "not JSON"},
	} {
		cl := serve(t, client.Options{Patience: -1}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, c.body) })
		lines := 0
		var last error
		for _, err := range cl.TrialLogs(t.Context(), 1, client.LogQuery{}) {
			if last = err; err == nil {
				lines++
			}
		}
		if lines != 1 || fault.CodeOf(last) != c.code || !strings.Contains(fmt.Sprint(last), c.message) {
			t.Errorf("%s: %d lines, then %v", c.name, lines, last)
		}
	}
}

func TestStreamTakesLinesOfAnyLength(t *testing.T) {
	long := strings.Repeat("y", 1<<20)
	c := serve(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, logLine(1, long)+"\n"+logLine(2, "short"))
	})
	records, err := client.Collect(c.TrialLogs(t.Context(), 1, client.LogQuery{}))
	if err != nil || len(records) != 2 || len(records[0].Message) != len(long)+1 || records[1].Message != "short\n" {
		t.Fatalf("%d records, %v", len(records), err)
	}
}

func TestLeavingAStreamEndsTheRequest(t *testing.T) {
	ended := make(chan struct{})
	c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		io.WriteString(w, logLine(1, "x"))
		flush(w)
		<-r.Context().Done()
	})
	for range c.TrialLogs(t.Context(), 1, client.LogQuery{Follow: true}) {
		break
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the server still streams")
	}
}

// A followed log continues over broken connections and a master that is away for a
// while, and shows each line once, also one that arrives out of order.
func TestFollowedLogSurvivesTheMaster(t *testing.T) {
	calls := 0
	var afters []string
	c := serve(t, client.Options{Patience: 30 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
		calls++
		afters = append(afters, r.URL.Query().Get("timestampAfter"))
		switch calls {
		case 1:
			io.WriteString(w, logLine(1, "one")+logLine(50, "two"))
			flush(w)
			panic(http.ErrAbortHandler) // the connection breaks
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			io.WriteString(w, logLine(1, "one")+logLine(49, "late")+logLine(50, "two")+logLine(55, "three"))
			flush(w)
			panic(http.ErrAbortHandler)
		default:
			io.WriteString(w, logLine(50, "two")+logLine(55, "three")+logLine(56, "four"))
		}
	})
	got := ""
	for r, err := range c.TrialLogs(t.Context(), 1, client.LogQuery{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got += r.Message
	}
	if want := "one\ntwo\nlate\nthree\nfour\n"; got != want {
		t.Errorf("read\n%swant\n%s", got, want)
	}
	if calls != 4 || afters[0] != "" || afters[2] != "2026-11-20T11:59:50Z" || afters[3] != "2026-11-20T11:59:55Z" {
		t.Errorf("%d calls, from %q", calls, afters)
	}
}

func TestFollowedLogOfNothingIsAnError(t *testing.T) {
	c := serve(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"message":"trial 1 not found"}`)
	})
	_, err := client.Collect(c.TrialLogs(t.Context(), 1, client.LogQuery{Follow: true}))
	if !fault.Is(err, fault.NotFound) {
		t.Fatal(err)
	}
}

func TestMetricsComeInBatches(t *testing.T) {
	c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.RawQuery; q != "group=validation&trialIds=3&trialIds=4" {
			t.Errorf("asked with %s", q)
		}
		io.WriteString(w, `{"result":{"metrics":[{"trialId":3,"totalBatches":10,"metrics":{"a":1}},{"trialId":3,"totalBatches":20,"metrics":{}}]}}`+"\n")
		io.WriteString(w, `{"result":{"metrics":[{"trialId":4,"totalBatches":5,"metrics":{}}]}}`+"\n")
	})
	reports, err := client.Collect(c.TrialMetrics(t.Context(), client.ValidationGroup, 3, 4))
	if err != nil || len(reports) != 3 || reports[2].TotalBatches != 5 || string(reports[0].Metrics) != `{"a":1}` {
		t.Errorf("%+v, %v", reports, err)
	}
}

func BenchmarkReadLog(b *testing.B) {
	const lines = 100_000
	var body strings.Builder
	for i := range lines {
		body.WriteString(logLine(i%60, "[2026-11-20T12:00:00.000000Z] 1a2b3c4d [rank=0] || INFO: a line of output of a usual length"))
	}
	text := body.String()
	s := newServer(b, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })
	c, err := client.New(client.Options{Master: s})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range c.TrialLogs(b.Context(), 1, client.LogQuery{}) {
			if err != nil && !errors.Is(err, io.EOF) {
				b.Fatal(err)
			}
			n++
		}
		if n != lines {
			b.Fatalf("%d lines", n)
		}
	}
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
