package expconf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/document"
)

// corpus seeds the fuzzers with every document in testdata.
func corpus(f *testing.F) []string {
	f.Helper()
	var docs []string
	files, err := filepath.Glob("testdata/seeds/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		docs = append(docs, string(src))
	}
	scripts, err := filepath.Glob("testdata/scripts/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range scripts {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range strings.Split(string(src), "\n\n") {
			doc, _, _ := strings.Cut(block, "\n----")
			if _, doc, ok := strings.Cut(doc, "\n"); ok {
				docs = append(docs, doc)
			}
		}
	}
	if len(docs) < 50 {
		f.Fatalf("only %d documents to start from", len(docs))
	}
	return docs
}

// FuzzParse parses arbitrary text. The parser must not panic; each error must have a position and a
// reason; and an accepted configuration must stay the same when it is completed, stored and read.
func FuzzParse(f *testing.F) {
	for _, doc := range corpus(f) {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		raw, warnings, err := Parse("fuzz.yaml", src)
		if err != nil {
			var problems document.Errors
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("%T without problems: %v", err, err)
			}
			checkPlaces(t, problems)
			return
		}
		checkPlaces(t, warnings)
		c, err := Complete(Merge(raw, raw), cluster())
		if err != nil {
			t.Fatal(err)
		}
		back := roundTrip(t, c)
		for _, own := range []bool{true, false} {
			shown, err := c.Shown(own)
			if err != nil {
				t.Fatal(err)
			}
			back, err := ParseConfigJSON(shown)
			if err != nil {
				t.Fatalf("what is shown cannot be read: %v\n%s", err, shown)
			}
			roundTrip(t, back)
		}
		if text, ok := ShownText(string(src)); ok {
			if _, _, err := Parse("shown.yaml", []byte(text)); err != nil {
				t.Fatalf("the shown text cannot be read: %v\n%s", err, text)
			}
		}
		if (c.Validate() == nil) != (back.Validate() == nil) {
			t.Fatalf("valid before: %v\nafter: %v", c.Validate(), back.Validate())
		}
		_ = c.Refused(Capabilities{})
		c.Unhonoured(Capabilities{})
	})
}

func checkPlaces(t *testing.T, problems []document.Problem) {
	t.Helper()
	for i, p := range problems {
		if i == document.MaxProblems { // the line that says how many more there are
			continue
		}
		if p.Line < 1 || p.Column < 1 || p.Message == "" {
			t.Fatalf("no place or reason: %+v", p)
		}
	}
}

// FuzzCommand is FuzzParse for configurations of notebooks, shells, commands and TensorBoards.
func FuzzCommand(f *testing.F) {
	for _, doc := range corpus(f) {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		raw, _, err := ParseCommand("fuzz.yaml", src)
		if err != nil {
			var problems document.Errors
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("%T without problems: %v", err, err)
			}
			checkPlaces(t, problems)
			return
		}
		c, err := CompleteCommand(MergeCommand(raw, raw), CommandDefaults{Description: "x"})
		if err != nil {
			t.Fatal(err)
		}
		commandRoundTrip(t, c)
		_ = c.Validate(true)
	})
}

// FuzzOverrides applies arbitrary overrides to arbitrary documents. The result must be a valid document
// with the value at the path of the override.
func FuzzOverrides(f *testing.F) {
	for _, doc := range corpus(f) {
		f.Add(doc, "resources.slots_per_trial", "2")
	}
	f.Add("{}", "a.b", "1,x,[y")
	f.Add("a: {b: 1}", "a.b", "{x: [1, 'yes', 1e5]}")
	f.Fuzz(func(t *testing.T, src, path, value string) {
		out, err := ApplyOverrides("fuzz.yaml", []byte(src), []string{path + "=" + value})
		if err != nil {
			return
		}
		root, problems := document.Parse("out.yaml", out, document.UserLimits())
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", document.Errors(problems), out)
		}
		key, _, _ := strings.Cut(path+"="+value, "=")
		at := root
		for _, name := range strings.Split(strings.TrimSpace(key), ".") {
			if at = at.Get(name); at == nil {
				t.Fatalf("nothing at %q in\n%s", key, out)
			}
		}
		if again := document.Emit(root); string(again) != string(out) {
			t.Fatalf("writing it again changes it:\n%s\n%s", out, again)
		}
	})
}
