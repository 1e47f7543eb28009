// Package series is pure: it has the points of curves, and reduces long curves to the points that a screen shows.
package series

import (
	"math"
	"time"
)

// A Point is a report of a series, with the value of each requested metric.
type Point struct {
	Steps  int
	At     time.Time
	Values []float64
}

// Lacking is the value of a metric that a report lacks: a NaN with bits of its own, because a report
// can have a NaN too.
var Lacking = math.Float64frombits(0x7ff8_0000_0000_0def)

// Lacks is true if the report does not have a metric as a number, which may be NaN.
func (p Point) Lacks(metric int) bool {
	return math.Float64bits(p.Values[metric]) == math.Float64bits(Lacking)
}
