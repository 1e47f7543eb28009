package api

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/detent-ml/detent/nomad/servers/pgtest"
	"github.com/google/uuid"
)

// A page of checkpoints has a limited size, however large the configuration is that each checkpoint
// contains, and all checkpoints can be read page by page.
func TestAPageOfCheckpointsIsBounded(t *testing.T) {
	pgtest.Alone(t)
	r := newRig(t)
	a := r.running(yaml("data: {x: "+strings.Repeat("y", 500_000)+"}"), 1)
	const n = 100
	for i := range n {
		a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","reportTime":"2026-01-02T03:04:05Z","resources":{"a":"1"},"metadata":{"steps_completed":%d}}`,
			uuid.NewString(), a.task, a.id, i)).ok()
	}
	me := r.user("admin")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	me.get(fmt.Sprintf("/api/v1/trials/%d/checkpoints?limit=1", a.trial)).ok()
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 30 {
		t.Errorf("one row took %d MB", mb)
	}
	for _, path := range []string{fmt.Sprintf("/api/v1/experiments/%d/checkpoints", a.exp), fmt.Sprintf("/api/v1/trials/%d/checkpoints", a.trial)} {
		for from, pages := 0, 0; from < n; pages++ {
			got := me.get(fmt.Sprintf("%s?sortByAttr=SORT_BY_BATCH_NUMBER&orderBy=ORDER_BY_DESC&offset=%d", path, from)).ok()
			tree := got.tree()
			list := at(t, tree, "checkpoints").([]any)
			if len(got.body) > 20<<20 || len(list) == 0 || at(t, tree, "pagination.total") != float64(n) || at(t, tree, "pagination.endIndex") != float64(from+len(list)) {
				t.Fatalf("from %d there are %d checkpoints in %d bytes: %v", from, len(list), len(got.body), tree["pagination"])
			}
			for i, k := range list {
				if got := at(t, k, "metadata.steps_completed"); got != float64(n-1-from-i) {
					t.Fatalf("checkpoint %d is of step %v", from+i, got)
				}
				if len(at(t, k, "training.experimentConfig.data.x").(string)) != 500_000 {
					t.Fatal("a checkpoint in the list lacks its configuration")
				}
			}
			if from += len(list); from == n && pages == 0 {
				t.Error("all checkpoints are on one page")
			}
		}
	}
}
