package api

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/rest"
)

// TestRoutesInAnyOrder: whatever order routes are registered in, each path with a literal part reaches the route that has it.
func TestRoutesInAnyOrder(t *testing.T) {
	r := newRig(t)
	sorted := rest.Sorted(r.api.router.Routes())
	if len(sorted) < 300 || len(sorted) != len(r.api.router.Routes()) {
		t.Fatalf("%d routes of %d", len(sorted), len(r.api.router.Routes()))
	}
	found := func(list []*rest.Route, method, path string) string {
		i := slices.IndexFunc(list, func(x *rest.Route) bool {
			return x.Method == method && matches(x.Pattern(), path)
		})
		return list[i].Pattern()
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // an order
	shuffled := slices.Clone(r.api.router.Routes())
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	shuffled = rest.Sorted(shuffled)
	for i := range sorted {
		x := sorted[i]
		var parts []string
		for _, part := range strings.Split(x.Pattern(), "/") {
			if part == "*" || strings.HasPrefix(part, ":") {
				part = "any"
			}
			parts = append(parts, part)
		}
		path := strings.Join(parts, "/")
		for name, list := range map[string][]*rest.Route{"in their own order": sorted, "registered in another order": shuffled} {
			if got := found(list, x.Method, path); got != x.Pattern() {
				t.Errorf("%s: %s %s reaches %s, want %s", name, x.Method, path, got, x.Pattern())
			}
		}
	}
}

// matches reports whether a pattern has a path.
func matches(pattern, path string) bool {
	parts, given := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, part := range parts {
		if part == "*" {
			return true
		}
		if i >= len(given) || !strings.HasPrefix(part, ":") && part != given[i] {
			return false
		}
	}
	return len(parts) == len(given)
}
