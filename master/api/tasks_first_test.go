package api

import (
	"strings"
	"testing"
)

// TestATaskIsListedAtOnce: a submitted task is in the lists of tasks and jobs when the submission is
// answered, also before the loop has seen it.
func TestATaskIsListedAtOnce(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	for noun, body := range map[string]string{"command": `{"config":{"entrypoint":["x"]}}`, "notebook": `{}`, "shell": `{}`} {
		id := at(t, me.post("/api/v1/"+noun+"s", body).ok().tree(), noun+".id").(string)
		for path, want := range map[string]string{"/api/v1/tasks": id, "/tasks": id, "/api/v1/job-queues-v2?resourcePool=default": `"entityId":"` + id + `"`} {
			if got := string(me.get(path).ok().body); !strings.Contains(got, want) {
				t.Errorf("%s %s is not in %s: %s", noun, id, path, got)
			}
		}
		if got := string(me.get("/api/v1/" + noun + "s/" + id).ok().body); !strings.Contains(got, "STATE_QUEUED") {
			t.Errorf("the task is %s", got)
		}
		me.post("/api/v1/"+noun+"s/"+id+"/set_priority", `{"priority":7}`).ok()
		if got := me.get("/api/v1/tasks").ok().tree(); at(t, at(t, got, "allocationIdToSummary").(map[string]any)[id+".1"], "priority") != 7.0 {
			t.Errorf("the task's priority is not changed: %v", got)
		}
	}
}
