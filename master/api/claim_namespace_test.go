package api

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/task"
)

// TestClaimsFromElsewhere: a job in the namespace of one pool, or on another node, has
// the name of an attempt of another pool, and still does not get what is the attempt's.
func TestClaimsFromElsewhere(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Namespaces = []string{"default", "team-b"}
		c.Pools = append(c.Pools, pool.Pool{Name: "theirs", Namespace: "team-b"}, pool.Pool{Name: "far", Region: "west"})
	})
	a := r.place(sharedStorage("/shared"), 1)
	for what, change := range map[string]func(*task.Workload){
		"namespace team-b":                  func(w *task.Workload) { w.Namespace = "team-b" },
		"namespace other":                   func(w *task.Workload) { w.Namespace = "other" },
		"node elsewhere":                    func(w *task.Workload) { w.NodeID = "elsewhere" },
		"another namespace or region":       func(w *task.Workload) { w.Region = "west" },
		"namespace default in region south": func(w *task.Workload) { w.Region = "south" },
	} {
		evil := a.identify(0, func(w *task.Workload) { w.NomadAllocID = "another"; change(w) })
		if got := a.claim(0, evil, "p1"); got.code != 403 || !strings.Contains(string(got.body), what) {
			t.Errorf("%s: %d %s", what, got.code, got.body)
		}
	}
	a.claim(0, a.identify(0), "p2").ok()
}
