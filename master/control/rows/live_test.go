package rows

import (
	"testing"

	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/tasks"
)

// TestPausedTasksAreNotLive: a paused task is live until its attempt has ended.
func TestPausedTasksAreNotLive(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"paused", "pausing", "runs"} {
		w.task(tasks.New{ID: id, Type: "GENERIC", Generic: &tasks.NewGeneric{Submitted: []byte(`{}`)}})
	}
	for _, id := range []string{"paused", "pausing"} {
		if err := tasks.PauseTree(t.Context(), w.DB, id, "paused by ada"); err != nil {
			t.Fatal(err)
		}
	}
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'killed' WHERE task_id = 'paused'`)
	live, err := LoadLive(t.Context(), w.DB, Known{})
	if err != nil || len(live.Tasks) != 2 || live.Tasks[0].ID == "paused" || live.Tasks[1].ID == "paused" {
		t.Errorf("the loop loads %+v, %v", live.Tasks, err)
	}
}

// TestAllQuotasAreLive: the loop reads the quotas of all workspaces and users.
func TestAllQuotasAreLive(t *testing.T) {
	w := newWorld(t)
	eight, one, two := 8, 1, 2
	for _, q := range []queue.Quota{{WorkspaceID: &one}, {WorkspaceID: &one, UserID: &two}, {UserID: &two}} {
		q.Measure, q.Hard = queue.MeasureSlots, &eight
		if _, err := queue.SetQuota(t.Context(), w.DB, q, func(queue.Quota) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if live, err := LoadLive(t.Context(), w.DB, Known{}); err != nil || len(live.Quotas) != 3 {
		t.Errorf("the loop reads %+v, %v", live.Quotas, err)
	}
}
