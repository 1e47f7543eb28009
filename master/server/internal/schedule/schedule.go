// Package schedule computes when something that repeats is due: after every so much time, or at the
// times of a cron expression.
package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Schedule is when something is due.
type Schedule struct {
	every  time.Duration // 0: the fields count
	fields [5]uint64     // minute, hour, day of the month, month, day of the week: a bit for each value
	anyDay bool          // the day of the month or of the week is *: both must fit; else one of them
}

// Limits of the time between two times.
const (
	shortest = time.Minute
	longest  = 366 * 24 * time.Hour
)

// names are the words that a cron expression may be.
var names = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *",
}

// ranges are the values of the fields.
var ranges = [5]struct {
	name     string
	min, max int
}{{"minute", 0, 59}, {"hour", 0, 23}, {"day of the month", 1, 31}, {"month", 1, 12}, {"day of the week", 0, 7}}

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
	if line, ok := names[text]; ok {
		text = line
	}
	words := strings.Fields(text)
	if len(words) != len(ranges) {
		return Schedule{}, fmt.Errorf(`expected a duration such as 24h, or a cron expression of five fields such as "30 2 * * *", found %.40q`, text)
	}
	s := Schedule{anyDay: words[2] == "*" || words[4] == "*"}
	for i, w := range words {
		bits, err := field(w, ranges[i].min, ranges[i].max)
		if err != nil {
			return Schedule{}, fmt.Errorf("the %s: %w", ranges[i].name, err)
		}
		s.fields[i] = bits
	}
	if s.fields[4]&(1<<7) != 0 { // Sunday is 0 and 7
		s.fields[4] |= 1
	}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return Schedule{}, fmt.Errorf("%q is never due", text)
	}
	return s, nil
}

// field reads a list of values, ranges and steps.
func field(text string, least, most int) (uint64, error) {
	var bits uint64
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		from, to, by := least, most, 1
		if span != "*" {
			first, last, both := strings.Cut(span, "-")
			var err error
			if from, err = number(first, least, most); err != nil {
				return 0, err
			}
			switch {
			case both:
				if to, err = number(last, from, most); err != nil {
					return 0, err
				}
			case !stepped:
				to = from
			}
		}
		if stepped {
			var err error
			if by, err = number(step, 1, most); err != nil {
				return 0, err
			}
		}
		for v := from; v <= to; v += by {
			bits |= 1 << v
		}
	}
	return bits, nil
}

func number(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("expected a number from %d to %d, found %.20q", least, most, text)
	}
	return n, nil
}

// Next is the first time after another one at which the schedule is due; zero for never.
func (s Schedule) Next(after time.Time) time.Time {
	if s.every > 0 {
		return after.Add(s.every)
	}
	t := after.UTC().Truncate(time.Minute).Add(time.Minute)
	for end := t.AddDate(8, 0, 1); t.Before(end); { // 29 February may be eight years away
		switch {
		case !s.has(3, int(t.Month())):
			t = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case !s.day(t):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
		case !s.has(1, t.Hour()):
			t = t.Truncate(time.Hour).Add(time.Hour)
		case !s.has(0, t.Minute()):
			t = t.Add(time.Minute)
		default:
			return t
		}
	}
	return time.Time{}
}

func (s Schedule) has(field, value int) bool { return s.fields[field]&(1<<value) != 0 }

// day compares both fields of days: if both are restricted, one that fits is enough, as in cron.
func (s Schedule) day(t time.Time) bool {
	month, week := s.has(2, t.Day()), s.has(4, int(t.Weekday()))
	if s.anyDay {
		return month && week
	}
	return month || week
}
