package pool

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/cli/internal/exit"
)

// parseTime reads the time at which a reservation begins: "now", a time of today or tomorrow, a date with a time, or a duration from now. Times
// without a zone are local.
func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now, nil
	}
	if rest, later := strings.CutPrefix(text, "+"); later {
		length, err := parseLength("--from", rest)
		return now.Add(length), err
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	if clock, err := time.Parse("15:04", text); err == nil {
		at := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, now.Location())
		if at.Before(now) {
			at = at.AddDate(0, 0, 1)
		}
		return at, nil
	}
	return time.Time{}, &exit.UsageError{Message: fmt.Sprintf("--from: expected now, a time such as 18:00, \"2026-12-01 18:00\" or 2026-12-01T18:00:00Z, or a time from now such as +2h; found %q", text)}
}

// parseLength reads how long something takes: a duration of Go, also in days.
func parseLength(flag, text string) (time.Duration, error) {
	length, err := time.ParseDuration(text)
	if days, in := strings.CutSuffix(text, "d"); in {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		length = time.Duration(n * float64(24*time.Hour))
	}
	if err != nil || length <= 0 {
		return 0, &exit.UsageError{Message: fmt.Sprintf("%s: expected a duration such as 90m, 4h or 2d, found %q", flag, text)}
	}
	return length, nil
}
