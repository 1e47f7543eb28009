package metrics_test

import (
	"testing"

	"github.com/detent-ml/detent/master/metrics"
)

func TestMissingMetric(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{{nil, `searcher.metric "x" was never reported: there are no validation metrics`}, {[]string{"x"}, ""},
		{[]string{"quite", "different"}, `searcher.metric "x" was never reported; the validation metrics are different, quite`}} {
		if got := metrics.MissingMetric("x", c.names); got != c.want {
			t.Errorf("%v: %s", c.names, got)
		}
	}
}
