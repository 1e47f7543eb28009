package fuzz

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// A plan is what testdata/fuzz.py reads.
type plan struct {
	Base    string           `json:"base"`
	Seed    uint64           `json:"seed"`
	Tries   int              `json:"tries"`   // for each operation and caller that may call it
	Seconds int              `json:"seconds"` // about: a slow machine sends fewer requests, and after three times this it ends
	Callers []caller         `json:"callers"`
	Revive  string           `json:"revive"` // a POST to this address lets callers that a request has shut out sign in again
	Values  map[string][]any `json:"values"`
}

// A caller is a user or program that sends requests.
type caller struct {
	Name     string            `json:"name"`
	Username string            `json:"username"`
	Headers  map[string]string `json:"headers"`
}

// A finding is a line of fuzz.py: an answer that is a defect, or, as the last line, the counts.
type finding struct {
	Kind, Operation, Caller, What, Request string

	Counts  map[string]map[string]int
	Left    int
	Slowest []any
	Never   []string
}

// lengths are the forms of the test: with each change, and in the night.
var lengths = map[string]struct{ tries, seconds int }{"short": {2, 75}, "long": {200, 3 * 3600}}

// TestFuzzAPI sends random requests to each operation as an administrator, an editor, a viewer, a task and
// nobody. No answer is an internal error, none takes half a minute, and no connection or query stays.
// DETENT_FUZZ=long runs for hours; DETENT_FUZZ_SEED repeats the requests of a seed.
func TestFuzzAPI(t *testing.T) {
	python, err := pyenv.Named(t.Context(), "fuzz", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	form := cmp.Or(os.Getenv("DETENT_FUZZ"), "short")
	length, known := lengths[form]
	if !known {
		t.Fatalf("DETENT_FUZZ is %q; expected short or long", form)
	}
	w := newWorld(t)
	p := plan{Base: w.m.Address(), Seed: seed(t), Tries: length.tries, Seconds: length.seconds, Callers: w.callers, Revive: w.revives(), Values: w.values()}
	t.Logf("the seed is %d: just fuzz %s %d repeats these requests", p.Seed, form, p.Seed)
	counts := run(t, python, p)
	w.quiet()
	judge(t, counts)
}

// seed is the one that the environment names, or a random one.
func seed(t *testing.T) uint64 {
	text := os.Getenv("DETENT_FUZZ_SEED")
	if text == "" {
		return uint64(rand.Uint32())
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("DETENT_FUZZ_SEED is %q; expected the number that an earlier run printed", text)
	}
	return n
}

// run sends the requests, reports findings, and returns the counts.
func run(t *testing.T, python string, p plan) finding {
	t.Helper()
	input, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/fuzz.py")
	cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0", "HYPOTHESIS_STORAGE_DIRECTORY="+t.TempDir())
	cmd.Stdin = bytes.NewReader(input)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var last finding
	reported := map[string]bool{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		last = finding{}
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		// One report of an operation is enough.
		if of := last.Kind + last.Operation; last.Kind != "" && !reported[of] {
			reported[of] = true
			t.Errorf("%s as %s: %s: %s\n  %s", last.Operation, last.Caller, last.Kind, last.What, last.Request)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("fuzz.py: %v\n%s", err, problems.Bytes())
	}
	return last
}

// judge checks that the requests were worth sending: random requests that are all rejected test nothing
// but the check of requests.
func judge(t *testing.T, counts finding) {
	t.Helper()
	all, good := 0, 0
	for _, caller := range []string{"admin", "editor", "viewer", "task", "nobody"} {
		total, ok, line := 0, 0, ""
		for _, status := range slices.Sorted(maps.Keys(counts.Counts[caller])) {
			n := counts.Counts[caller][status]
			line += fmt.Sprintf(" %s: %d", status, n)
			if code, err := strconv.Atoi(status); err == nil {
				total += n
				if code/100 == 2 {
					ok += n
				}
			}
		}
		t.Logf("%s: %d answers, %d of them 2xx;%s", caller, total, ok, line)
		if total < 100 {
			t.Errorf("%s got only %d answers", caller, total)
		}
		if caller != "task" && caller != "nobody" { // who may do little
			all, good = all+total, good+ok
		}
	}
	t.Logf("%d of %d answers to users are 2xx; the slowest: %v; operations without one: %d %q", good, all, counts.Slowest, len(counts.Never), counts.Never)
	if good*3 < all {
		t.Errorf("%d of %d answers to users are 2xx, less than a third: values_test.go lacks what requests need", good, all)
	}
	if counts.Left > 0 {
		t.Errorf("%d operations were left out because the time had ended", counts.Left)
	}
}
