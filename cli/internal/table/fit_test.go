package table_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/cli/internal/table"
)

// TestFit: long texts are shortened before columns are removed, and a table that fits stays.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		width int
		left  []string
		fits  bool
		has   string
	}{
		{400, nil, true, strings.Repeat("n", 146)},
		{120, nil, true, "n…"},
		{70, []string{"Parent ID"}, true, "n…"},
		{10, []string{"Parent ID", "Ended"}, false, "nnnnnnnnnnn…"},
	} {
		tab := table.New("ID", "Name", "Parent ID", "Started", "Ended", "Pool")
		tab.Shrink("Name", "Pool")
		tab.Optional("Parent ID", "Ended", "Missing")
		tab.Row(1, strings.Repeat("n", 146), 7, "2022-10-05", "2022-10-05", "default")
		tab.Row(2, "日本語のとても長い名前の実験です", nil, "2022-10-05", nil, "a-pool-with-a-long-name")
		left := tab.Fit(c.width)
		var b strings.Builder
		if err := tab.Write(&b); err != nil {
			t.Fatal(err)
		}
		widest := 0
		for line := range strings.Lines(b.String()) {
			widest = max(widest, table.Width(strings.TrimRight(line, "\n")))
		}
		if !slices.Equal(left, c.left) || widest <= c.width != c.fits || !strings.Contains(b.String(), c.has) {
			t.Errorf("width %d: %d columns, without %v:\n%s", c.width, widest, left, b.String())
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}} {
		if got := table.Cut(c.text, c.width); got != c.want {
			t.Errorf("%s at %d: %s, want %s", c.text, c.width, got, c.want)
		}
	}
}
