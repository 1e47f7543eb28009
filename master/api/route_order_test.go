package api

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRoutesInAnyOrder: whatever order routes are registered in, each path with a literal part reaches the route that has it.
func TestRoutesInAnyOrder(t *testing.T) {
	r := newRig(t)
	sorted := sortedRoutes(r.api.routes)
	if len(sorted) < 300 || len(sorted) != len(r.api.routes) {
		t.Fatalf("%d routes of %d", len(sorted), len(r.api.routes))
	}
	found := func(list []route, method, path string) string {
		i := slices.IndexFunc(list, func(x route) bool {
			return x.Method == method && (&pathMethods{pattern: strings.Split(x.Pattern()[1:], "/")}).matches(path)
		})
		return list[i].Pattern()
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // an order
	shuffled := slices.Clone(r.api.routes)
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	shuffled = sortedRoutes(shuffled)
	for i := range sorted {
		x := &sorted[i]
		var parts []string
		for _, part := range strings.Split(x.Pattern(), "/") {
			if vagueness(part) > 0 {
				part = "any"
			}
			parts = append(parts, part)
		}
		path := strings.Join(parts, "/")
		for name, list := range map[string][]route{"in their own order": sorted, "registered in another order": shuffled} {
			if got := found(list, x.Method, path); got != x.Pattern() {
				t.Errorf("%s: %s %s reaches %s, want %s", name, x.Method, path, got, x.Pattern())
			}
		}
	}
}

func TestComparePatterns(t *testing.T) {
	want := []string{"/api/v1/trials", "/api/v1/trials/time-series", "/api/v1/trials/:id", "/api/v1/trials/:id/kill", "/api/v1/trials/:id/:what", "/api/v1/:noun/list", "/*"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, comparePatterns)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
