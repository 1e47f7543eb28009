package importer_test

import (
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/importer"
	"github.com/detent-ml/detent/master/importer/importertest"
)

// BenchmarkLargeImport imports the cluster of the target: 10,000 experiments with some eleven million reports. It makes that cluster first, for minutes, so it needs
// DETENT_THOROUGH. It also compares the rates of the first and the last quarter of the reports.
func BenchmarkLargeImport(b *testing.B) {
	if os.Getenv("DETENT_THOROUGH") == "" {
		b.Skip("it takes ten minutes: DETENT_THOROUGH=1")
	}
	from := importertest.Old(b, importertest.Shape{Experiments: 10_000, Trials: 4, Steps: 500})
	for b.Loop() {
		d, w := newDetent(b), &watched{}
		began := time.Now()
		d.take(from, func(o *importer.Options) { o.Verify, o.Logs, o.Out = false, false, w })
		b.ReportMetric(time.Since(began).Seconds(), "s")
		if first, last := w.rates(); last > 0 {
			b.ReportMetric(first, "first-reports/s")
			b.ReportMetric(last, "last-reports/s")
		}
		b.Logf("%s", w.text)
	}
}

// A watched output notes when an import said how many reports were copied.
type watched struct {
	mu    sync.Mutex
	text  []byte
	at    []time.Time
	total []float64
}

var copiedSoFar = regexp.MustCompile(`(?m)^metrics\s+(\d+)`)

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	if m := copiedSoFar.FindSubmatch(p); m != nil {
		n, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return 0, err
		}
		w.at, w.total = append(w.at, time.Now()), append(w.total, n)
	}
	return len(p), nil
}

// rates are the rates of the first and of the last quarter of what was seen.
func (w *watched) rates() (first, last float64) {
	n := len(w.at) - 1
	if n < 8 {
		return 0, 0
	}
	rate := func(from, to int) float64 { return (w.total[to] - w.total[from]) / w.at[to].Sub(w.at[from]).Seconds() }
	return rate(0, n/4), rate(n-n/4, n)
}
