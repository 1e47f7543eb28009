package job

import (
	"testing"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

func TestEndOf(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to time.Duration
		attempts int
		want     string
	}{
		{12 * time.Minute, 18 * time.Minute, 1, "in 12–18 min"},
		{12 * time.Minute, 18 * time.Minute, 3, "first of 3: in 12–18 min"},
		{12 * time.Minute, 12*time.Minute + 10*time.Second, 1, "in 12 min"},
		{0, 90 * time.Minute, 1, "within 90 min"},
		{-time.Second, 30 * time.Second, 1, "within 1 min"},
		{2 * time.Hour, 7 * time.Hour, 1, "in 2–7 h"},
		{150 * time.Minute, 5 * time.Hour, 1, "in 2.5–5 h"},
		{0, 4 * time.Hour, 1, "within 4 h"},
		{24 * time.Hour, 100 * time.Hour, 1, "in 1–4.2 days"},
	} {
		if got := endOf(v1.ExpectedEnd{Earliest: now.Add(c.from), Latest: now.Add(c.to), Attempts: c.attempts}, now); got != c.want {
			t.Errorf("%v to %v: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}
