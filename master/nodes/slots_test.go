package nodes_test

import (
	"testing"

	"github.com/detent-ml/detent/master/nodes"
)

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

func TestSlotsAreDisabled(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 2)
	me, boss := r.user("determined"), r.user("admin")
	const slot = "/api/v1/agents/node-1/slots/1"
	if got := me.get(slot).ok().tree(); at(t, got, "slot.id") != "1" || at(t, got, "slot.enabled") != true {
		t.Errorf("the slot is %v", got)
	}
	if list := at(t, me.get("/api/v1/agents/node-1/slots").ok().tree(), "slots").([]any); len(list) != 2 {
		t.Errorf("the slots are %v", list)
	}
	me.post(slot+"/disable", "{}").is(403)
	boss.post("/api/v1/agents/node-1/slots/7/disable", "{}").says(404, "has no slot 7")
	off := func() (keys map[string]bool) {
		t.Helper()
		list, err := nodes.List(t.Context(), r.DB.DB)
		if err != nil {
			t.Fatal(err)
		}
		return list[0].DisabledSlots
	}
	boss.post(slot+"/disable", `{"drain":true}`).ok()
	if at(t, boss.get(slot).ok().tree(), "slot.draining") != true || len(off()) != 1 {
		t.Errorf("disabled it is %v", off())
	}
	boss.post(slot+"/disable", "").ok()
	for _, drain := range off() {
		if drain {
			t.Error("what runs there may still run to its end")
		}
	}
	boss.post(slot+"/enable", "").ok()
	if len(off()) != 0 {
		t.Errorf("enabled, %v are off", off())
	}
}
