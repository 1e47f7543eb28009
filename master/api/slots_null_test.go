package api

import "testing"

// TestFreeSlotsHaveAContainer: the key is there and null, because clients index it.
func TestFreeSlotsHaveAContainer(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 2)
	me := r.user("determined")
	for _, path := range []string{"/api/v1/agents", "/api/v1/agents/node-1", "/api/v1/agents/node-1/slots"} {
		found := 0
		walk(me.get(path).ok().tree(), func(key string, v any) {
			slot, ok := v.(map[string]any)
			if !ok || slot["device"] == nil {
				return
			}
			found++
			container, there := slot["container"]
			if !there || container != nil {
				t.Errorf("%s: slot %s is %v", path, key, slot)
			}
		})
		list, _ := me.get(path).ok().tree()["slots"].([]any)
		for _, s := range list {
			found++
			if container, there := s.(map[string]any)["container"]; !there || container != nil {
				t.Errorf("%s: slot %v", path, s)
			}
		}
		if found == 0 {
			t.Errorf("%s has no slots", path)
		}
	}
}
