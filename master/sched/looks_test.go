package sched

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// Large queues of one user are looked at whole.
func TestOrdinaryQueuesAreLookedAtWhole(t *testing.T) {
	nodes, racks := benchNodes(), benchRacks()
	for _, c := range benchCases() {
		for _, nodes := range [][]Node{nodes, racks} {
			for id, why := range Plan(c.pool, nodes, c.running, c.queued, epoch).Waiting {
				if why == whyUnlooked {
					t.Errorf("%s: %s is not looked at", c.name, id)
					break
				}
			}
		}
	}
}

// Requests of one user that all differ do not keep others waiting: a plan looks at a part of them, and at everybody else's.
func TestDifferentRequestsAreLookedAtInParts(t *testing.T) {
	nodes := benchRacks()
	var running []Running
	for i := range nodes {
		running = append(running, Running{ID: fmt.Sprintf("running-%05d", i), Group: fmt.Sprintf("experiment r%d", i), Workspace: "v", User: "ann", Priority: 42, Preemptible: true,
			StartedAt: epoch, Parts: []Part{{NodeID: nodes[i].ID, SlotIDs: []int{0, 1, 2, 3, 4, 5, 6}}}})
	}
	var queued []Request
	for i := range 5_000 {
		queued = append(queued, Request{ID: fmt.Sprintf("eve-%04d", i), Group: fmt.Sprintf("experiment %d", i), Slots: i + 8, Workspace: "w", User: "eve", EqualParts: true, MixModels: true,
			Priority: 42, QueuedAt: epoch.Add(time.Duration(i) * time.Second)})
	}
	soft := 0
	eves := []*Quota{{Of: "user eve", Where: "pool gpu", Soft: &soft}} // with it, all of them are considered after everybody else's
	lent := slices.Clone(queued)
	for i := range lent {
		lent[i].Quotas = eves
	}
	bobs := Request{ID: "bob", Group: "experiment b", Slots: 1, Workspace: "v", User: "bob", Priority: 42, QueuedAt: epoch.Add(24 * time.Hour)}
	for _, c := range []struct {
		name   string
		of     pool.SchedulerType
		queued []Request
		most   int
	}{{"priority", pool.Priority, queued, maxLooks}, {"fair share", pool.FairShare, queued, maxLooks}, {"over a soft quota", pool.Priority, lent, 2 * maxLooks}} {
		p := newPlanner(&pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: c.of}}, nodes, running, len(c.queued))
		p.policy = p.policyOf(inOrder(append(c.queued, bobs)), epoch)
		for r := p.policy.next(); r != nil; r = p.policy.next() {
			p.policy.considered(p.consider(r, epoch.Add(time.Hour)))
		}
		p.considerLate()
		later := 0
		for _, why := range p.result.Waiting {
			if why == whyUnlooked {
				later++
			}
		}
		t.Logf("%s: %d looks, %d for later", c.name, p.looks, later)
		if later == 0 || later == len(queued) || p.looks > c.most+c.most/10 {
			t.Errorf("%s: the plan looked at %d blocks and left %d requests for later, want %d looks at most", c.name, p.looks, later, c.most)
		}
		if why := p.result.Waiting["bob"]; why == whyUnlooked {
			t.Errorf("%s: bob waits for eve: %s", c.name, why)
		}
	}
}

// Requests over a soft quota are looked at in parts, too, where their choices leave them only nodes in use.
func TestBorrowersAreLookedAtInParts(t *testing.T) {
	nodes := benchNodes()
	var running []Running
	unfit := map[string]string{}
	for i := range nodes {
		if i%2 > 0 {
			unfit[nodes[i].ID] = "which is another one"
			continue
		}
		running = append(running, Running{ID: fmt.Sprintf("running-%05d", i), Group: fmt.Sprintf("experiment r%d", i), Workspace: "v", User: "ann", Priority: 42, Preemptible: true,
			StartedAt: epoch, Parts: []Part{{NodeID: nodes[i].ID, SlotIDs: []int{0, 1, 2, 3, 4, 5, 6, 7}}}})
	}
	soft := 0
	eves := []*Quota{{Of: "user eve", Where: "pool gpu", Soft: &soft}}
	choices := make([]Choice, 400)
	var queued []Request
	for i := range 5_000 {
		choices[i%400].Unfit = unfit
		queued = append(queued, Request{ID: fmt.Sprintf("eve-%04d", i), Group: fmt.Sprintf("experiment %d", i), Slots: 720 + 120*(i/400), Workspace: "w", User: "eve", MixModels: true,
			Priority: 42, QueuedAt: epoch.Add(time.Duration(i) * time.Second), Choice: &choices[i%400], Quotas: eves})
	}
	p := newPlanner(&pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.Priority}}, nodes, running, len(queued))
	p.policy = p.policyOf(inOrder(queued), epoch)
	for r := p.policy.next(); r != nil; r = p.policy.next() {
		p.policy.considered(p.consider(r, epoch.Add(time.Hour)))
	}
	p.considerLate()
	if len(p.result.Waiting) != len(queued) || p.looks > 2*maxLooks+maxLooks/10 {
		t.Errorf("the plan looked at %d blocks for %d requests, want %d at most", p.looks, len(p.result.Waiting), 2*maxLooks)
	}
}

// What a choice says of nodes is work, too.
func TestChoicesAreWork(t *testing.T) {
	nodes := benchNodes()
	choice := &Choice{Spread: make([]Spread, 8)}
	p := newPlanner(&pool.Pool{Name: "gpu"}, nodes, nil, 1)
	p.policy = p.policyOf(nil, epoch)
	p.consider(&Request{ID: "eve", Slots: 1, User: "eve", Choice: choice, QueuedAt: epoch}, epoch)
	if want := len(nodes) * (1 + len(choice.Spread)); p.looked["eve"] < want {
		t.Errorf("the plan counts %d looks at %d nodes with %d spreads, want %d at least", p.looked["eve"], len(nodes), len(choice.Spread), want)
	}
}
