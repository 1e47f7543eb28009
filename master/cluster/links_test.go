package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/pool"
)

// modelOf is a model with devices, of which an attribute says which are linked.
func modelOf(name, linked string, ids ...string) *api.NodeDeviceResource {
	m := &api.NodeDeviceResource{Vendor: "nvidia", Type: "gpu", Name: name, Attributes: map[string]*api.Attribute{}}
	if linked != "" {
		m.Attributes[linkedAttribute] = &api.Attribute{StringVal: &linked}
	}
	for _, id := range ids {
		m.Instances = append(m.Instances, &api.NodeDevice{ID: id, Healthy: true})
	}
	return m
}

// TestLinkGroups writes the devices of a node with their groups: "a1 b1 c0".
func TestLinkGroups(t *testing.T) {
	number := int64(7)
	counted := modelOf("A", "", "a", "b", "c")
	counted.Attributes[linkedAttribute] = &api.Attribute{IntVal: &number}
	hole := modelOf("A", "a,b", "a", "b", "c")
	hole.Instances = append(hole.Instances, nil)
	for name, test := range map[string]struct {
		models []*api.NodeDeviceResource
		want   string
	}{
		"nothing said":              {[]*api.NodeDeviceResource{modelOf("A", "", "a", "b")}, "a0 b0"},
		"two pairs":                 {[]*api.NodeDeviceResource{modelOf("A", "a,c;b,d", "a", "b", "c", "d")}, "a1 b2 c1 d2"},
		"in the order of the text":  {[]*api.NodeDeviceResource{modelOf("A", "b,d;a,c", "a", "b", "c", "d")}, "a2 b1 c2 d1"},
		"spaces":                    {[]*api.NodeDeviceResource{modelOf("A", " a , c ; b,d ", "a", "b", "c", "d")}, "a1 b2 c1 d2"},
		"unknown ids, b twice":      {[]*api.NodeDeviceResource{modelOf("A", "a,x,c;y;z,b;b", "a", "b", "c")}, "a0 b0 c0"},
		"unknown ids, one group":    {[]*api.NodeDeviceResource{modelOf("A", "a,x,c;y", "a", "b", "c")}, "a1 b0 c1"},
		"a device of another model": {[]*api.NodeDeviceResource{modelOf("A", "a,b;c,d", "a", "b"), modelOf("B", "", "c", "d")}, "a1 b1 c0 d0"},
		"alone":                     {[]*api.NodeDeviceResource{modelOf("A", "a;b;c", "a", "b", "c")}, "a0 b0 c0"},
		"twice in one group":        {[]*api.NodeDeviceResource{modelOf("A", "a,a,b", "a", "b", "c")}, "a1 b1 c0"},
		"in two groups":             {[]*api.NodeDeviceResource{modelOf("A", "a,b;b,c", "a", "b", "c")}, "a0 b0 c0"},
		"empty":                     {[]*api.NodeDeviceResource{modelOf("A", ";,,;;", "a", "b", "")}, "0 a0 b0"},
		"no text":                   {[]*api.NodeDeviceResource{counted}, "a0 b0 c0"},
		"a hole in the list":        {[]*api.NodeDeviceResource{hole}, "a1 b1 c0"},
		"too long":                  {[]*api.NodeDeviceResource{modelOf("A", "a,b;"+strings.Repeat("x", maxLinked), "a", "b", "c")}, "a0 b0 c0"},
		"as long as can be":         {[]*api.NodeDeviceResource{modelOf("A", "a,b;"+strings.Repeat("x", maxLinked-4), "a", "b", "c")}, "a1 b1 c0"},
		"two models":                {[]*api.NodeDeviceResource{modelOf("A", "a,b", "a", "b", "x"), modelOf("B", "c,d;e,f", "c", "d", "e", "f")}, "a1 b1 x0 c2 d2 e3 f3"},
		"one model twice":           {[]*api.NodeDeviceResource{modelOf("A", "a,b", "a", "b"), modelOf("A", "c,d", "c", "d")}, "a1 b1 c2 d2"},
	} {
		n := nodeOf(&api.NodeListStub{NodeResources: &api.NodeResources{Devices: test.models}}, use{})
		var words []string
		for _, s := range SlotsOf(n, pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu"}) {
			words = append(words, fmt.Sprint(s.Device, s.LinkGroup))
		}
		if got := strings.Join(words, " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		for model, attributes := range n.Models["nvidia/gpu"] {
			if _, kept := attributes[linkedAttribute]; kept {
				t.Errorf("%s: the attribute of %s is kept a second time", name, model)
			}
		}
	}
}

// TestStrangeLinks: whatever an attribute says, groups have two devices or more, and are numbered from 1 without gaps.
func TestStrangeLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := modelOf("A", strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "d", ",", ",", ";", "x", " ", "\x00"})).Draw(t, "text"), ""), "a", "b", "c", "d")
		sizes := map[int]int{}
		for id, group := range linkGroups(m, 3) {
			if len(id) != 1 || !strings.Contains("abcd", id) {
				t.Fatalf("%q has a group", id)
			}
			sizes[group]++
		}
		for group := range len(sizes) {
			if sizes[4+group] < 2 {
				t.Fatalf("groups %v", sizes)
			}
		}
	})
}
