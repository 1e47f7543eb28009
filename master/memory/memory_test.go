package memory

import (
	"testing"
	"time"
)

func TestMemory(t *testing.T) {
	m := New[string, int](time.Second, 2)
	now := time.Now()
	m.Put("a", 1, now)
	if v, fresh, ok := m.Get("a", now.Add(time.Millisecond)); v != 1 || !fresh || !ok {
		t.Error("what was put is not there")
	}
	if v, fresh, ok := m.Get("a", now.Add(time.Minute)); v != 1 || fresh || !ok {
		t.Error("what is stale is not there in need")
	}
	m.Put("b", 2, now.Add(time.Minute))
	m.Put("c", 3, now.Add(time.Minute))
	if _, _, ok := m.Get("a", now); ok {
		t.Error("what is stale stays at the bound")
	}
	m.Stale("c")
	if v, fresh, ok := m.Get("c", now); v != 3 || fresh || !ok {
		t.Error("stale")
	}
}

// TestForGood: entries that never change are never stale; their number is limited, and they can be removed.
func TestForGood(t *testing.T) {
	m := New[string, int](0, 2)
	now := time.Now()
	m.Put("a", 1, now)
	m.Put("b", 2, now)
	if v, fresh, ok := m.Get("a", now.Add(1000*time.Hour)); v != 1 || !fresh || !ok {
		t.Error("what never changes is stale")
	}
	m.Forget(func(key string, v int) bool { return key == "b" && v == 2 })
	if _, _, ok := m.Get("b", now); ok {
		t.Error("what was forgotten is there")
	}
	m.Put("b", 2, now)
	m.Put("c", 3, now)
	if _, _, ok := m.Get("a", now); ok {
		t.Error("there is more than the bound")
	}
	if v, _, _ := m.Get("c", now); v != 3 {
		t.Error("the newest is not there")
	}
}
