package expconf

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// lines repeats a line, in which %d is its number, up to a size in KB.
func lines(line string, kb int) string {
	var b strings.Builder
	for i := 0; b.Len() < kb<<10; i++ {
		b.WriteString(strings.ReplaceAll(line, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// allocated is what a function allocates in MB, whether or not it is kept.
func allocated(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int((after.TotalAlloc - before.TotalAlloc) >> 20)
}

// TestTheCostOfADocument: hostile documents are rejected before they cost much. The libraries' time shows in what they allocate.
func TestTheCostOfADocument(t *testing.T) {
	key := strings.Repeat("k", 100<<10)
	nested := strings.Repeat("\"k\": {", 20)
	anchors := "a: &a {" + lines("k%d: 1, ", 20) + "}\n"
	for name, x := range map[string]struct{ document, says string }{
		"a long key over many values":           {key + ":\n" + lines(" - a\n", 300), "the names of the values"},
		"a long key over many values, in flow":  {"{? " + key + " : [" + lines("a,", 300) + "a]}", "the names of the values"},
		"a long key over many values, in JSON":  {`{"` + key + `": [` + lines("1,", 300) + "1]}", "the names of the values"},
		"long keys in long keys":                {"data:\n  " + key[:50<<10] + ":\n    " + key[:50<<10] + ":\n" + lines("      k%d: 1\n", 100), "the names of the values"},
		"an alias under many long keys":         {"data:\n  x: &x [" + lines("1,", 40) + "1]\n" + lines("  "+key[:2<<10]+"%d: *x\n", 200), ""},
		"deep JSON with a long key":             {"{" + nested + `"` + key + `": [` + lines("{},", 200) + "{}]" + strings.Repeat("}", 21), "the names of the values"},
		"many explicit keys":                    {lines("? a\n", 500), "more than 10000 keys"},
		"many documents":                        {lines("--- 1\n", 500), "more than 10000 keys"},
		"many empty entries":                    {"a:\n" + lines("-\n", 500), "more than 100000 values"},
		"what is no YAML":                       {lines("@", 500), "'@' is a reserved character"},
		"lists of merges":                       {anchors + "b:\n  <<: [" + lines("*a,", 30) + "*a]\n", "more than 100000 values"},
		"many merges":                           {anchors + "b:\n" + lines("  <<: *a\n", 30), "<< looks at more than"},
		"many keys of which each merges a list": {anchors + "b: &b [" + lines("*a,", 8) + "*a]\n" + lines("m%d: {<<: *b}\n", 30), "more than 100000 values"},
		"few keys of which each merges a list":  {anchors + "b: &b [" + strings.Repeat("*a,", 20) + "*a]\n" + lines("m%d: {<<: *b}\n", 30), "<< looks at more than"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			mb := allocated(func() { _, _, err = Parse("config", []byte(x.document)) })
			if err == nil || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%.300v", err)
			}
			if mb > 400 {
				t.Errorf("%d KB of text allocate %d MB", len(x.document)>>10, mb)
			}
			t.Logf("%d MB", mb)
		})
	}
}
