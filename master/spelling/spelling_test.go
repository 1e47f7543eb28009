package spelling

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"label", "label", 0}, {"lable", "label", 1}, {"labels", "label", 1}, {"lbl", "label", 2},
		{"state", "name", 3}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {strings.Repeat("x", 65), "x", 64},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if Distance(c.a, c.b) != Distance(c.b, c.a) {
			t.Errorf("%q and %q: not the same both ways", c.a, c.b)
		}
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{"1 entry": Count(1, "entry"), "2 entries": Count(2, "entry"), "0 files": Count(int64(0), "file"), "1 memory error": Count(uint64(1), "memory error")} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
