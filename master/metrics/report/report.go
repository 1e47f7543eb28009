// Package report is pure: it has the groups of metrics, the bounds of what programs report, and the numbers in reports.
package report

import (
	"errors"
	"math"
	"strconv"
)

// Groups of metrics that Detent itself uses.
const (
	Training   = "training"
	Validation = "validation"
)

// Float parses a number of a report, also NaN and infinities, which JSON has as strings.
// Other values cannot be drawn, and become NaN; the result is false then.
func Float(raw []byte) (float64, bool) {
	if len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		v, err := strconv.ParseFloat(string(raw), 64)
		return v, err == nil || errors.Is(err, strconv.ErrRange) // out of range is ±Inf
	}
	switch string(raw) {
	case `"NaN"`:
		return math.NaN(), true
	case `"Infinity"`:
		return math.Inf(1), true
	case `"-Infinity"`:
		return math.Inf(-1), true
	}
	return math.NaN(), false
}
