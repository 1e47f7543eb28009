package sched

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestInsert: an inserted job has the requested position, and the order of the others does not change,
// after any number of insertions at the same position.
func TestInsert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type one struct {
			id string
			at time.Time
		}
		var queue []one
		for i := range rapid.IntRange(1, 6).Draw(t, "queued") {
			at := epoch.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "at")) * time.Microsecond)
			queue = append(queue, one{string(rune('a' + i)), at})
		}
		order := func(a, b one) int {
			if c := a.at.Compare(b.at); c != 0 {
				return c
			}
			if a.id < b.id {
				return -1
			}
			return 1
		}
		slices.SortFunc(queue, order)
		for range 5 {
			from := rapid.IntRange(0, len(queue)-1).Draw(t, "from")
			who := queue[from]
			want := slices.Delete(slices.Clone(queue), from, from+1)
			at := rapid.IntRange(0, len(want)).Draw(t, "to")
			moments := make([]time.Time, len(want))
			for i, o := range want {
				moments[i] = o.at
			}
			if len(want) == 0 {
				return
			}
			moment, shifted := Insert(moments, at)
			for i, m := range shifted {
				want[i].at = m
			}
			who.at = moment
			want = slices.Insert(want, at, who)
			queue = slices.Clone(want)
			slices.SortFunc(queue, order)
			if !slices.Equal(queue, want) {
				t.Fatalf("the queue is %v, want %v", queue, want)
			}
			for _, o := range queue {
				if o.at.Nanosecond()%1000 != 0 {
					t.Fatalf("%v cannot be stored", o.at)
				}
			}
		}
	})
}
