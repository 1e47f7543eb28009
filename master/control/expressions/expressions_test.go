package expressions

import (
	"fmt"
	"testing"
)

// TestKeptExpressions: what is kept of expressions is limited, and an invalid one matches nothing.
func TestKeptExpressions(t *testing.T) {
	x := New()
	for i := range 3 * maxKept / keptProgram {
		x.BeginCycle()
		if !x.Match("regexp", fmt.Sprint(i), fmt.Sprintf("^%d$", i)) || x.Match("regexp", "x", fmt.Sprintf("^%d$", i)) || x.Match("regexp", "(", "(") {
			t.Fatal(i)
		}
		if n := len(x.now) + len(x.before); n > 2*maxKept/keptProgram+2 {
			t.Fatalf("%d expressions are kept", n)
		}
	}
	for i := range 3 * maxKept {
		x.BeginCycle()
		x.Match("regexp", fmt.Sprint(i), "7$")
		if n := len(x.now[comparison{"regexp", "7$"}].matches); n > maxKept+maxKeptOne {
			t.Fatalf("%d matches of one expression are kept", n)
		}
	}
}

// TestWorkOfVersions: comparisons of versions count as work, and what they match is kept.
func TestWorkOfVersions(t *testing.T) {
	x := New()
	x.BeginCycle()
	x.Of("eve", false)
	for range 3 {
		if !x.Match("version", "1.4.2", ">= 1.2, < 2") || x.Match("semver", "1.4.2", ">= 2") || x.Match("version", "none", ">= 1.2, < 2") {
			t.Fatal("wrong")
		}
		if want := Work("version", "1.4.2", ">= 1.2, < 2") + Work("semver", "1.4.2", ">= 2") + Work("semver", "none", ">= 1.2, < 2"); x.spent["eve"] != want {
			t.Fatalf("%d is spent, not %d", x.spent["eve"], want)
		}
	}
	for i := range 2 * Share / versionWork {
		x.Match("semver", fmt.Sprint("1.4.", i), ">= 2")
	}
	if x.spent["eve"] > Share || !x.over["eve"] {
		t.Errorf("%d is spent of %d", x.spent["eve"], Share)
	}
	kept := len(x.now[comparison{"semver", ">= 2"}].matches)
	if n := int(Share / Work("version", "1.4.100", ">= 2")); kept < n/2 || kept > 2*n {
		t.Errorf("%d matches are kept, and %d fit into the work", kept, n)
	}
	const late = ">= 3.0.0-with.a.long.end, < 3.0.0-with.a.long.end"
	if x.Match("semver", "1.4.2", late); x.now[comparison{"semver", late}] != nil {
		t.Error("what was left out has an entry")
	}
}
