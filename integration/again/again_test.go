package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The fixture is a module whose tests fail in each of the ways that there are. A test that fails only the
// first time leaves a file, so that the second time differs.
var fixture = map[string]string{
	"go.mod": "module example.test/fixture\n\ngo 1.26\n",
	"once/once.go": `// Package once tells a first time from later ones.
package once

import "os"

// First reports whether nobody has asked for the name before.
func First(name string) bool {
	file := os.Getenv("FIXTURE_MARKS") + "/" + name
	_, err := os.Stat(file)
	if os.WriteFile(file, nil, 0o600) != nil {
		panic("no folder for marks")
	}
	return err != nil
}
`,
	"good/a_test.go": test("good", `func TestGood(t *testing.T) { t.Log("nobody reads this") }`),
	"unlucky/a_test.go": test("unlucky", `func TestUnlucky(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		t.Log("the deadline was missed")
		if once.First("unlucky") { t.Fail() }
	})
	t.Run("other", func(t *testing.T) { t.Log("a subtest that passes") })
}
func TestBeside(t *testing.T) { if !once.First("beside") { t.Fatal("only the failed test may run again") } }`),
	"broken/a_test.go":  test("broken", `func TestBroken(t *testing.T) { t.Fatal("one is not two") }`),
	"panics/a_test.go":  test("panics", `func TestPanics(t *testing.T) { if once.First("panics") { panic("out of the blue") } }`+"\nfunc TestZ(t *testing.T) { once.First(\"after the panic\") }"),
	"crashes/a_test.go": test("crashes", `func TestCrashes(t *testing.T) { os.Exit(3) }`),
	"hangs/a_test.go":   test("hangs", `func TestHangs(t *testing.T) { if once.First("hangs") { select {} } }`),
	"leaves/a_test.go":  test("leaves", `func TestLeaves(t *testing.T) { if !once.First("leaves") { t.Skip("not again") }; t.Fail() }`),
	"main/a_test.go":    test("main", `func TestMain(m *testing.M) { m.Run(); if once.First("main") { os.Exit(1) } }`+"\nfunc TestPasses(t *testing.T) {}"),
	"rubble/a_test.go":  test("rubble", `func TestRubble(t *testing.T) { var x int = "no number" }`),
	"empty/empty.go":    "// Package empty has no tests.\npackage empty\n",
}

func test(pkg, body string) string {
	return fmt.Sprintf("package %s\n\nimport (\n\t\"os\"\n\t\"testing\"\n\n\t\"example.test/fixture/once\"\n)\n\nvar _, _ = os.Exit, once.First\n\n%s\n", pkg, body)
}

// A bench is a fixture with a cache of its own.
type bench struct {
	t           *testing.T
	dir, marks  string
	out, errors locked
}

// locked is a buffer for several lanes.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(text)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), marks: t.TempDir()}
	for name, text := range files {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("DETENT_CACHE", t.TempDir())
	t.Setenv(sessionVar, "")
	return b
}

// again runs the command, and returns its error.
func (b *bench) again(args ...string) error {
	b.t.Helper()
	b.out, b.errors = locked{}, locked{}
	err := do(b.t.Context(), args, outputs{&b.out, &b.errors})
	b.t.Logf("again %s: %v\n%s%s", strings.Join(args, " "), err, b.out.String(), b.errors.String())
	return err
}

func (b *bench) goTest(packages ...string) error {
	b.t.Helper()
	args := []string{"go", "-C", b.dir, "-env", "FIXTURE_MARKS=" + b.marks, "-flags", "-timeout 20s -vet=off"}
	for _, p := range packages {
		args = append(args, "./"+p)
	}
	return b.again(args...)
}

// prints fails the test unless all of these are in the output.
func (b *bench) prints(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if !strings.Contains(b.out.String(), text) {
			b.t.Errorf("the output lacks %q", text)
		}
	}
}

func (b *bench) omits(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if strings.Contains(b.out.String(), text) {
			b.t.Errorf("the output has %q", text)
		}
	}
}

func TestATestThatPassesTheSecondTimeIsFlaky(t *testing.T) {
	b := newBench(t, fixture)
	if err := b.goTest("good", "unlucky", "empty"); err != nil {
		t.Fatalf("the run failed: %v", err)
	}
	b.prints("ok  \texample.test/fixture/good\t", "?   \texample.test/fixture/empty\t[no test files]", "--- FAIL: TestUnlucky/sub",
		"the deadline was missed", "FAIL\texample.test/fixture/unlucky\t", "ok  \texample.test/fixture/unlucky\t", "\nFLAKY example.test/fixture/unlucky TestUnlucky (")
	b.omits("nobody reads this", "a subtest that passes", "=== RUN", "TestBeside")
	kept, err := filepath.Glob(filepath.Join(os.Getenv("DETENT_CACHE"), "flaky", "*"))
	if err != nil || len(kept) != 2 {
		t.Fatalf("the folder of flaky tests has %q, %v; want a record and an output, and no folder of a run", kept, err)
	}
	text, err := os.ReadFile(strings.TrimSuffix(kept[0], ".json") + ".log")
	if err != nil {
		text, err = os.ReadFile(kept[0])
	}
	if err != nil || !bytes.Contains(text, []byte("the deadline was missed")) {
		t.Errorf("kept %q, %v; want the output of the failure", text, err)
	}
}

func TestATestThatFailsTwiceFailsTheRun(t *testing.T) {
	b := newBench(t, fixture)
	if err := b.goTest("good", "broken", "unlucky"); err == nil {
		t.Error("the run passed")
	}
	b.prints("FAILED example.test/fixture/broken TestBroken: it failed again", "FLAKY example.test/fixture/unlucky TestUnlucky")
	if n := strings.Count(b.out.String(), "one is not two"); n != 2 {
		t.Errorf("the broken test ran %d times, want 2", n)
	}
}

func TestAPackageWithoutResultsIsRepeatedWhole(t *testing.T) {
	b := newBench(t, fixture)
	if err := b.goTest("panics", "hangs", "main"); err != nil {
		t.Fatalf("the run failed: %v", err)
	}
	b.prints("panic: out of the blue", "panic: test timed out after 20s")
	for _, of := range []string{"panics (the whole package: its process ended before its tests)", "hangs (the whole package: its process ended before its tests)",
		"main (the whole package: it failed and named no test)"} {
		b.prints("FLAKY example.test/fixture/" + of)
	}
	if _, err := os.Stat(filepath.Join(b.marks, "after the panic")); err != nil {
		t.Error("the test behind the one that panicked has never run")
	}
	if err := b.goTest("crashes"); err == nil {
		t.Error("a package whose process always ends passed")
	}
	b.prints("FAILED example.test/fixture/crashes (the whole package")
}

func TestASkippedRepeatIsNoSuccess(t *testing.T) {
	b := newBench(t, fixture)
	if err := b.goTest("leaves"); err == nil {
		t.Error("the run passed")
	}
	b.prints("FAILED example.test/fixture/leaves TestLeaves: its repeat was skipped")
}

func TestWhatDoesNotCompileIsNotRepeated(t *testing.T) {
	b := newBench(t, fixture)
	err := b.goTest("rubble", "unlucky", "good")
	if err == nil || !strings.Contains(err.Error(), "does not compile, so it is not repeated: example.test/fixture/rubble") {
		t.Errorf("error %v, want the package that does not compile", err)
	}
	b.prints(`cannot use "no number"`, "FAIL\texample.test/fixture/rubble [build failed]", "ok  \texample.test/fixture/good", "FLAKY example.test/fixture/unlucky TestUnlucky")
	if n := strings.Count(b.out.String(), `cannot use "no number"`); n != 1 {
		t.Errorf("the package was compiled %d times, want once", n)
	}
}

func TestManyFailuresAreNoBadLuck(t *testing.T) {
	var tests strings.Builder
	for i := range maxRepeats + 1 {
		fmt.Fprintf(&tests, "func TestMany%d(t *testing.T) { if once.First(\"many%d\") { t.Fail() } }\n", i, i)
	}
	b := newBench(t, map[string]string{"go.mod": fixture["go.mod"], "once/once.go": fixture["once/once.go"], "many/a_test.go": test("many", tests.String())})
	if err := b.goTest("many"); err == nil {
		t.Error("the run passed")
	}
	if n := strings.Count(b.out.String(), "FAIL\texample.test/fixture/many"); n != 1 {
		t.Errorf("the package ran %d times, want once", n)
	}
}

// An ending is an output that ends the run when it has printed a text.
type ending struct {
	*locked
	text string
	end  func()
}

func (e ending) Write(text []byte) (int, error) {
	n, err := e.locked.Write(text)
	if strings.Contains(e.String(), e.text) {
		e.end()
	}
	return n, err
}

// What had a result before a run was told to end counts; what had none is named, and has not failed.
func TestAnEndedCallNamesWhatItLeftOut(t *testing.T) {
	b := newBench(t, fixture)
	s := session{t.TempDir()}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	o := options{dir: b.dir, flags: "-vet=off -p=1", env: list{"FIXTURE_MARKS=" + b.marks},
		args: []string{"example.test/fixture/broken", "example.test/fixture/hangs", "example.test/fixture/good"}}
	if err := tests(ctx, "go", o, s, outputs{ending{&b.out, "FAIL\texample.test/fixture/broken", end}, &b.errors}); err == nil {
		t.Error("a call that was ended has no error")
	}
	b.prints("left out: example.test/fixture/hangs example.test/fixture/good\n")
	failures, err := s.failures()
	if err != nil || len(failures) != 1 || failures[0].Test != "TestBroken" {
		t.Errorf("recorded %v, %v; want the failure of TestBroken alone", failures, err)
	}
	said := &raceReports{}
	_, _ = said.Write([]byte(b.out.String()))
	if got, want := said.leftOut(), "no data race in what ended in time; left out: example.test/fixture/hangs example.test/fixture/good"; got != want {
		t.Errorf("the race detector's report is %q, want %q", got, want)
	}
	if got := otherQuarters("race 2") + otherQuarters("race"); got != "; left out: the packages of race 0, race 1, race 3" {
		t.Errorf("the other quarters are %q", got)
	}
}

func TestFlakyTestsAreRepeatedLater(t *testing.T) {
	b := newBench(t, fixture)
	if err := b.goTest("unlucky"); err != nil {
		t.Fatal(err)
	}
	if err := b.again("flaky", "-times", "3"); err != nil {
		t.Error(err)
	}
	b.prints("example.test/fixture/unlucky TestUnlucky: passed 3 of 3 times")
	if err := os.Remove(filepath.Join(b.marks, "unlucky")); err != nil {
		t.Fatal(err)
	}
	if err := b.again("flaky", "-times", "3", "-forget"); err == nil {
		t.Error("a test that failed once more passed")
	}
	b.prints("passed 2 of 3 times")
	if err := b.again("flaky", "-times", "1", "-forget"); err != nil {
		t.Error(err)
	}
	if err := b.again("flaky"); err != nil {
		t.Error(err)
	}
	b.prints("no flaky test is on record")
}

// script makes a command that stands for just: its recipes are shell functions.
func (b *bench) script(recipes string) string {
	path := filepath.Join(b.dir, "just")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nset -e\ncd "+b.dir+"\n"+recipes+"\n\"$@\"\n"), 0o755); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// again is this test's own program, for the recipes of a run.
func TestMain(m *testing.M) {
	if os.Getenv("AGAIN_IS_THE_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestARunRepeatsAtItsEnd(t *testing.T) {
	b := newBench(t, fixture)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	goTest := func(pkg string) string {
		return "AGAIN_IS_THE_PROGRAM=1 " + self + " go -env FIXTURE_MARKS=" + b.marks + " -flags -vet=off ./" + pkg
	}
	just := b.script("build() { echo built; }\nunlucky() { " + goTest("unlucky") + "; }\nbroken() { " + goTest("broken") + "; }\nlint() { echo a linter complains; exit 1; }\n" +
		"good() { " + goTest("good") + "; }\nrace() { echo 'WARNING: DATA'\" RACE\"; exit 1; }\nslow() { exec sleep 60; }\nnothing() { :; }")
	t.Run("flaky", func(t *testing.T) {
		if err := b.again("run", "-early", "nothing", "-before", "build", "-lane", "unlucky,nothing", "-lane", "~good", just); err != nil {
			t.Errorf("the run failed: %v", err)
		}
		out := b.out.String()
		if flaky, good := strings.Index(out, "FLAKY example.test/fixture/unlucky TestUnlucky"), strings.Index(out, "ok  \texample.test/fixture/good"); flaky < good || good < 0 {
			t.Error("the flaky test is not at the end")
		}
		for _, name := range []string{"build", "unlucky", "good", "repeats", "in all"} {
			if !strings.Contains(b.errors.String(), name) {
				t.Errorf("the times lack %s", name)
			}
		}
	})
	t.Run("failed", func(t *testing.T) {
		if err := b.again("run", "-lane", "lint,broken", just); err == nil {
			t.Error("the run passed")
		}
		b.prints("FAILED lint: exit status 1", "FAILED example.test/fixture/broken TestBroken: it failed again")
		if n := strings.Count(b.out.String(), "a linter complains"); n != 1 {
			t.Errorf("the linter ran %d times, want once", n)
		}
	})
	t.Run("race", func(t *testing.T) {
		if err := b.again("run", "-lane", "good", "-race", "race", just); err == nil {
			t.Error("the run passed")
		}
		b.prints("WARNING: DATA RACE", "FAILED race: a data race")
		if err := b.again("run", "-lane", "good", "-race", "race", "-limit", "4m", just); err != nil {
			t.Errorf("without time for the race detector: %v", err)
		}
	})
	t.Run("failed under the detector", func(t *testing.T) {
		if err := b.again("run", "-lane", "nothing", "-race", "broken", just); err == nil {
			t.Error("the run passed")
		}
		b.prints("FAILED example.test/fixture/broken TestBroken, under the race detector: it failed again")
		for _, mark := range []string{"unlucky", "beside"} {
			if err := os.Remove(filepath.Join(b.marks, mark)); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.again("run", "-lane", "nothing", "-race", "unlucky", just); err != nil {
			t.Errorf("a test that passed alone under the detector: %v", err)
		}
		b.prints("FLAKY example.test/fixture/unlucky TestUnlucky")
		if err := b.again("run", "-lane", "nothing", "-race", "lint", just); err == nil {
			t.Error("a race recipe that fails by itself passed")
		}
	})
	t.Run("limit", func(t *testing.T) {
		began := time.Now()
		if err := b.again("run", "-before", "slow", "-lane", "good", "-limit", "4s", just); err == nil {
			t.Error("the run passed")
		}
		b.prints("FAILED slow: ended before its end: the parts of a run of 4s may take 3s")
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("the run took %s", took)
		}
	})
}
