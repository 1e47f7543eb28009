package api

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
)

// Impossible sizes are rejected, and lists still work if an earlier master has stored such sizes.
func TestCheckpointSizesAreBounded(t *testing.T) {
	r := newRig(t)
	a, other := r.running(yaml(), 1), r.running(yaml(), 1)
	me := r.user("determined")
	report := func(id, resources string) answer {
		return a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","resources":{%s},"metadata":{"steps_completed":1}}`,
			id, a.task, a.id, resources))
	}
	for _, bad := range []string{`"a":"9223372036854775807"`, `"a":"-1"`, `"a":"1125899906842625"`, `"a":"1125899906842624","b":"1"`} {
		report(uuid.NewString(), bad).says(400, "1125899906842624")
	}
	ids := []string{uuid.NewString(), uuid.NewString()}
	for _, id := range ids {
		report(id, `"a":"1125899906842624"`).ok()
		a.ranks[0].patch("/api/v1/checkpoints", fmt.Sprintf(`{"checkpoints":[{"uuid":%q,"resources":{"resources":{"a":"9223372036854775807"}}}]}`, id)).says(400, "1125899906842624")
	}
	if n := at(t, me.get(fmt.Sprintf("/api/v1/experiments/%d", a.exp)).ok().tree(), "experiment.checkpointSize"); n != "2251799813685248" {
		t.Errorf("the checkpoints have %v bytes", n)
	}

	for _, stored := range []string{"9223372036854775807", "-9223372036854775808"} {
		if err := r.db.Exec(t.Context(), `UPDATE checkpoints SET size = $1::bigint, resources = jsonb_build_object('a', $1::bigint)`, stored); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/api/v1/experiments", "/api/v1/experiments?limit=10&sortBy=SORT_BY_CHECKPOINT_SIZE", fmt.Sprintf("/api/v1/experiments/%d/trials", a.exp),
			fmt.Sprintf("/api/v1/experiments/%d/trials?sortBy=SORT_BY_CHECKPOINT_SIZE", a.exp), fmt.Sprintf("/api/v1/trials/%d", a.trial), fmt.Sprintf("/api/v1/trials/%d", other.trial),
			fmt.Sprintf("/api/v1/experiments/%d/checkpoints", a.exp)} {
			if got := me.get(path); got.code != 200 {
				t.Errorf("%s: %d %.160s", path, got.code, got.body)
			}
		}
		me.post("/api/v1/experiments-search", `{"limit":10,"sort":"checkpointSize=desc"}`).ok()
	}
}
