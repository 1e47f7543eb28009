package pool

import (
	"testing"

	"github.com/hashicorp/nomad/api"
)

func node(name string) (string, bool) {
	v, ok := map[string]string{"attr.cpu.arch": "amd64", "attr.cpu.numcores": "16", "attr.nomad.version": "1.11.2", "attr.os.version": "12",
		"attr.pre": "1.3.0-beta1", "meta.rack": "r7", "meta.tags": "fast, big,new", "node.datacenter": "dc1", "meta.empty": ""}[name]
	return v, ok
}

// TestMeets: comparisons have the same results as Nomad's own.
func TestMeets(t *testing.T) {
	for _, c := range []struct {
		Comparison
		want bool
	}{
		{Comparison{"${attr.cpu.arch}", "", "amd64"}, true},
		{Comparison{"${attr.cpu.arch}", "==", "arm64"}, false},
		{Comparison{"amd64", "is", "${attr.cpu.arch}"}, true},
		{Comparison{"${meta.gone}", "=", "x"}, false},
		{Comparison{"${meta.gone}", "!=", "x"}, true},
		{Comparison{"${meta.rack}", "not", "r7"}, false},
		{Comparison{"${meta.empty}", "!=", "${meta.gone}"}, true},
		{Comparison{"${attr.cpu.numcores}", ">=", "9"}, true}, // as numbers, not texts
		{Comparison{"${attr.cpu.numcores}", "<", "9"}, false},
		{Comparison{"${attr.os.version}", ">", "11.5"}, true},
		{Comparison{"${meta.rack}", "<=", "r8"}, true},
		{Comparison{"${meta.gone}", "<", "1"}, false},
		{Comparison{"${meta.rack}", "regexp", "^r[0-9]$"}, true},
		{Comparison{"${meta.rack}", "regexp", "["}, false},
		{Comparison{"${attr.nomad.version}", "version", ">= 1.10, < 2"}, true},
		{Comparison{"${attr.nomad.version}", "version", "~> 1.9.0"}, false},
		{Comparison{"${attr.pre}", "version", ">= 1.2"}, false},
		{Comparison{"${attr.pre}", "semver", ">= 1.2.0, < 1.3.0"}, true},
		{Comparison{"${meta.rack}", "version", "> 1"}, false},
		{Comparison{"${meta.tags}", "set_contains", "big,fast"}, true},
		{Comparison{"${meta.tags}", "set_contains_all", "big,old"}, false},
		{Comparison{"${meta.tags}", "set_contains_any", "big,old"}, true},
		{Comparison{"${meta.rack}", "is_set", ""}, true},
		{Comparison{"${meta.gone}", "is_not_set", ""}, true},
		{Comparison{"${node.datacenter}", "=", "dc1"}, true},
		{Comparison{"${meta.rack}", "distinct_property", "1"}, false},
	} {
		if got := c.Meets(node, nil); got != c.want {
			t.Errorf("%s: %t", c.Comparison, got)
		}
	}
	list := []Comparison{{"${attr.cpu.arch}", "", "amd64"}, {"${meta.rack}", "", "r1"}}
	if got := Unmet(list, node, nil); got != "${meta.rack} = r1" {
		t.Errorf("unmet is %q", got)
	}
}

func TestDraw(t *testing.T) {
	r7, other := Comparison{"${meta.rack}", "=", "r7"}, Comparison{"${meta.rack}", "=", "r8"}
	for _, c := range []struct {
		list []Affinity
		want float64
	}{{nil, 0}, {[]Affinity{{r7, 50}}, 1}, {[]Affinity{{r7, -20}}, -1}, {[]Affinity{{r7, 50}, {other, 50}}, 0.5}, {[]Affinity{{other, 100}}, 0}} {
		if got := Draw(c.list, node, nil); got != c.want {
			t.Errorf("%v: %g, want %g", c.list, got, c.want)
		}
	}
}

func value[T any](v T) *T { return &v }

// TestWithJob: a pool has the nodes, driver and slots of its job.
func TestWithJob(t *testing.T) {
	job := &api.Job{NodePool: value("all"), Namespace: value("ml"), Constraints: []*api.Constraint{{LTarget: "${meta.a}", Operand: "=", RTarget: "1"}},
		TaskGroups: []*api.TaskGroup{{
			Constraints: []*api.Constraint{{LTarget: "${meta.b}", Operand: "=", RTarget: "2"}},
			Volumes:     map[string]*api.VolumeRequest{"w": {Type: "host", Source: "writes"}, "r": {Type: "host", Source: "reads", ReadOnly: true}, "c": {Type: "csi", Source: "c"}},
			Tasks: []*api.Task{{Driver: Docker, User: "1000", Config: map[string]any{"network_mode": "detent"},
				Resources:    &api.Resources{Cores: value(2), MemoryMB: value(500), MemoryMaxMB: value(900)},
				VolumeMounts: []*api.VolumeMount{{Volume: value("w"), Destination: value("/w")}, {Volume: value("c"), Destination: value("/c")}},
				Affinities:   []*api.Affinity{{LTarget: "${meta.a}", Operand: "=", RTarget: "1"}}}},
		}}}
	p := Pool{Name: "x", Datacenters: []string{"dc1"}, Namespace: "default", Slots: Slots{CoresPerSlot: 1, MemoryMBPerSlot: 1024}}.WithJob(job)
	if p.NodePool != "" || p.Namespace != "ml" || p.Driver != Docker || p.Network != "detent" || p.Containers.User != "1000" || p.Datacenters[0] != "dc1" {
		t.Errorf("%+v", p)
	}
	if s := p.Slots; s.CoresPerSlot != 2 || !s.WholeCores || s.MemoryMBPerSlot != 500 || s.MemoryMaxMBPerSlot != 900 {
		t.Errorf("slots %+v", s)
	}
	if len(p.Constraints()) != 2 || len(p.Affinities()) != 1 || p.Affinities()[0].Weight != 50 || len(p.Volumes) != 3 {
		t.Errorf("%v, %v, %v", p.Constraints(), p.Affinities(), p.Volumes)
	}
	if v := p.HostVolumes(); len(v) != 1 || !v["writes"] {
		t.Errorf("nodes need %v", v)
	}
	if source, writes := p.HostVolume("r"); source != "reads" || writes {
		t.Errorf("%s, %t", source, writes)
	}
	if source, _ := p.HostVolume("c"); source != "" {
		t.Errorf("a CSI volume is one of the host, %s", source)
	}
	job.NodePool = nil
	if p := (Pool{}).WithJob(job); p.NodePool != "default" {
		t.Errorf("without a node pool: %q", p.NodePool)
	}
	if n := (Slots{MHzPerSlot: 500, CoresPerSlot: 1, MemoryMBPerSlot: 100}).OfNode(4, 1600, 1000); n != 3 {
		t.Errorf("%d slots of 500 MHz in 1600", n)
	}
}
