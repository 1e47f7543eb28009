package sched

import (
	"cmp"
	"testing"

	"pgregory.net/rapid"
)

// TestShrinkIsExact: groups above their limit shrink to it, as far as whole tasks allow, and no
// task is preempted without need.
func TestShrinkIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		most := map[string]*int{}
		for _, g := range []string{"g0", "g1", "g2"} {
			if n := rapid.IntRange(-1, 8).Draw(t, "most"); n >= 0 {
				most[g] = &n
			}
		}
		for i := range s.running {
			s.running[i].MaxSlots = most[s.running[i].Group]
		}
		s.queued, s.pool.Preemption = nil, rapid.Bool().Draw(t, "preempts")
		r := Plan(s.pool, s.nodes, s.running, nil, epoch)
		if err := s.check(r); err != nil {
			t.Fatal(err)
		}
		asked := map[string]bool{}
		for _, p := range r.Preempt {
			asked[p.ID] = true
		}
		for g, n := range most {
			held, could := 0, false
			var last *Running // that was asked: who loses most, by the order of their asking
			for i := range s.running {
				x := &s.running[i]
				switch {
				case x.Group != g || x.Leaving || x.slots() == 0:
				case !asked[x.ID]:
					held += x.slots()
					could = could || x.Preemptible
				case last == nil || cmp.Or(x.lostFrom().Compare(last.lostFrom()), x.StartedAt.Compare(last.StartedAt), cmp.Compare(last.ID, x.ID)) < 0:
					last = x
				}
			}
			if last != nil && held+last.slots() <= *n {
				t.Fatalf("%s of group %s was asked to leave, and %d of %d would have been held with it", last.ID, g, held+last.slots(), *n)
			}
			if held > *n && could {
				t.Fatalf("group %s holds %d of %d, and somebody could leave", g, held, *n)
			}
		}
	})
}
