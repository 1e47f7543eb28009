package logs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestFullLog: a log that takes as much as one may gets a line that says so, and no further ones; other logs go on.
func TestFullLog(t *testing.T) {
	w := newWorld(t)
	experiment := w.Experiment(rowtest.LossSearcher)
	task, other := w.TaskOf(w.Trial(experiment, 0, 1)), w.TaskOf(w.Trial(experiment, 1, 1))
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever, MaxBytes: 50_000})
	var next int64
	for i := range 8 {
		var list []logs.Line
		for j := range 10 {
			list = append(list, logs.Line{At: noon, Rank: -1, Text: fmt.Sprint(i, " ", noise(2000+10*i+j))})
		}
		for _, to := range []string{task, task} { // a repeated request changes nothing
			var err error
			if next, err = s.Append(t.Context(), logs.Batch{TaskID: to, Shipper: "s", First: int64(10 * i), Lines: list}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Append(t.Context(), logs.Batch{TaskID: other, Lines: lines(i, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if next != 80 {
		t.Errorf("the runner is to go on with line %d", next)
	}
	got := readLogs(t, s, task, logs.Filter{})
	last := got[len(got)-1]
	kept := len(got) // whole chunks and the line about the limit
	if kept%10 != 1 || kept > 71 || !strings.Contains(last.Text, "49 KiB") || !strings.Contains(last.Text, "further lines are not stored") || last.Source != "master" || last.Level != logs.WarningLevel || last.Number != int64(kept) {
		t.Errorf("%d lines; the last one is %.200q", len(got), last.Text)
	}
	if n := w.Int(`SELECT bytes FROM log_tasks WHERE task_id = $1`, task); n <= 50_000 || n > 50_500 {
		t.Errorf("the log has %d bytes", n)
	}
	if n := len(readLogs(t, s, other, logs.Filter{})); n != 8 {
		t.Errorf("the other log has %d lines", n)
	}
	s.SetMaxBytes(80_000) // an operator raises the limit
	if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Lines: lines(0, 1)}); err != nil {
		t.Fatal(err)
	}
	if n := len(readLogs(t, s, task, logs.Filter{})); n != kept+1 {
		t.Errorf("%d lines with a higher limit", n)
	}
}
