package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// goTests is a call of go test.
type goTests struct {
	dir      string   // "": the current one
	flags    []string // of go test, without -json
	env      []string
	packages []string
}

// An event is what go test -json prints of a test, a package or a build.
type event struct {
	Action, Package, Test, Output, FailedBuild string
	Elapsed                                    float64 // seconds
}

// A testedPackage is a package whose tests run.
type testedPackage struct {
	path      string
	buffers   map[string]*tail // by test; "" is the package's own output. Tests that passed have none
	order     []string
	running   map[string]bool
	failed    []string // tests of the top level
	passed    map[string]bool
	closed    bool // the process has ended as testing ends it
	unbuilt   bool
	settled   bool // the package has a result
	late      bool // it came after the run was told to end, so that it says nothing
	succeeded bool
}

// interruptGrace is how long the tests may take to end after an interrupt.
const interruptGrace = 30 * time.Second

// goResult is what a call of go test found.
type goResult struct {
	failures []failure
	outputs  [][]byte // of each failure
	unbuilt  []string // packages that do not compile
	passed   map[string]bool
	leftOut  []string // packages without a result, because the run was told to end
	err      error    // go test itself did not run to its end
}

// run runs the tests, and prints what go test prints without -json: the output of failed tests, and a line
// for each package.
func (g goTests) run(ctx context.Context, to outputs) goResult {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-json"}, g.flags, g.packages)...)
	cmd.Dir, cmd.Env, cmd.Stderr = g.dir, append(os.Environ(), g.env...), to.err
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = interruptGrace
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return goResult{err: err}
	}
	if err := cmd.Start(); err != nil {
		return goResult{err: fmt.Errorf("cannot start go test: %w", err)}
	}
	all := &reading{ended: func() bool { return ctx.Err() != nil }, to: to.out, verbose: slices.Contains(g.flags, "-v"), packages: map[string]*testedPackage{}}
	readErr := all.read(stdout)
	err = cmd.Wait()
	all.printLongest()
	all.printTurned()
	result := g.judge(all)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		result.leftOut = g.leftOut(all)
		result.err = fmt.Errorf("go test was ended: %w", context.Cause(ctx))
	case readErr != nil:
		result.err = readErr
	case err != nil && !errors.As(err, &exit):
		result.err = err
	case err != nil && len(result.failures) == 0 && len(result.unbuilt) == 0:
		result.err = fmt.Errorf("go test ended with %w and named no failed test", err)
	}
	return result
}

// judge makes the failures from what was read.
func (g goTests) judge(all *reading) goResult {
	result := goResult{passed: map[string]bool{}}
	for _, path := range all.order {
		p := all.packages[path]
		if all.ended() && (!p.settled || p.late) {
			continue // what the end interrupted has not failed
		}
		for test, passed := range p.passed {
			result.passed[path+" "+test] = passed
		}
		switch {
		case p.unbuilt:
			result.unbuilt = append(result.unbuilt, path)
			continue
		case p.settled && p.succeeded:
			result.passed[path+" "] = true
			continue
		}
		tests, why := p.failed, ""
		if !p.closed || len(tests) == 0 {
			tests, why = []string{""}, "its process ended before its tests"
			if p.closed {
				why = "it failed and named no test"
			}
		}
		for _, test := range tests {
			f := failure{Runner: "go", Package: path, Test: test, Why: why, Dir: g.dir, Env: g.env, Command: g.again(path, test)}
			result.failures, result.outputs = append(result.failures, f), append(result.outputs, p.printed(test))
		}
	}
	return result
}

// leftOut returns the packages that have no result from before the end: of those that the call names, and of those that began.
func (g goTests) leftOut(all *reading) (names []string) {
	for _, path := range slices.Concat(g.packages, all.order) {
		if p := all.packages[path]; (p == nil || !p.settled || p.late) && !slices.Contains(names, path) {
			names = append(names, path)
		}
	}
	return names
}

// again is the command that repeats a test, or a whole package, without the cache of results.
func (g goTests) again(path, test string) []string {
	command := slices.Concat([]string{"go", "test"}, g.flags, []string{"-count=1"})
	if test != "" {
		command = append(command, "-run", "^"+regexp.QuoteMeta(test)+"$")
	}
	return append(command, path)
}

// A reading is the state of go test's output.
type reading struct {
	ended    func() bool // whether the run was told to end
	to       io.Writer
	verbose  bool // all output is printed as it arrives
	packages map[string]*testedPackage
	order    []string
	times    []testTime // of tests of the top level
	turned   []string   // tests that another commit runs
}

type testTime struct {
	seconds float64
	test    string
}

// Of a call of go test, the longest tests are printed: as many as listedTests, of at least listedSeconds.
const (
	listedTests   = 15
	listedSeconds = 10
)

func (r *reading) printLongest() {
	slices.SortStableFunc(r.times, func(a, b testTime) int { return cmp.Compare(b.seconds, a.seconds) })
	for i, t := range r.times[:min(len(r.times), listedTests)] {
		if i == 0 {
			fmt.Fprintln(r.to, "the longest tests:")
		}
		fmt.Fprintf(r.to, "  %4.0fs %s\n", t.seconds, t.test)
	}
}

// turnMark begins the reason of a test that another commit runs (nomad/servers/turn).
const turnMark = "not this commit's turn"

func (r *reading) printTurned() {
	if len(r.turned) > 0 {
		fmt.Fprintf(r.to, "left to other commits and to the night: %s\n", strings.Join(r.turned, ", "))
	}
}

// maxEvent is the longest line of go test -json.
const maxEvent = 8 << 20

func (r *reading) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), maxEvent)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action == "" {
			fmt.Fprintln(r.to, lines.Text()) // what a test wrote past the pipe of its tests
			continue
		}
		r.take(e)
	}
	for _, path := range r.order {
		if p := r.packages[path]; !p.settled {
			_, _ = r.to.Write(p.printed(""))
			fmt.Fprintf(r.to, "FAIL\t%s [no result]\n", path)
		}
	}
	if err := lines.Err(); err != nil {
		_, _ = io.Copy(io.Discard, from) // go test must not block
		return fmt.Errorf("cannot read the output of go test: %w", err)
	}
	return nil
}

func (r *reading) take(e event) {
	if e.Package == "" { // of a build
		if e.Action == "build-output" {
			fmt.Fprint(r.to, e.Output)
		}
		return
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &testedPackage{path: e.Package, buffers: map[string]*tail{}, running: map[string]bool{}, passed: map[string]bool{}}
		r.packages[e.Package], r.order = p, append(r.order, e.Package)
	}
	if e.Elapsed >= listedSeconds && e.Test != "" && !strings.Contains(e.Test, "/") {
		r.times = append(r.times, testTime{e.Elapsed, e.Package + " " + e.Test})
	}
	to := r.to
	if r.verbose {
		fmt.Fprint(to, e.Output)
		to = io.Discard
	}
	if e.Test == "" {
		ended := r.ended()
		p.ofPackage(e, to)
		p.late = p.late || p.settled && ended
	} else {
		if e.Action == "skip" && bytes.Contains(p.printed(e.Test), []byte(turnMark)) {
			r.turned = append(r.turned, e.Test)
		}
		p.ofTest(e)
	}
}

// ofTest notes what happened to a test. The output of a test that passed is dropped.
func (p *testedPackage) ofTest(e event) {
	switch e.Action {
	case "run":
		p.running[e.Test] = true
	case "output":
		if !marker(e.Output) {
			p.keep(e.Test, e.Output)
		}
	case "pass", "skip":
		delete(p.running, e.Test)
		delete(p.buffers, e.Test)
		p.passed[e.Test] = e.Action == "pass"
	case "fail":
		delete(p.running, e.Test)
		if top, _, sub := strings.Cut(e.Test, "/"); !sub && !slices.Contains(p.failed, top) {
			p.failed = append(p.failed, top)
		}
	}
}

// ofPackage notes what happened to a package, and prints it when it has ended.
func (p *testedPackage) ofPackage(e event, to io.Writer) {
	switch e.Action {
	case "output":
		p.keep("", e.Output)
		// testing prints this line when all tests have ended and one has failed; a panic does not.
		p.closed = p.closed || e.Output == "FAIL\n" || e.Output == "PASS\n"
		p.unbuilt = p.unbuilt || strings.HasSuffix(e.Output, " [build failed]\n") || strings.HasSuffix(e.Output, " [setup failed]\n")
	case "pass", "skip", "fail":
		p.settled, p.succeeded = true, e.Action != "fail"
		p.unbuilt = p.unbuilt || e.FailedBuild != ""
		p.closed = p.closed && len(p.running) == 0
		if !p.succeeded {
			_, _ = to.Write(p.printed(""))
		} else if own := p.buffers[""]; own != nil {
			fmt.Fprint(to, lastLine(own.kept))
		}
	}
}

func (p *testedPackage) keep(test, output string) {
	if p.buffers[test] == nil {
		p.buffers[test], p.order = &tail{}, append(p.order, test)
	}
	_, _ = p.buffers[test].Write([]byte(output))
}

// printed returns the output of a test with its subtests, or of all that did not pass, and then of the
// package.
func (p *testedPackage) printed(test string) []byte {
	var text []byte
	done := map[string]bool{"": true}
	for _, name := range p.order {
		if b := p.buffers[name]; b != nil && !done[name] && (test == "" || name == test || strings.HasPrefix(name, test+"/")) {
			text = append(text, b.kept...)
		}
		done[name] = true
	}
	if own := p.buffers[""]; own != nil {
		text = append(text, own.kept...)
	}
	return text
}

// marker reports whether a line says only that a test begins, pauses or continues.
func marker(line string) bool {
	return slices.ContainsFunc([]string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "}, func(of string) bool { return strings.HasPrefix(line, of) })
}

// lastLine is the line about a package that passed, as go test prints it.
func lastLine(text []byte) string {
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	return lines[len(lines)-1] + "\n"
}
