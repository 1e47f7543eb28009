package nodes_test

import (
	"testing"

	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/rest/resttest"
)

// TestFreeSlotsHaveAContainer: the key is there and null, because clients index it.
func TestFreeSlotsHaveAContainer(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 2)
	me := r.With("determined")
	for _, path := range []string{"/api/v1/agents", "/api/v1/agents/node-1", "/api/v1/agents/node-1/slots"} {
		found := 0
		walk(me.Get(path).OK().Tree(), func(key string, v any) {
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
		list, _ := me.Get(path).OK().Tree()["slots"].([]any)
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
	me, boss := r.With("determined"), r.With("admin")
	const slot = "/api/v1/agents/node-1/slots/1"
	if got := me.Get(slot).OK().Tree(); resttest.At(t, got, "slot.id") != "1" || resttest.At(t, got, "slot.enabled") != true {
		t.Errorf("the slot is %v", got)
	}
	if list := resttest.At(t, me.Get("/api/v1/agents/node-1/slots").OK().Tree(), "slots").([]any); len(list) != 2 {
		t.Errorf("the slots are %v", list)
	}
	me.Post(slot+"/disable", "{}").Is(403)
	boss.Post("/api/v1/agents/node-1/slots/7/disable", "{}").Says(404, "has no slot 7")
	off := func() (keys map[string]bool) {
		t.Helper()
		list, err := nodes.List(t.Context(), r.DB)
		if err != nil {
			t.Fatal(err)
		}
		return list[0].DisabledSlots
	}
	boss.Post(slot+"/disable", `{"drain":true}`).OK()
	if resttest.At(t, boss.Get(slot).OK().Tree(), "slot.draining") != true || len(off()) != 1 {
		t.Errorf("disabled it is %v", off())
	}
	boss.Post(slot+"/disable", "").OK()
	for _, drain := range off() {
		if drain {
			t.Error("what runs there may still run to its end")
		}
	}
	boss.Post(slot+"/enable", "").OK()
	if len(off()) != 0 {
		t.Errorf("enabled, %v are off", off())
	}
}
