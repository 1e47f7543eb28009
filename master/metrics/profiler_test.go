package metrics

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// countedWrites counts what a buffer of a client receives at once.
type countedWrites struct {
	bytes.Buffer
	n int
}

func (w *countedWrites) Write(p []byte) (int, error) {
	w.n++
	return w.Buffer.Write(p)
}

// Reports with very many series are sent in parts, and each point is sent once.
func TestManySeriesAreSentInParts(t *testing.T) {
	const reports, series = 5, 400 // of which the neighbours have one half in common
	var page []Row
	for i := range reports {
		values := map[string]float64{}
		for j := range series {
			values[fmt.Sprint("name", i*series/2+j)] = float64(i)
		}
		text, err := json.Marshal(map[string]any{"node": values})
		if err != nil {
			t.Fatal(err)
		}
		page = append(page, Row{Metrics: text})
	}
	w := &countedWrites{}
	out := rest.NewRecords(bufio.NewWriterSize(w, 16<<20))
	if err := sendBatches(out, 1, page, func(report.NodeSeries) bool { return true }); err != nil {
		t.Fatal(err)
	}
	points := map[string]int{}
	for line := range bytes.Lines(w.Bytes()) {
		var r struct {
			Result v1.GetTrialProfilerMetricsResponse `json:"result"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		for _, v := range r.Result.Batch.Values {
			points[fmt.Sprint(r.Result.Batch.Labels.Name, " ", v)]++
		}
	}
	if len(points) != reports*series || w.n != 2 {
		t.Errorf("%d points in %d parts", len(points), w.n)
	}
	for point, n := range points {
		if n != 1 {
			t.Errorf("%s is sent %d times", point, n)
		}
	}
}
