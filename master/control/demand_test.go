package control

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// demand is what the loop says of its first pool.
func (b *bench) demand() nodes.Demand {
	b.t.Helper()
	all := b.term.Demand()
	if len(all) == 0 {
		b.t.Fatal("the loop knows no demand")
	}
	return all[0]
}

// TestDemand follows the figures of a pool: idle nodes, a gang that needs a further node, work, and
// a node that has been idle for long enough.
func TestDemand(t *testing.T) {
	b := newBench(t, "n1", "n2")
	b.term.cfg.Pools[0].MaxIdle = 10 * time.Minute
	b.settle()
	class := func(c nodes.ClassDemand) []nodes.ClassDemand { c.Slots = 2; return []nodes.ClassDemand{c} }
	is := func(what string, want nodes.Demand) {
		t.Helper()
		want.Pool = "default"
		if diff := cmp.Diff(want, b.demand()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", what, diff)
		}
	}
	is("nothing runs", nodes.Demand{Idle: 4, Classes: class(nodes.ClassDemand{Present: 2, Idle: 2})})
	gang := b.submit(oneTrial + "\nresources: {slots_per_trial: 6}")
	b.settle()
	is("a gang waits", nodes.Demand{Idle: 4, Pending: 6, Classes: class(nodes.ClassDemand{Present: 2, Working: 2, Short: 1, Clears: 1})})
	b.submit(oneTrial + "\nresources: {slots_per_trial: 3, is_single_node: true}")
	b.settle()
	is("what no node can hold asks for none", nodes.Demand{Idle: 4, Pending: 9, Classes: class(nodes.ClassDemand{Present: 2, Working: 2, Short: 1, Clears: 1})})
	b.nomad.nodes = append(b.nomad.nodes, newFakeNomad("n3", "n4").nodes...)
	b.start(gang, 0)
	b.settle()
	if d := b.demand(); d.Held != 6 || d.Wanted() != 9 || d.Idle != 2 || d.Classes[0].Working != 3 || d.Classes[0].Short != 0 || d.Classes[0].Removable != 0 {
		t.Errorf("while the gang runs: %+v", d)
	}
	for id, since := range b.term.stats.idle { // as if time had passed
		b.term.stats.idle[id] = since.Add(-10 * time.Minute)
	}
	b.settle()
	if c := b.demand().Classes[0]; c.Removable != 1 || c.Wanted() != 3 || c.Present != 4 {
		t.Errorf("a node is idle for long: %+v, wanted %d", c, c.Wanted())
	}
	b.nomad.nodes[3].Draining, b.nomad.nodes[3].Eligible = true, false
	b.settle()
	if c := b.demand().Classes[0]; c.Removable+c.Idle != 0 || c.Wanted() != 4 {
		t.Errorf("an operator drains it: %+v, wanted %d", c, c.Wanted())
	}
	b.submit(oneTrial + "\nresources: {slots_per_trial: 2}")
	b.settle()
	if c := b.demand().Classes[0]; c.Short != 1 || c.Wanted() != 5 {
		t.Errorf("one more is wanted: %+v, wanted %d", c, c.Wanted())
	}
	b.nomad.nodes = append(b.nomad.nodes, newFakeNomad("n5").nodes...)
	b.nomad.nodes[4].Drivers = nil // it has just joined
	b.settle()
	if c := b.demand().Classes[0]; c.Short != 0 || c.Wanted() != 5 {
		t.Errorf("it joins: %+v, wanted %d", c, c.Wanted())
	}
	b.exec(`UPDATE nodes SET registered_at = now() - interval '3 minutes' WHERE id = 'id-n5'`)
	b.settle()
	if c := b.demand().Classes[0]; c.Short != 1 || c.Wanted() != 6 {
		t.Errorf("it has no driver: %+v, wanted %d", c, c.Wanted())
	}
	b.nomad.alarm = "Nomad was restored"
	b.settle()
	if d := b.term.Demand(); d != nil {
		t.Errorf("the demand while Nomad is not trusted is %+v, want none", d)
	}
}

// TestDemandOfClasses: a pool without nodes grows by the classes of its configuration, each request by
// a class that it may use.
func TestDemandOfClasses(t *testing.T) {
	b := newBench(t)
	p := &b.term.cfg.Pools[0]
	p.Slots = pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu"}
	p.Classes = []pool.Class{{Name: "small", Slots: 4, Model: "NVIDIA T4", Device: map[string]string{"memory": "15360 MiB"}, Max: 3},
		{Name: "large", Slots: 8, Model: "NVIDIA A100-SXM4-40GB", Device: map[string]string{"memory": "40960 MiB"}, Attributes: map[string]string{"meta.rack": "r7"}}}
	for _, config := range []string{
		"resources: {slots_per_trial: 8}",
		"resources: {slots_per_trial: 3, gpu: {model: A100}}",
		"resources: {slots_per_trial: 1, gpu: {memory_gb: 39}}",
		"resources: {slots_per_trial: 1, gpu: {model: H100}}",
		"resources: {slots_per_trial: 13, is_single_node: true}",
		"resources: {slots_per_trial: 16, gpu: {model: A100}}\nenvironment: {nomad: {constraints: [{attribute: '${meta.rack}', value: r7}]}}",
		"resources: {slots_per_trial: 16, gpu: {model: A100}}\nenvironment: {nomad: {constraints: [{attribute: '${meta.rack}', value: r8}]}}",
	} {
		b.submit(oneTrial + "\n" + config)
	}
	b.settle()
	want := nodes.Demand{Pool: "default", Pending: 8 + 3 + 1 + 1 + 13 + 16 + 16, Classes: []nodes.ClassDemand{
		{Class: "small", Slots: 4, Model: "NVIDIA T4", Short: 2, Clears: 1},
		{Class: "large", Slots: 8, Model: "NVIDIA A100-SXM4-40GB", Short: 3, Clears: 3},
	}}
	if diff := cmp.Diff(want, b.demand()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	n := cluster.Node{Node: sched.Node{ID: "x", Name: "x"}, NodePool: "default", Status: "ready", Eligible: true, Drivers: []string{"raw_exec"},
		Facts: map[string]string{"node.class": "small"}, Devices: map[string][]sched.Slot{}, Models: map[string]map[string]map[string]string{"nvidia/gpu": {"NVIDIA T4": {}}}}
	for i := range 2 { // fewer than the configuration says
		n.Devices["nvidia/gpu"] = append(n.Devices["nvidia/gpu"], sched.Slot{ID: i, Device: fmt.Sprint("x", i), Brand: "NVIDIA T4", Healthy: true, Enabled: true})
	}
	b.nomad.nodes = append(b.nomad.nodes, n)
	b.settle()
	if c := b.demand().Classes[0]; c.Slots != 2 || c.Present != 1 || c.Short != 3 {
		t.Errorf("the values of an existing node have no precedence over the configuration: %+v", c)
	}
}
