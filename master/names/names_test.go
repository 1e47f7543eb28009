package names

import (
	"strings"
	"testing"
)

func TestProblem(t *testing.T) {
	for name, c := range map[string]struct {
		name string
		most int
		want string
	}{
		"a name":            {"résumé 実験 🧪 'x' \"y\" <b>, %s", MaxText, ""},
		"50,000 characters": {strings.Repeat("🧪", 50_000), MaxText, ""},
		"as long as may be": {strings.Repeat("n", MaxUnique), MaxUnique, ""},
		"one byte more":     {strings.Repeat("n", MaxUnique+1), MaxUnique, "has 2601 bytes, over the limit of 2600"},
		"blanks":            {" \t", MaxText, "is empty"},
		"two lines":         {"a\nb", MaxText, "must be one line without control characters"},
		"an escape":         {"a\x1b[2Jb", MaxText, "must be one line without control characters"},
		"a C1 control":      {"a\u009bb", MaxText, "must be one line without control characters"},
		"NUL":               {"a\x00b", MaxText, "must be one line without control characters"},
		"no text":           {"a\xffb", MaxText, "contains bytes that are not UTF-8 text"},
	} {
		if got := Problem(c.name, c.most); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestLabelProblem(t *testing.T) {
	list := func(n, length int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = strings.Repeat("l", length)
		}
		return out
	}
	for name, c := range map[string]struct {
		labels []string
		at     int
		want   string
	}{
		"none":                {nil, 0, ""},
		"a long one":          {[]string{strings.Repeat("🧪", 2000)}, 0, ""},
		"many":                {list(MaxLabels, MaxText/MaxLabels), 0, ""},
		"too many":            {list(MaxLabels+1, 1), -1, "has 2001 labels, over the limit of 2000"},
		"too much together":   {list(1025, 256), -1, "has labels of 262400 bytes together, over the limit of 262144"},
		"a wrong one of many": {[]string{"a", "", "b"}, 1, "is empty"},
	} {
		if at, got := LabelProblem(c.labels); at != c.at || got != c.want {
			t.Errorf("%s: %d %q, want %d %q", name, at, got, c.at, c.want)
		}
	}
}
