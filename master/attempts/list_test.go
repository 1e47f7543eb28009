package attempts_test

import (
	"testing"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
)

// TestNomadPages: links to Nomad's UI are there if the configuration names it, and not otherwise.
func TestNomadPages(t *testing.T) {
	for ui, want := range map[string]string{"": "", "https://nomad.example.org/": "https://nomad.example.org/ui/jobs/det-1-1@ml", "http://n:4646": "http://n:4646/ui/jobs/det-1-1@ml"} {
		d := attempts.Deps{NomadUI: ui, Namespaces: []string{"ml"}}
		if got := d.NomadPage("none", "jobs", "det-1-1@"+d.NamespaceOf("none")); got != want {
			t.Errorf("with %q: %q; want %q", ui, got, want)
		}
	}
	d := attempts.Deps{NomadUI: "http://e", RegionUIs: map[string]string{"west": "http://w/", "north": ""},
		Nodes: nodes.Inventory{Pools: pool.Set{{Name: "west", Region: "west"}, {Name: "north", Region: "north"}}}}
	if got := d.NomadPage("west", "allocations", "x"); got != "http://w/ui/allocations/x?region=west" {
		t.Errorf("in another region: %q", got)
	}
	if got := d.NomadPage("north", "allocations", "x"); got != "" {
		t.Errorf("in a region without a UI: %q", got)
	}
}
