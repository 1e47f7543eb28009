package lifecycle

import (
	"testing"
	"time"
)

// TestTimeLimit: what an attempt may still hold its place, what the limit says, and when the log is warned.
func TestTimeLimit(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	l := TimeLimit{Limit: 4 * time.Hour, Held: time.Hour, Grace: 5 * time.Minute, Of: "resources.max_runtime"}
	since := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	for _, c := range []struct {
		held            *time.Time
		reached, warned string
		overdue         bool
	}{
		{nil, "", "", false},
		{since(time.Hour), "", "", false},
		{since(2*time.Hour + 49*time.Minute), "", "", false},
		{since(2*time.Hour + 51*time.Minute), "", "it ends at 12:09:00 UTC, in 9m: by then it has run for 4h, which is resources.max_runtime", false},
		{since(3 * time.Hour), "it has run for 4h, which is resources.max_runtime", "", false},
		{since(3*time.Hour + 6*time.Minute), "it has run for 4h, which is resources.max_runtime", "", true},
	} {
		l.Since = c.held
		if got := l.Reached(now); got != c.reached {
			t.Errorf("%v: %q", c.held, got)
		}
		if got := l.Warning(now, "it ends"); got != c.warned {
			t.Errorf("%v: the warning is %q", c.held, got)
		}
		if got := l.Overdue(now); got != c.overdue {
			t.Errorf("%v: overdue: %v", c.held, got)
		}
	}
	l.Since = nil
	if got := l.Bound(); got != 3*time.Hour+6*time.Minute {
		t.Errorf("the next attempt ends within %v", got)
	}
	none := TimeLimit{Since: since(time.Hour)}
	if none.Reached(now) != "" || none.Overdue(now) || none.Warning(now, "") != "" {
		t.Error("what has no limit has reached one")
	}
}

// TestLongest: trials of the same experiment bound an attempt, and a limit does.
func TestLongest(t *testing.T) {
	for name, c := range map[string]struct {
		of   TimeLimit
		took time.Duration
		want time.Duration
	}{
		"nothing":            {TimeLimit{}, 0, 0},
		"its kin":            {TimeLimit{}, time.Hour, time.Hour},
		"a limit":            {TimeLimit{Limit: time.Hour, Held: 10 * time.Minute, Grace: 5 * time.Minute}, 0, 56 * time.Minute},
		"both":               {TimeLimit{Limit: time.Hour}, time.Minute, time.Minute},
		"a longer kin":       {TimeLimit{Limit: time.Hour}, 2 * time.Hour, time.Hour + killMargin},
		"a limit that is up": {TimeLimit{Limit: time.Hour, Held: 2 * time.Hour}, 0, time.Minute},
	} {
		if got := c.of.Longest(c.took); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
