package cache_test

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cache"
)

func TestRates(t *testing.T) {
	now := time.Now()
	r := cache.NewRates[string](3, time.Second, 2)
	took := func(key string, times int) (n int) {
		for range times {
			if r.Take(key, now) {
				n++
			}
		}
		return n
	}
	if a, b := took("a", 10), took("b", 2); a != 3 || b != 2 {
		t.Errorf("a may %d times at once, b %d times", a, b)
	}
	now = now.Add(2500 * time.Millisecond)
	if a := took("a", 10); a != 2 {
		t.Errorf("a may %d times after two and a half seconds", a)
	}
	now = now.Add(time.Hour)
	if a := took("a", 10); a != 3 {
		t.Errorf("a may %d times after an hour", a)
	}
	if c, a := took("c", 1), took("a", 1); c != 1 || a != 0 {
		t.Errorf("a new key must evict a key whose whole rate is free: c %d, a %d", c, a)
	}
	if d := took("d", 5); d != 3 {
		t.Errorf("with too many keys d may %d times", d)
	}
}
