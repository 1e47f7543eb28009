package rest

import (
	"slices"
	"testing"
)

func TestComparePatterns(t *testing.T) {
	want := []string{"/api/v1/trials", "/api/v1/trials/time-series", "/api/v1/trials/:id", "/api/v1/trials/:id/kill", "/api/v1/trials/:id/:what", "/api/v1/:noun/list", "/*"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, comparePatterns)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
