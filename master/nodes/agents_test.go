package nodes_test

import (
	"testing"

	"github.com/detent-ml/detent/master/rest/resttest"
)

// TestLostNodes: clients see by enabled and draining whether a node is alive, and a node that does not come back is not listed.
func TestLostNodes(t *testing.T) {
	r := newRig(t)
	me := r.With("determined")
	r.node("aaaaaaaa-1", "lost", 2)
	r.node("bbbbbbbb-2", "alive", 2)
	look := func(path, node string) map[string]any {
		t.Helper()
		for _, a := range me.Get(path).OK().Tree()["agents"].([]any) {
			if resttest.At(t, a, "id") == node {
				return a.(map[string]any)
			}
		}
		return nil
	}
	has := func(a map[string]any, want map[string]any) {
		t.Helper()
		if a == nil {
			t.Fatal("the node is not listed")
		}
		for k, v := range want {
			if got := resttest.At(t, a, k); got != v {
				t.Errorf("%s is %v, want %v", k, got, v)
			}
		}
	}
	change := func(sql string) {
		t.Helper()
		if err := r.DB.Exec(t.Context(), `UPDATE nodes SET `+sql+` WHERE name = 'lost'`); err != nil {
			t.Fatal(err)
		}
	}
	alive := map[string]any{"enabled": true, "draining": false, "slots.1.enabled": true, "slots.1.draining": false, "slotStats.typeStats.TYPE_CPU.draining": 0.0}
	gone := map[string]any{"enabled": false, "draining": true, "slots.0.enabled": false, "slots.0.draining": true, "slots.1.enabled": false, "slots.1.draining": true,
		"slotStats.typeStats.TYPE_CPU.draining": 2.0, "slotStats.typeStats.TYPE_CPU.disabled": 2.0, "lost": true}
	has(look("/api/v1/agents", "lost"), alive)
	for _, status := range []string{"down", "disconnected"} {
		change(`status = '` + status + `', seen_at = now()`)
		has(look("/api/v1/agents", "lost"), gone)
		has(look("/api/v1/agents", "alive"), alive)
		change(`seen_at = now() - interval '26 seconds'`)
		if a := look("/api/v1/agents", "lost"); a != nil {
			t.Errorf("the node that did not come back is listed: %v", a)
		}
		me.Get("/api/v1/agents/lost").Says(404, "lost")
		me.Get("/api/v1/agents/lost/slots/0").Says(404, "lost")
		has(look("/api/v1/agents?includeLost=true", "lost"), gone)
	}
	change(`status = 'ready', seen_at = now() - interval '1 hour'`)
	has(look("/api/v1/agents", "lost"), alive)
}
