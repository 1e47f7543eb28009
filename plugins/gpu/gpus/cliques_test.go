package gpus

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCliques divides machines by their links.
func TestCliques(t *testing.T) {
	cube := "01 02 03 12 13 23 45 46 47 56 57 67 04 15 26 37"
	every := ""
	for i := range 8 {
		for j := range i {
			every += fmt.Sprintf(" %d%d", j, i)
		}
	}
	for name, test := range map[string]struct {
		ids, links, want string
	}{
		"none":                          {"01234567", "", ""},
		"bridges":                       {"0123", "01 23", "01 23"},
		"bridges of some":               {"01234567", "25 67", "25 67"},
		"bridges of GPUs far apart":     {"0123", "02 13", "02 13"},
		"a cube mesh":                   {"01234567", cube, "0123 4567"},
		"a cube mesh in another order":  {"04152637", cube, "0123 4567"},
		"switches":                      {"01234567", every, "01234567"},
		"a cube mesh that lost a GPU":   {"0234567", cube, "4567 023"},
		"a chain, whose ends are apart": {"012", "01 12", "01"},
		"a ring":                        {"0123", "01 12 23 03", "01 23"},
		"nothing":                       {"", "", ""},
	} {
		links := strings.Fields(test.links)
		linked := func(a, b string) bool { return slices.Contains(links, min(a, b)+max(a, b)) }
		var groups []string
		for _, g := range Cliques(strings.Split(test.ids, ""), linked) {
			slices.Sort(g)
			groups = append(groups, strings.Join(g, ""))
		}
		if got := strings.Join(groups, " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestCliquesOfMany divides as many GPUs as a scan reads, in the graph of which the search takes longest.
func TestCliquesOfMany(t *testing.T) {
	var ids []string
	for i := range 24 {
		ids = append(ids, fmt.Sprintf("%02d", i))
	}
	for _, size := range []int{2, 3, 4} {
		steps := 0
		groups := Cliques(ids, func(a, b string) bool {
			steps++
			i, j := slices.Index(ids, a), slices.Index(ids, b)
			return i/size != j/size
		})
		if len(groups) != size || steps > 1_000_000 {
			t.Errorf("all but the next %d: %d groups, %d steps", size, len(groups), steps)
		}
		t.Logf("all but the next %d: %d steps", size, steps)
	}
}
