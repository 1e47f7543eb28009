package sched

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/pool"
)

// addEnd notes when a running task ends, in seconds; again: another task of its group follows.
func (s *scene) addEnd(r Running, args map[string]string) {
	if args["ends"] == "" {
		return
	}
	if s.ends == nil {
		s.ends = map[string]End{}
	}
	end := End{At: epoch.Add(time.Duration(number(args["ends"])) * time.Second)}
	if _, again := args["again"]; again {
		end.Next = &Request{Group: r.Group, Slots: r.slots(), Priority: r.Priority, MaxSlots: r.MaxSlots, Quotas: r.Quotas}
	}
	s.ends[r.ID] = end
}

func (s *scene) showStarts() string {
	f := s.reserved.Starts(s.pool, s.nodes, s.running, s.queued, s.ends, epoch)
	var b strings.Builder
	for _, id := range sortedKeys(f.Starts) {
		if start := f.Starts[id]; start.At.IsZero() {
			fmt.Fprintf(&b, "%s: not known: %s\n", id, start.Unknown)
		} else {
			fmt.Fprintf(&b, "%s: %v\n", id, start.At.Sub(epoch))
		}
	}
	if f.Others != "" {
		fmt.Fprintf(&b, "others: not known: %s\n", f.Others)
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// drawFuture draws a pool under priorities in which nobody is asked to leave, and when its tasks end.
func drawFuture(t *rapid.T) (s scene, lasts map[string]int) {
	s = drawScene(t)
	s.pool.Scheduler, s.pool.Preemption = pool.Scheduler{}, false
	s.ends, lasts = map[string]End{}, map[string]int{}
	for i := range s.running {
		r := &s.running[i]
		r.Leaving, r.Preemptible = false, false
		if rapid.IntRange(0, 3).Draw(t, "known") == 0 {
			continue
		}
		lasts[r.ID] = rapid.IntRange(1, 12).Draw(t, "lasts")
		end := End{At: epoch.Add(time.Duration(lasts[r.ID]) * time.Second)}
		if rapid.IntRange(0, 3).Draw(t, "again") == 0 {
			end.Next = &Request{Group: r.Group, Slots: r.slots(), Priority: r.Priority, Quotas: r.Quotas}
		}
		s.ends[r.ID] = end
	}
	for i := range s.queued {
		if rapid.IntRange(0, 5).Draw(t, "pauses") == 0 {
			s.queued[i].NotBefore = epoch.Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "pause")) * time.Second)
		}
	}
	return s, lasts
}

// startsOf runs a pool second by second and returns when each request starts. lasts has how long tasks run; those that
// are not there run on.
func startsOf(s scene, lasts map[string]int, until int) map[string]int {
	running, queued := slices.Clone(s.running), slices.Clone(s.queued)
	ends, started := map[string]int{}, map[string]int{}
	for _, r := range running {
		if n, ok := lasts[r.ID]; ok {
			ends[r.ID] = n
		}
	}
	for second := 0; second <= until; second++ {
		now := epoch.Add(time.Duration(second) * time.Second)
		running = slices.DeleteFunc(running, func(r Running) bool {
			end, ok := ends[r.ID]
			if !ok || end > second {
				return false
			}
			if next := s.ends[r.ID].Next; next != nil {
				n := *next
				n.ID, n.QueuedAt = "after "+r.ID, now
				queued = append(queued, n)
			}
			return true
		})
		for placed := Plan(s.pool, s.nodes, running, queued, now).Place; len(placed) > 0; placed = Plan(s.pool, s.nodes, running, queued, now).Place {
			for _, p := range placed {
				i := slices.IndexFunc(queued, func(q Request) bool { return q.ID == p.ID })
				q := queued[i]
				running = append(running, Running{ID: q.ID, Group: q.Group, Priority: q.Priority, StartedAt: now, MaxSlots: q.MaxSlots, Quotas: q.Quotas, Parts: p.Parts})
				queued = slices.Delete(queued, i, i+1)
				started[q.ID] = second
				if n, ok := lasts[q.ID]; ok {
					ends[q.ID] = second + n
				}
			}
		}
	}
	return started
}

// TestStartsHold: a request starts when Starts says, if tasks end as they are expected to; and what Starts does not know does
// not start before the last known end, unless the start is too far in the future.
func TestStartsHold(t *testing.T) {
	known, unknown := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s, lasts := drawFuture(t)
		started := startsOf(s, lasts, 75)
		for id, start := range s.reserved.Starts(s.pool, s.nodes, s.running, s.queued, s.ends, epoch).Starts {
			second, starts := started[id]
			switch {
			case !start.At.IsZero():
				if at := int(start.At.Sub(epoch) / time.Second); !starts || second != at {
					t.Fatalf("%s starts at %d (%t), and was expected at %d", id, second, starts, at)
				}
				if second > 0 {
					known++
				}
			case start.Unknown == "":
				t.Fatalf("%s has neither a start nor a reason", id)
			case starts:
				t.Fatalf("%s starts at %d, which was not known: %s", id, second, start.Unknown)
			default:
				unknown++
			}
		}
	})
	if known == 0 || unknown == 0 {
		t.Fatalf("%d starts were known and %d were not", known, unknown)
	}
}

// TestTheFirstStartsInTime: the first request that waits starts no later than Starts says, whichever tasks end earlier or at
// all.
func TestTheFirstStartsInTime(t *testing.T) {
	known := 0
	rapid.Check(t, func(t *rapid.T) {
		s, lasts := drawFuture(t)
		for i := range s.queued {
			s.queued[i].MaxSlots, s.queued[i].NotBefore, s.queued[i].Quotas = nil, time.Time{}, nil
		}
		for i := range s.running {
			s.running[i].Quotas = nil
		}
		for id, end := range s.ends {
			end.Next = nil
			s.ends[id] = end
		}
		head := headOf(s)
		if head == nil {
			return
		}
		at := s.reserved.Starts(s.pool, s.nodes, s.running, s.queued, s.ends, epoch).Starts[head.ID].At
		if at.IsZero() {
			return
		}
		known++
		earlier := map[string]int{}
		for _, r := range s.running {
			if n, ok := lasts[r.ID]; ok {
				earlier[r.ID] = rapid.IntRange(1, n).Draw(t, "ends earlier")
			} else if rapid.Bool().Draw(t, "ends") {
				earlier[r.ID] = rapid.IntRange(1, 12).Draw(t, "ends")
			}
		}
		for _, q := range s.queued {
			if rapid.Bool().Draw(t, "ends") {
				earlier[q.ID] = rapid.IntRange(1, 12).Draw(t, "lasts")
			}
		}
		want := int(at.Sub(epoch) / time.Second)
		if second, starts := startsOf(s, earlier, want)[head.ID]; !starts {
			t.Fatalf("%s has not started at %d (%d)", head.ID, want, second)
		}
	})
	if known == 0 {
		t.Fatal("no start was known")
	}
}

// TestStartsAreBounded: a long queue gets starts for its first requests only, and ends that are too many or too far away are not
// played.
func TestStartsAreBounded(t *testing.T) {
	s := scene{pool: &pool.Pool{Name: "gpu"}, ends: map[string]End{}}
	for i := range 200 {
		n := fmt.Sprintf("n%03d", i)
		s.nodes = append(s.nodes, Node{ID: n, Name: n, Schedulable: true, Slots: []Slot{{Healthy: true, Enabled: true}}})
		s.running = append(s.running, Running{ID: "r" + n, Parts: []Part{{NodeID: n, SlotIDs: []int{0}}}})
		s.queued = append(s.queued, Request{ID: fmt.Sprintf("q%03d", i), Slots: 1, Priority: 1, QueuedAt: epoch.Add(time.Duration(i) * time.Second)})
		s.ends["r"+n] = End{At: epoch.Add(time.Duration(i+1) * time.Hour)}
	}
	f := s.reserved.Starts(s.pool, s.nodes, s.running, s.queued, s.ends, epoch)
	if len(f.Starts) != maxEstimated || !strings.Contains(f.Others, "first 100") {
		t.Errorf("%d starts; %s", len(f.Starts), f.Others)
	}
	if got := f.Starts["q023"]; !got.At.Equal(epoch.Add(24 * time.Hour)) {
		t.Errorf("the start after 24 ends is %+v", got)
	}
	if got := f.Starts["q024"]; got.Unknown != "the start is too far in the future" {
		t.Errorf("the start after 25 ends is %+v", got)
	}
	s.ends = map[string]End{"rn000": {At: epoch.Add(maxAhead + time.Second)}}
	if got := s.reserved.Starts(s.pool, s.nodes, s.running, s.queued[:1], s.ends, epoch).Starts["q000"]; got.Unknown != "the start is too far in the future" {
		t.Errorf("the start in more than a week is %+v", got)
	}
	s.pool.Scheduler.Type = pool.FairShare
	if f := s.reserved.Starts(s.pool, s.nodes, s.running, s.queued, s.ends, epoch); len(f.Starts) != 0 || !strings.Contains(f.Others, "fair_share") {
		t.Errorf("under fair_share: %+v", f)
	}
}
