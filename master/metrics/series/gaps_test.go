package series

import (
	"fmt"
	"math"
	"testing"
)

// TestDownsampleGaps: where a metric is NaN for long, or a report lacks it, few points show the same as all.
func TestDownsampleGaps(t *testing.T) {
	list := make([]Point, 100) // the first metric is NaN in the middle, the second is in every tenth report only
	for i := range list {
		list[i] = Point{Steps: i, Values: []float64{float64(i), Lacking}}
		if 40 <= i && i < 60 {
			list[i].Values[0] = math.NaN()
		}
		if i%10 == 0 {
			list[i].Values[1] = 1
		}
	}
	got := ""
	for _, p := range Downsample(list, 40) {
		if v := p.Values[0]; math.IsNaN(v) {
			got += fmt.Sprintf(" %d:%t", p.Steps, p.Lacks(0))
		}
		if p.Lacks(1) == (p.Steps%10 == 0) {
			t.Errorf("step %d lacks the second metric: %t", p.Steps, p.Lacks(1))
		}
	}
	if want := " 40:false 50:false"; got != want {
		t.Errorf("NaN at%s, want%s", got, want)
	}
}
