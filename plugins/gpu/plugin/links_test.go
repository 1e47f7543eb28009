package plugin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/plugins/device"

	"github.com/detent-ml/detent/plugins/gpu/simulated"
)

// linkedOf is the attribute of each model of a fingerprint.
func linkedOf(groups []*device.DeviceGroup) string {
	var words []string
	for _, g := range groups {
		if a := g.Attributes[linkedAttribute]; a != nil {
			words = append(words, fmt.Sprintf("%s: %s", g.Name, *a.String))
		}
	}
	return strings.Join(words, ", ")
}

func TestLinkedAttribute(t *testing.T) {
	gpu := func(id, linked string) simulated.GPU { return simulated.GPU{ID: id, Model: "A", Linked: linked} }
	other := func(id, linked string) simulated.GPU { return simulated.GPU{ID: id, Model: "B", Linked: linked} }
	parts := func(id, linked string) simulated.GPU {
		g := gpu(id, linked)
		g.Parts = []simulated.Part{{ID: "MIG-" + id + "a", Profile: "1g"}, {ID: "MIG-" + id + "b", Profile: "1g"}, {ID: "MIG-" + id + "c", Profile: "2g"}}
		return g
	}
	away := func(g simulated.GPU) simulated.GPU { g.Lost = true; return g }
	for name, test := range map[string]struct {
		gpus []simulated.GPU
		want string
	}{
		"none":                    {[]simulated.GPU{gpu("1", ""), gpu("2", "")}, ""},
		"all":                     {[]simulated.GPU{gpu("1", "x"), gpu("2", "x")}, ""},
		"each alone":              {[]simulated.GPU{gpu("1", "x"), gpu("2", "y")}, ""},
		"two pairs":               {[]simulated.GPU{gpu("1", "x"), gpu("2", "y"), gpu("3", "x"), gpu("4", "y")}, "A: 1,3;2,4"},
		"in the order of the bus": {[]simulated.GPU{gpu("4", "x"), gpu("3", "x"), gpu("2", "y"), gpu("1", "y")}, "A: 3,4;1,2"},
		"a pair and others":       {[]simulated.GPU{gpu("1", "x"), gpu("2", ""), gpu("3", "x"), gpu("4", "y")}, "A: 1,3"},
		"one is lost":             {[]simulated.GPU{gpu("1", "x"), away(gpu("2", "x")), gpu("3", "y"), gpu("4", "y")}, "A: 1,2;3,4"},
		"a group for each model":  {[]simulated.GPU{gpu("1", "x"), gpu("2", "x"), other("3", "y"), other("4", "y")}, ""},
		"two models in one group": {[]simulated.GPU{gpu("1", "x"), gpu("2", "x"), gpu("3", "y"), other("4", "x"), other("5", "y"), other("6", "y")}, "A: 1,2, B: 5,6"},
		"parts are of their GPU":  {[]simulated.GPU{parts("1", "x"), parts("2", "x"), gpu("3", "x"), gpu("4", "y"), gpu("5", "y")}, "A: 4,5, A MIG 1g: MIG-1a,MIG-1b;MIG-2a,MIG-2b"},
		"parts of one GPU":        {[]simulated.GPU{parts("1", "")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, simulated.State{GPUs: test.gpus})
			groups, _, err := b.look()
			if err != nil {
				t.Fatal(err)
			}
			if got := linkedOf(groups); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, g := range groups {
				if err := g.Validate(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestLinkedIsSent: a change of the groups alone is a change of the fingerprint; while the driver does not answer, the groups
// stay; and groups whose text is too long are not sent.
func TestLinkedIsSent(t *testing.T) {
	pairs := simulated.Of(4, "A", 0).InGroups(2).Expand("x")
	b := newBench(t, pairs)
	ch, err := b.Fingerprint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := linkedOf(next(t, ch).Devices)
	if !strings.Contains(first, ";") || strings.Count(first, ",") != 2 {
		t.Errorf("two pairs: %q", first)
	}
	fail := pairs
	fail.Error = "version mismatch"
	b.write(fail)
	if got := linkedOf(next(t, ch).Devices); got != first {
		t.Errorf("while the driver does not answer: %q, before %q", got, first)
	}
	b.write(pairs)
	next(t, ch)
	b.write(simulated.Of(4, "A", 0).Expand("x"))
	if got := linkedOf(next(t, ch).Devices); got != "" {
		t.Errorf("without groups: %q", got)
	}
	b.write(simulated.Of(300, "A", 0).InGroups(4))
	if f := next(t, ch); linkedOf(f.Devices) != "" || len(f.Devices[0].Devices) != 304 {
		t.Errorf("%d GPUs: %q", len(f.Devices[0].Devices), linkedOf(f.Devices))
	}
}
