package rest

import (
	"cmp"
	"slices"
	"strings"
)

// The router uses the first route that matches, so that /trials/time-series must come before /trials/:id. Nobody has to think of this
// order: routes are sorted once, before the router gets them.

// Sorted returns the routes with literal parts of a path before parameters, and parameters before *.
func Sorted(routes []*Route) []*Route {
	sorted := slices.Clone(routes)
	slices.SortStableFunc(sorted, func(a, b *Route) int { return comparePatterns(a.Pattern(), b.Pattern()) })
	return sorted
}

func comparePatterns(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(x), len(y)) {
		if c := cmp.Compare(vagueness(x[i]), vagueness(y[i])); c != 0 {
			return c
		}
		if vagueness(x[i]) == 0 && x[i] != y[i] {
			return cmp.Compare(x[i], y[i])
		}
	}
	return cmp.Compare(len(x), len(y))
}

// vagueness is 0 for a literal part of a pattern, 1 for a parameter, and 2 for *, which matches any number of parts.
func vagueness(part string) int {
	switch {
	case part == "*":
		return 2
	case strings.HasPrefix(part, ":"):
		return 1
	}
	return 0
}
