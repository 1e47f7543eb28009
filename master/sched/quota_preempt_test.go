package sched

import (
	"testing"

	"github.com/detent-ml/detent/master/pool"
)

// TestNobodyLeavesForAQuotasRequest: a request that a quota of processors sets aside once its node is known causes no preemption. Else who left for it
// would get the slot back, and be asked again, in each plan.
func TestNobodyLeavesForAQuotasRequest(t *testing.T) {
	for what, quota := range map[string]*Quota{"soft": {Of: "workspace a", Kind: Processors, Soft: new(int)}, "hard": {Of: "workspace a", Kind: Processors, Hard: new(int)}, "none": nil} {
		for _, policy := range []pool.SchedulerType{pool.FairShare, ""} {
			of := &pool.Pool{Name: "gpu", Preemption: true, Scheduler: pool.Scheduler{Type: policy, Workspaces: map[string]float64{"a": 2}}}
			nodes := []Node{
				{ID: "n", Name: "n", Schedulable: true, Slots: []Slot{{Healthy: true, Enabled: true}}, Supply: &Supply{MHz: 1000, Cores: 1, Slot: Amount{MHz: 1000}, Free: Amount{MHz: 1000}}},
				{ID: "m", Name: "m", Supply: &Supply{MHz: 1000, Cores: 1}}, // its slots would bring no processors, so a request needs none at least
			}
			running := []Running{{ID: "theirs", Group: "c", Priority: 50, StartedAt: epoch, Preemptible: true, Workspace: "c", User: "w", Parts: []Part{{NodeID: "n", SlotIDs: []int{0}, Uses: Amount{MHz: 1000}}}}}
			request := Request{ID: "mine", Group: "a", Slots: 1, Priority: 1, QueuedAt: epoch, Workspace: "a", User: "u"}
			if quota != nil {
				request.Quotas = []*Quota{quota}
			}
			r := Plan(of, nodes, running, []Request{request}, epoch)
			if preempts := len(r.Preempt) > 0; preempts != (quota == nil) {
				t.Errorf("policy %q, bound %s: %s", policy, what, show(r))
			}
		}
	}
}
