package job

import (
	"fmt"
	"math"
	"strconv"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

// endOf says when the first running attempt of a job is expected to end: "in 12–18 min", or with several attempts, "first of 3: in 12–18 min".
func endOf(e v1.ExpectedEnd, now time.Time) string {
	text := between(e.Earliest.Sub(now), e.Latest.Sub(now))
	if e.Attempts > 1 {
		return fmt.Sprintf("first of %d: %s", e.Attempts, text)
	}
	return text
}

// between says in which time something ends, in a unit in which both ends of it can be told apart.
func between(from, to time.Duration) string {
	unit, name := time.Minute, "min"
	switch {
	case to <= time.Minute:
		return "within 1 min"
	case to >= 72*time.Hour:
		unit, name = 24*time.Hour, "days"
	case to >= 3*time.Hour:
		unit, name = time.Hour, "h"
	}
	number := func(d time.Duration) string {
		n := float64(d) / float64(unit)
		if unit > time.Minute && n < 10 {
			return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64)
		}
		return strconv.FormatFloat(math.Round(n), 'f', 0, 64)
	}
	least, most := number(max(from, 0)), number(to)
	switch least {
	case "0":
		return fmt.Sprintf("within %s %s", most, name)
	case most:
		return fmt.Sprintf("in %s %s", most, name)
	}
	return fmt.Sprintf("in %s–%s %s", least, most, name)
}
