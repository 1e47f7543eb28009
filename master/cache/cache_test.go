package cache

import (
	"testing"
	"time"
)

func TestMemory(t *testing.T) {
	m := New[string, int](time.Second, 2)
	now := time.Now()
	m.Put("a", 1, now)
	if v, fresh, ok := m.Get("a", now.Add(time.Millisecond)); v != 1 || !fresh || !ok {
		t.Error("an entry is missing after Put")
	}
	if v, fresh, ok := m.Get("a", now.Add(time.Minute)); v != 1 || fresh || !ok {
		t.Error("a stale entry is not returned")
	}
	m.Put("b", 2, now.Add(time.Minute))
	m.Put("c", 3, now.Add(time.Minute))
	if _, _, ok := m.Get("a", now); ok {
		t.Error("a stale entry stays although the memory is full")
	}
	m.Stale("c")
	if v, fresh, ok := m.Get("c", now); v != 3 || fresh || !ok {
		t.Error("Stale does not make the entry stale")
	}
}

// TestForGood: entries that never change are never stale; their number is limited, and they can be removed.
func TestForGood(t *testing.T) {
	m := New[string, int](0, 2)
	now := time.Now()
	m.Put("a", 1, now)
	m.Put("b", 2, now)
	if v, fresh, ok := m.Get("a", now.Add(1000*time.Hour)); v != 1 || !fresh || !ok {
		t.Error("an entry without an age limit is stale")
	}
	m.Forget(func(key string, v int) bool { return key == "b" && v == 2 })
	if _, _, ok := m.Get("b", now); ok {
		t.Error("an entry is returned after Forget")
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
