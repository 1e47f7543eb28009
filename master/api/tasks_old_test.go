package api

import (
	"fmt"
	"testing"
)

// TestOldTasks: clients of Determined poll GET /tasks, and find attempts by their names and by their
// containers.
func TestOldTasks(t *testing.T) {
	r := newRig(t)
	r.anyone().get("/tasks").is(401)
	me := r.user("determined")
	if got := me.get("/tasks").ok().tree(); len(got) != 0 {
		t.Errorf("before the first task: %v", got)
	}
	a := r.running(yaml(), 1)
	id := me.create(yaml(), `"activate":true`)
	trial, task := r.trial(id, 0)
	got := me.get("/tasks").ok().tree()
	if len(got) != 2 {
		t.Fatalf("%v", got)
	}
	running, queued := got[a.id].(map[string]any), got[task+".1"].(map[string]any)
	for _, x := range []map[string]any{running, queued} {
		for _, key := range []string{"task_id", "allocation_id", "name", "registered_time", "resource_pool", "slots_needed", "resources", "scheduler_type", "priority", "proxy_ports"} {
			if v, there := x[key]; !there || v == nil {
				t.Errorf("%s of %v", key, x)
			}
		}
	}
	if want := fmt.Sprintf("Trial %d (Experiment %d)", trial, id); queued["name"] != want || len(queued["resources"].([]any)) != 0 || queued["priority"] != 42.0 {
		t.Errorf("the queued one is %v, want %s", queued, want)
	}
	held := running["resources"].([]any)[0].(map[string]any)
	if held["resources_type"] != "docker-container" || held["allocation_id"] != a.id || held["container_id"] == "" {
		t.Errorf("the task's container is %v", held)
	}
	if devices := held["agent_devices"].(map[string]any)["node-0"]; devices == nil {
		t.Errorf("the task's devices are %v", held["agent_devices"])
	}
	for _, key := range []string{"Started", "Exited"} {
		if _, there := held[key]; !there {
			t.Errorf("no key %s in %v", key, held)
		}
	}
	r.runs(a.id, "ASSIGNED", "TERMINATED")
	if got := me.get("/tasks").ok().tree(); len(got) != 1 {
		t.Errorf("an attempt that has ended is still listed: %v", got)
	}
}
