package sched

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/pool"
)

// oneByOne is the rule for victims without bisection: it adds them one by one until the request fits, and lets off one by one
// whom it fits without.
func (p *planner) oneByOne(r *Request, candidates []int) (needed []int) {
	var chosen []int
	for _, i := range candidates {
		chosen = append(chosen, i)
		p.setLeaving(i, true)
		if p.find(p.laters, r) != nil {
			break
		}
	}
	if p.find(p.laters, r) == nil {
		return nil
	}
	for _, i := range slices.Backward(chosen) {
		p.setLeaving(i, false)
		if p.find(p.laters, r) == nil {
			p.setLeaving(i, true)
			needed = append(needed, i)
		}
	}
	return needed
}

// ofPriority is a planner of a scene, and its first request for which tasks could be asked to leave.
func (s *scene) ofPriority(t *rapid.T) (p *planner, r *Request, candidates []int) {
	s.pool.Preemption = true
	p = newPlanner(s.pool, s.nodes, s.running, len(s.queued))
	for i := range s.queued {
		if r = p.avoid(&s.queued[i]); r.Slots > 0 && p.fewest(r).nodes > 0 && p.find(p.laters, r) == nil {
			return p, r, p.rankCandidates()
		}
	}
	t.Skip("nothing waits")
	return nil, nil, nil
}

func (p *planner) victimsOf(r *Request, candidates []int) (picks []hold, leave, spared []int) {
	at := 0
	picks = p.makeWay(r, victims{
		next: func() int {
			if at == len(candidates) {
				return -1
			}
			at++
			return candidates[at-1]
		},
		spare: func(i int) { spared = append(spared, i) },
		gains: func([]hold) bool { return true },
	})
	for _, i := range candidates[:at] {
		switch is := p.leaving[i]; {
		case is == slices.Contains(spared, i):
			panic("a victim neither leaves nor was spared, or both")
		case is:
			leave = append(leave, i)
		}
	}
	return picks, leave, spared
}

func TestVictimsAreThoseOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		p, r, candidates := s.ofPriority(t)
		plain, same, _ := s.ofPriority(t)
		want := plain.oneByOne(same, candidates)
		picks, leave, _ := p.victimsOf(r, candidates)
		slices.Sort(want)
		slices.Sort(leave)
		if !slices.Equal(leave, want) || (picks == nil) != (want == nil) {
			t.Fatalf("%v leave for %v, want %v", leave, picks, want)
		}
		if want != nil && !slices.Equal(p.laters.at, plain.laters.at) {
			t.Fatalf("the blocks will have %v slots, want %v", p.laters.at, plain.laters.at)
		}
	})
}

// Without work left for exact answers, the request fits all the same, and who leaves holds slots that it needs.
func TestVictimsAfterTheExactOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		p, r, candidates := s.ofPriority(t)
		plain, same, _ := s.ofPriority(t)
		possible := plain.oneByOne(same, candidates) != nil
		p.letOffLooks = maxLetOff
		picks, leave, _ := p.victimsOf(r, candidates)
		if (picks != nil) != possible {
			t.Fatalf("slots %v, want some: %v", picks, possible)
		}
		missing := func(h hold) bool {
			b := &p.blocks[h.block]
			return b.later() < h.n || !p.carries(p.laters, r, b.node, h.n)
		}
		if slices.ContainsFunc(picks, missing) {
			t.Fatalf("%v is more than there will be", picks)
		}
		if len(leave) > 0 {
			leave = slices.DeleteFunc(leave, func(i int) bool { return i == p.last(candidates, leave) })
		}
		for _, i := range leave {
			p.setLeaving(i, false)
			if !slices.ContainsFunc(picks, missing) {
				t.Fatalf("task %d leaves for nothing", i)
			}
			p.setLeaving(i, true)
		}
	})
}

// last is the victim that comes last of those who leave.
func (p *planner) last(candidates, leave []int) int {
	for _, i := range slices.Backward(candidates) {
		if slices.Contains(leave, i) {
			return i
		}
	}
	return -1
}

// barred is a pool that others fill with tasks of one slot, and a request for all slots of its first nodes. On the first one the
// caller's own notebook holds a slot for ever if it is to wait in vain.
func barred(nodes int, vain bool) (list []Node, running []Running, r Request) {
	list = benchRacks()[:nodes]
	running = benchRunning(50, 1)[:8*nodes]
	running[0].Preemptible = !vain
	c := &Choice{Unfit: map[string]string{}, Fit: map[string]bool{}, Prefer: map[string]float64{}}
	for i := range nodes {
		id := fmt.Sprintf("node-%04d", i)
		if i >= nodes/4 {
			c.Unfit[id] = "which does not fit"
			continue
		}
		c.Fit[id], c.Prefer[id] = true, float64(i%100+1)/100
	}
	return list, running, Request{ID: "eve", Group: "experiment 1", Slots: 8 * (nodes / 4), Workspace: "w", User: "eve", Priority: 1, QueuedAt: epoch, Choice: c}
}

// One request must not stop the loop, which plans in every cycle. The work of a plan is counted in blocks that it looked at.
func TestPreemptionHasBoundedWork(t *testing.T) {
	for _, vain := range []bool{false, true} {
		nodes, running, r := barred(400, vain)
		p := newPlanner(&pool.Pool{Name: "gpu", Preemption: true}, nodes, running, 1)
		p.policy = p.policyOf(inOrder([]Request{r}), epoch)
		for r := p.policy.next(); r != nil; r = p.policy.next() {
			p.policy.considered(p.consider(r, epoch.Add(time.Hour)))
		}
		if want := 800; vain == (len(p.result.Preempt) == want) {
			t.Errorf("in vain %v: %d tasks leave, want %d or none", vain, len(p.result.Preempt), want)
		}
		t.Logf("in vain %v: %d looks", vain, p.looks)
		if most := maxLetOff + 500*len(p.blocks); p.looks > most {
			t.Errorf("in vain %v: the plan looked at %d blocks, want %d at most", vain, p.looks, most)
		}
	}
}
