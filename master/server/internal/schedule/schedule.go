// Package schedule computes when something that repeats is due: after every so much time, or at the
// times of a cron expression.
package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/cronexpr"
)

// A Schedule is when something is due.
type Schedule struct {
	every time.Duration        // 0: cron counts
	cron  *cronexpr.Expression // in UTC
}

// Limits of the time between two times.
const (
	shortest = time.Minute
	longest  = 366 * 24 * time.Hour
)

// Parse reads a duration such as 24h, or a cron expression of five fields in UTC such as
// "30 2 * * *".
func Parse(text string) (Schedule, error) {
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil {
		if d < shortest || d > longest {
			return Schedule{}, fmt.Errorf("%s is not between %s and %s", text, shortest, longest)
		}
		return Schedule{every: d}, nil
	}
	// The library also reads seconds and years, which would be due more often than the loop looks.
	if fields := len(strings.Fields(text)); fields != 5 && !strings.HasPrefix(text, "@") {
		return Schedule{}, fmt.Errorf(`expected a duration such as 24h, or a cron expression of five fields such as "30 2 * * *", found %.40q`, text)
	}
	cron, err := cronexpr.Parse(text)
	if err != nil {
		return Schedule{}, fmt.Errorf("the cron expression %.80q: %w", text, err)
	}
	s := Schedule{cron: cron}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return Schedule{}, fmt.Errorf("%q is never due", text)
	}
	return s, nil
}

// Next is the first time after another one at which the schedule is due; zero for never.
func (s Schedule) Next(after time.Time) time.Time {
	if s.every > 0 {
		return after.Add(s.every)
	}
	return s.cron.Next(after.UTC())
}
