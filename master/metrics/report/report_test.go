package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestFloat(t *testing.T) {
	for raw, want := range map[string]float64{`1`: 1, `-0.5`: -0.5, `1e3`: 1000, `1e400`: math.Inf(1), `"Infinity"`: math.Inf(1), `"-Infinity"`: math.Inf(-1)} {
		if v, ok := Float([]byte(raw)); !ok || v != want {
			t.Errorf("%s reads as %g, %t", raw, v, ok)
		}
	}
	if v, ok := Float([]byte(`"NaN"`)); !ok || !math.IsNaN(v) {
		t.Errorf("NaN reads as %g, %t", v, ok)
	}
	for _, raw := range []string{``, `null`, `true`, `"1"`, `"nan"`, `[1]`, `{"a": 1}`} {
		if v, ok := Float([]byte(raw)); ok {
			t.Errorf("%s cannot be drawn and reads as %g", raw, v)
		}
	}
}

// Reports of programs that are no measurements of nodes have no series, and neither have names that no request can have.
func TestSeriesOfReports(t *testing.T) {
	long := strings.Repeat("n", MaxName+1)
	for metrics, want := range map[string]string{
		`{"node1": {"cpu_util_simple": 5, "GPU-1": {"gpu_util": 7, "name": "A100"}, "note": "x"}}`: "map[{node1  cpu_util_simple}:5 {node1 GPU-1 gpu_util}:7]",
		`{"loss": 1}`: "map[]",
		`{"node1": {"` + long + `": 5, "` + long + `p": {"gpu_util": 7}, "p": {"` + long + `": 1, "n": 2}}, "` + long + `": {"n": 1}}`: "map[{node1 p n}:2]",
		`{"node1": {"n": 5, "text": "` + strings.Repeat("x", maxNodeReport) + `"}}`:                                                    "map[]",
	} {
		if got := fmt.Sprint(OfNodes([]byte(metrics))); got != want {
			t.Errorf("%.100s: %.300s, want %s", metrics, got, want)
		}
	}
}
