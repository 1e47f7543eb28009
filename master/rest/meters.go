package rest

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// meters counts requests for /metrics. The number of series is limited to the number of routes
// times the number of status codes.
type meters struct {
	set   *metrics.Set
	times sync.Map // route → *histogram
}

func newMeters() *meters {
	m := &meters{set: metrics.NewSet()}
	m.set.GetOrCreateCounter(panics) // so that the counter exists before the first panic
	return m
}

const panics = "det_api_panics_total"

// answered records one request.
func (m *meters) answered(method, route string, code int, took time.Duration) {
	m.set.GetOrCreateCounter(fmt.Sprintf(`det_api_requests_total{method=%q,route=%q,code="%d"}`, method, route, code)).Inc()
	h, ok := m.times.Load(route)
	if !ok {
		h, _ = m.times.LoadOrStore(route, &histogram{})
	}
	h.(*histogram).observe(took)
}

// panicked records a panic that ended a response.
func (m *meters) panicked() { m.set.GetOrCreateCounter(panics).Inc() }

// bounds of the histograms in seconds.
var bounds = [...]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// histogram has Prometheus's own form, with cumulative buckets by "le"; Prometheus does not
// read the form of the metrics library.
type histogram struct {
	buckets [len(bounds) + 1]atomic.Int64
	nanos   atomic.Int64
}

func (h *histogram) observe(took time.Duration) {
	i := 0
	for i < len(bounds) && took.Seconds() > bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.nanos.Add(int64(took))
}

func (h *histogram) write(w io.Writer, name, labels string) {
	var sum int64
	for i := range h.buckets {
		sum += h.buckets[i].Load()
		le := "+Inf"
		if i < len(bounds) {
			le = strconv.FormatFloat(bounds[i], 'g', -1, 64)
		}
		fmt.Fprintf(w, "%s_bucket{%s,le=%q} %d\n", name, labels, le, sum)
	}
	fmt.Fprintf(w, "%s_sum{%s} %g\n%s_count{%s} %d\n", name, labels, time.Duration(h.nanos.Load()).Seconds(), name, labels, sum)
}

// write prints everything in Prometheus' text format.
func (m *meters) write(w io.Writer) {
	m.set.WritePrometheus(w)
	fmt.Fprintln(w, "# TYPE det_api_request_seconds histogram")
	m.times.Range(func(route, h any) bool {
		h.(*histogram).write(w, "det_api_request_seconds", fmt.Sprintf("route=%q", route))
		return true
	})
}

// Gauge writes a line of /metrics. The labels are in braces; "" for none.
func Gauge(w io.Writer, name, labels string, v float64) {
	fmt.Fprintf(w, "%s%s %g\n", name, labels, v)
}
