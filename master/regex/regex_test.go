package regex

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

func TestCompile(t *testing.T) {
	for _, good := range []string{``, `CUDA out of memory`, `.*uncorrectable ECC error.*`, `^gpu-[0-9]{1,3}$`, `(?i)loss=(nan|inf)`, `(\d+\.){3}\d+`, strings.Repeat("x", MaxLength)} {
		if e, err := Compile(good); err != nil || e.String() != good {
			t.Errorf("%.40q: %v", good, err)
		}
	}
	for _, bad := range []string{
		`^|` + strings.Repeat(`(a?){999}`, 450), `^|` + strings.Repeat(`(?:.{999})`, 400), `(x{30}){30}y{999}{1}` + `(z{999}){1}(z{999}){1}(z{999}){1}(z{999}){1}`,
		`^|` + strings.Repeat(`[^\pL\pN]{900}`, 290), strings.Repeat("x", MaxLength+1), `(`, `a{1001}`, strings.Repeat("(", 2000) + strings.Repeat(")", 2000),
	} {
		if _, err := Compile(bad); err == nil {
			t.Errorf("%.40q is accepted", bad)
		}
	}
}

// FuzzCompile: no program is much larger than was counted.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{`(a?){999}`, `[^\pL]{9,}`, `x|y*|(?i)\PN{2,7}`, `((a{5}){5}){5}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := Compile(s)
		if err != nil {
			return
		}
		parsed, err := syntax.Parse(s, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if len(prog.Inst) > 4*maxProgram {
			t.Errorf("%q has %d instructions", s, len(prog.Inst))
		}
		if _, err := regexp.Compile(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
		e.MatchString("some text 123")
	})
}

// TestWorkOfOneMatch: a match cannot be interrupted, so a large program searches less of a long text.
func TestWorkOfOneMatch(t *testing.T) {
	for _, text := range []string{"x", "(.?){900}[qz]$", "(a|b|c){50}", "[a-z]+ out of memory.*"} {
		e, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if n := size(parsed); e.within > maxSearched || e.within*n > maxWork || e.within < maxWork/maxProgram && e.within < maxSearched {
			t.Errorf("%s with %d steps searches %d bytes", text, n, e.within)
		}
	}
	e, err := Compile("needle")
	if err != nil {
		t.Fatal(err)
	}
	hay := strings.Repeat("a", maxSearched-len("needle"))
	if !e.MatchString(hay+"needle and more") || e.MatchString(hay+"aneedle") {
		t.Error("a short expression searches 64 KB of a text")
	}
	if _, err := CompileWithin("(.?){100}", 50); err == nil || !strings.Contains(err.Error(), "at most 50") {
		t.Errorf("beyond its own limit: %v", err)
	}
}
