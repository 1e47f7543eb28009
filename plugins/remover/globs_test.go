package main

import (
	"slices"
	"strings"
	"testing"
)

// TestPatternsMeanWhatTheyMeanToPython: a pattern matches the paths that Python's glob, with
// recursive=True, finds in such a folder, and all paths below them.
func TestPatternsMeanWhatTheyMeanToPython(t *testing.T) {
	names := strings.Fields("a.txt b.bin .hid d/ d/x.bin d/.h d/e/ d/e/y.bin d/e/f/ we[i]rd .hd/ .hd/z.bin")
	for _, c := range []struct{ glob, gone string }{
		{`*`, "a.txt b.bin d/ d/.h d/e/ d/e/f/ d/e/y.bin d/x.bin we[i]rd"},
		{`*.bin`, "b.bin"},
		{`**`, ".hd/ .hd/z.bin .hid a.txt b.bin d/ d/.h d/e/ d/e/f/ d/e/y.bin d/x.bin we[i]rd"},
		{`**/*.bin`, "b.bin d/e/y.bin d/x.bin"},
		{`**/*.txt`, "a.txt"},
		{`d`, "d/ d/.h d/e/ d/e/f/ d/e/y.bin d/x.bin"},
		{`d/`, "d/ d/.h d/e/ d/e/f/ d/e/y.bin d/x.bin"},
		{`d/*`, "d/e/ d/e/f/ d/e/y.bin d/x.bin"},
		{`d/**`, "d/ d/.h d/e/ d/e/f/ d/e/y.bin d/x.bin"},
		{`*/`, "d/ d/.h d/e/ d/e/f/ d/e/y.bin d/x.bin"},
		{`a.txt`, "a.txt"},
		{`.*`, ".hd/ .hd/z.bin .hid"},
		{`.hid`, ".hid"},
		{`d/.h`, "d/.h"},
		{`[ab].*`, "a.txt b.bin"},
		{`[!a].*`, "b.bin"},
		{`we[i]rd`, ""},
		{`we[[]i]rd`, "we[i]rd"},
		{`nothing`, ""},
		{`**/e`, "d/e/ d/e/f/ d/e/y.bin"},
		{`*/e/*`, "d/e/f/ d/e/y.bin"},
		{`.hd/*`, ".hd/z.bin"},
		{`?.txt`, "a.txt"},
		{`d//x.bin`, "d/x.bin"},
		{`./a.txt`, "a.txt"},
		{`**/.h`, "d/.h"},
		{`[`, ""},
		{`a.txt/`, ""},
	} {
		got := selected([]string{c.glob}, names)
		slices.Sort(got)
		if strings.Join(got, " ") != c.gone {
			t.Errorf("%s takes %q, want %q", c.glob, strings.Join(got, " "), c.gone)
		}
	}
	if got := selected([]string{"a.txt", "*.bin"}, names); strings.Join(got, " ") != "a.txt b.bin" {
		t.Errorf("two patterns take %q", got)
	}
	if got := selected([]string{"nothing", "**/*"}, names); len(got) != len(names) {
		t.Errorf("**/* takes %q, not everything", got)
	}
	if got := selected(nil, names); len(got) != 0 {
		t.Errorf("no pattern takes %q", got)
	}
}

// TestPatternsAreComparedOnce: the work for a pattern grows with the product of its length and that of the name.
func TestPatternsAreComparedOnce(t *testing.T) {
	pattern, parts, compared := strings.Split(strings.Repeat("**/a/", 20)+"x", "/"), strings.Split(strings.Repeat("a/", 40)+"y", "/"), 0
	if matchesBy(pattern, parts, func(p, name string) bool { compared++; return part(p, name) }) {
		t.Error("the pattern matches")
	}
	if most := len(pattern) * len(parts); compared > most {
		t.Errorf("%d comparisons, want at most %d", compared, most)
	}
}
