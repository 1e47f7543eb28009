package tasks_test

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/tasks"
)

func TestSpanWords(t *testing.T) {
	for span, want := range map[time.Duration]string{30 * time.Minute: "30m", time.Hour: "1h", 90 * time.Minute: "1h30m", 90 * time.Second: "1m30s",
		20 * time.Second: "20s", 500 * time.Millisecond: "500ms", time.Hour + time.Second: "1h0m1s"} {
		if got := tasks.FormatDuration(span); got != want {
			t.Errorf("%v: %s, want %s", span, got, want)
		}
	}
}
