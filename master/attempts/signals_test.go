package attempts_test

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts"
)

// TestDeadline: of several machines that go away, the first one counts.
func TestDeadline(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	later := at.Add(time.Minute)
	for name, c := range map[string]struct {
		signal attempts.Signal
		want   *time.Time
	}{
		"none goes away":       {attempts.Signal{}, nil},
		"nobody knows when":    {attempts.Signal{Notices: []string{"soon"}}, nil},
		"a drain":              {attempts.Signal{Drained: &at}, &at},
		"a notice":             {attempts.Signal{Notices: []string{"1893553445"}}, &at},
		"a notice and a drain": {attempts.Signal{Drained: &later, Notices: []string{"soon", "2030-01-02T03:04:05Z"}}, &at},
		"a drain and a notice": {attempts.Signal{Drained: &at, Notices: []string{"2030-01-02T03:05:05Z"}}, &at},
	} {
		got := attempts.DeadlineOf(c.signal)
		if (got == nil) != (c.want == nil) || got != nil && !got.Equal(*c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
