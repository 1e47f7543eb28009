package api

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/pool"
)

// TestClaimsFromElsewhere: a job in the namespace of one pool, or on another node, has
// the name of an attempt of another pool, and still does not get what is the attempt's.
func TestClaimsFromElsewhere(t *testing.T) {
	r := newRig(t)
	r.api.cfg.Namespaces = []string{"default", "team-b"}
	r.api.cfg.Pools = append(r.api.cfg.Pools, pool.Pool{Name: "theirs", Namespace: "team-b"}, pool.Pool{Name: "far", Region: "west"})
	a := r.place(sharedStorage("/shared"), 1)
	for what, change := range map[string]func(*Workload){
		"namespace team-b":                  func(w *Workload) { w.Namespace = "team-b" },
		"namespace other":                   func(w *Workload) { w.Namespace = "other" },
		"node elsewhere":                    func(w *Workload) { w.NodeID = "elsewhere" },
		"another namespace or region":       func(w *Workload) { w.Region = "west" },
		"namespace default in region south": func(w *Workload) { w.Region = "south" },
	} {
		evil := a.identify(0, func(w *Workload) { w.NomadAllocID = "another"; change(w) })
		if got := a.claim(0, evil, "p1"); got.code != 403 || !strings.Contains(string(got.body), what) {
			t.Errorf("%s: %d %s", what, got.code, got.body)
		}
	}
	a.claim(0, a.identify(0), "p2").ok()
}
