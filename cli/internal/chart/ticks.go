package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// niceTicks are round values from low to high, about as many as requested. On a logarithmic
// axis they are powers of ten if there are enough of these.
func niceTicks(low, high float64, wanted int, log bool) []float64 {
	if log && math.Floor(high)-math.Ceil(low) >= 1 {
		var out []float64
		step := max(1, math.Ceil((high-low)/float64(wanted)))
		for t := math.Ceil(low); t <= high; t += step {
			out = append(out, t)
		}
		return out
	}
	return ticksBy(low, high, niceStep((high-low)/float64(wanted)), wanted)
}

// wholeTicks are niceTicks for whole numbers.
func wholeTicks(low, high float64, wanted int) []float64 {
	return ticksBy(low, high, max(1, niceStep((high-low)/float64(wanted))), wanted)
}

// ticksBy are the multiples of a step from low to high.
func ticksBy(low, high, step float64, wanted int) []float64 {
	first := math.Ceil(low/step - 1e-9)
	var out []float64
	for i := 0; i < 4*wanted+4; i++ {
		t := (first + float64(i)) * step
		if t > high+step*1e-9 {
			break
		}
		out = append(out, t)
	}
	return out
}

// niceStep is 1, 2 or 5 times a power of ten, at least as large as requested.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= least*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// labels formats the ticks with as many digits as are needed to distinguish them.
func (c Chart) labels(ticks []float64) []string {
	out := make([]string, len(ticks))
	if c.log() {
		for i, t := range ticks {
			out[i] = Value(math.Pow(10, t))
		}
		return out
	}
	digits, big := 0, 0.0
	for i, t := range ticks {
		big = max(big, math.Abs(t))
		if i > 0 {
			step := t - ticks[i-1]
			digits = max(digits, int(math.Ceil(-math.Log10(step)-1e-9)))
		}
	}
	for i, t := range ticks {
		if big >= 1e5 || digits > 5 {
			out[i] = strconv.FormatFloat(t, 'g', 3, 64)
		} else {
			out[i] = strconv.FormatFloat(t+0, 'f', max(0, digits), 64)
		}
	}
	return out
}

// short formats a step: 1500 as 1.5k.
func short(f float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(f) >= unit.size {
			size := unit.size
			if unit.name == "k" {
				size = 1e3
			}
			return strconv.FormatFloat(f/size, 'f', -1, 64) + unit.name
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%.6g", f), ".0")
}

// Value formats a metric for users: four significant digits.
func Value(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case f != 0 && (math.Abs(f) < 1e-3 || math.Abs(f) >= 1e6):
		return strconv.FormatFloat(f, 'e', 2, 64)
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}
