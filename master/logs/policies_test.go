package logs_test

import (
	"log/slog"
	"testing"

	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestMatchersAreKept: the patterns of policies are compiled once, also for lines that come from no attempt.
func TestMatchersAreKept(t *testing.T) {
	w := newWorld(t)
	p := logs.NewPolicies(logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever}), slog.New(slog.DiscardHandler), func() {})
	policed := func(policies string) string {
		t.Helper()
		id := w.Experiment(rowtest.LossSearcher)
		w.Exec(`UPDATE experiments SET config = config || jsonb_build_object('log_policies', $2::text::jsonb) WHERE id = $1`, id, policies)
		return w.TaskOf(w.Trial(id, 0, 1))
	}
	const policies = `[{"name": "OOM", "pattern": "out of memory"}, {"name": "Off"}, {"pattern": "give up", "action": "cancel_retries"}]`
	matcher := func(from logs.Writer) any {
		t.Helper()
		m, err := p.MatcherOf(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	task := policed(policies)
	first := matcher(logs.Writer{TaskID: task})
	for _, from := range []logs.Writer{{TaskID: task}, {TaskID: policed(policies)}, {TaskID: task, AllocationID: task + ".1"}, {TaskID: task, AllocationID: task + ".1"}} {
		if matcher(from) != first {
			t.Errorf("the same patterns are compiled again for %+v", from)
		}
	}
	if matcher(logs.Writer{TaskID: policed(`[{"pattern": "another"}]`)}) == first {
		t.Error("other patterns have the same matcher")
	}
}
