package policy

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	m, err := New([]string{`.*CUDA out of memory.*`, `^step \d+$`, `(?i)nan`, `^(yes|no)$`})
	if err != nil {
		t.Fatal(err)
	}
	if m.Len() != 4 {
		t.Errorf("Len() = %d", m.Len())
	}
	for line, want := range map[string][]int{
		"RuntimeError: CUDA out of memory. Tried to allocate": {0},
		"step 12":          {1},
		"step 12 of 14":    nil,
		"loss is NaN here": {2},
		"":                 nil,
		"no":               {3},
		`{"log_policies": [{"pattern": ".*CUDA out of memory.*"}]}`:   nil,
		`{'log_policies': [{'pattern': '.*CUDA out of memory.*'}]}`:   nil,
		`{"log_policies_of_mine": "CUDA out of memory"}`:              {0},
		"CUDA out of memory \xff\xfe, which is no valid UTF-8 at all": {0},
	} {
		if got := m.Match(line); !slices.Equal(got, want) {
			t.Errorf("Match(%q) = %v, want %v", line, got, want)
		}
	}
}

func TestInvalid(t *testing.T) {
	if _, err := New([]string{"ok", "("}); err == nil || !strings.Contains(err.Error(), `"("`) {
		t.Errorf("%v: does not name the pattern", err)
	}
}

func TestWordOf(t *testing.T) {
	for pattern, want := range map[string]string{
		`.*uncorrectable ECC error.*`: "uncorrectable ECC error",
		`^(disk full|no space)`:       "",
		`code (\d+) at node-[0-9]+`:   " at node-",
		`(?i)oom`:                     "",
		`(abc)+x?`:                    "abc",
		`(abc)*xy`:                    "xy",
		`(abcdef){2,}`:                "abcdef",
		`(abcdef){0,2}`:               "",
		`.*`:                          "",
		`(`:                           "",
	} {
		if got := wordOf(pattern); got != want {
			t.Errorf("wordOf(%q) = %q, want %q", pattern, got, want)
		}
	}
}

// TestWordsNeverHideMatches: the search for words is a shortcut and nothing else.
func TestWordsNeverHideMatches(t *testing.T) {
	piece := rapid.SampledFrom([]string{"ab", "a", "b", "(ab|c)", "(?:b+c)", "a?", "c{2,3}", "(?i:B)", ".*", "[abc]", "^", "$", "(a(bc))", "x*"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pattern"), "")
		line := rapid.StringMatching(`[abcxB]{0,12}`).Draw(t, "line")
		m, err := New([]string{text})
		if err != nil {
			t.Skip("no pattern")
		}
		if got, want := m.Match(line) != nil, regexp.MustCompile(text).MatchString(line); got != want {
			t.Errorf("%q on %q: %v, and the expression itself matches: %v", text, line, got, want)
		}
	})
}

// BenchmarkMatch is the price of the policies that every cluster has, for a line
// that matches none.
func BenchmarkMatch(b *testing.B) {
	m, err := New([]string{`.*CUDA out of memory.*`, `.*uncorrectable ECC error encountered.*`})
	if err != nil {
		b.Fatal(err)
	}
	line := "epoch 12 step 34567 loss 0.123456 accuracy 0.98765 lr 1.0e-4 examples/s 1234.5 eta 01:23:45 gpu0 mem 12.3GiB"
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if m.Match(line) != nil {
			b.Fatal("the line matched")
		}
	}
}
