package pyenv

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/nomad/servers"
)

// fakePython stands in for python3: it makes environments that contain it as their python, records
// what it is asked to install, and fails on request.
const fakePython = `#!/bin/sh
case "$*" in
"-c "*) echo "3.11 fake" ;;
"-m venv "*)
	mkdir -p "$3/bin"
	cp "$0" "$3/bin/python"
	;;
"-m pip install "*)
	[ -z "$FAIL" ] || { echo "no matching distribution" >&2; exit 1; }
	echo "$*" >>"$INSTALLED"
	;;
*) exit 2 ;;
esac
`

func setUp(t *testing.T) (cache, installed string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "python3"), []byte(fakePython), 0o755); err != nil {
		t.Fatal(err)
	}
	cache, installed = t.TempDir(), filepath.Join(t.TempDir(), "installed")
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	t.Setenv("DETENT_CACHE", cache)
	t.Setenv("INSTALLED", installed)
	return cache, installed
}

func TestEnvironmentIsMadeOnce(t *testing.T) {
	_, installed := setUp(t)
	var said bytes.Buffer
	report := servers.NewReporter(&said)
	first, err := Ensure(t.Context(), "x", Set{Requirements: []string{"a==1", "b"}}, report)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Ensure(t.Context(), "x", Set{Requirements: []string{"a==1", "b"}}, report)
	if err != nil || again != first {
		t.Errorf("the second time: %s, %v; expected %s", again, err, first)
	}
	other, err := Ensure(t.Context(), "x", Set{Requirements: []string{"a==2", "b"}}, report)
	if err != nil || other == first {
		t.Errorf("other requirements: %s, %v; expected another environment", other, err)
	}
	text, err := os.ReadFile(installed)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n != 2 {
		t.Errorf("installed %d times, expected twice:\n%s", n, text)
	}
}

func TestHalfMadeEnvironmentIsMadeAnew(t *testing.T) {
	_, installed := setUp(t)
	t.Setenv("FAIL", "1")
	if _, err := Ensure(t.Context(), "x", Set{Requirements: []string{"a"}}, nil); err == nil || !strings.Contains(err.Error(), "no matching distribution") {
		t.Fatalf("error %v, expected pip's message", err)
	}
	t.Setenv("FAIL", "")
	if _, err := Ensure(t.Context(), "x", Set{Requirements: []string{"a"}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(installed); err != nil {
		t.Errorf("Ensure accepted an incomplete environment: %v", err)
	}
}

func TestWithoutPythonTheErrorNamesIt(t *testing.T) {
	setUp(t)
	t.Setenv("PATH", t.TempDir())
	if _, err := Named(t.Context(), "demo", nil); err == nil || !strings.Contains(err.Error(), "apt-get install python3") {
		t.Errorf("error %v, expected the remedy", err)
	}
}

func TestUnknownEnvironmentIsRefused(t *testing.T) {
	if _, err := Named(t.Context(), "nothing", nil); err == nil || !strings.Contains(err.Error(), "compat, demo, fuzz, harness") {
		t.Errorf("error %v, expected those there are", err)
	}
}

// TestWhatPipSaysIsShort: what pip tries again and again is quoted once.
func TestWhatPipSaysIsShort(t *testing.T) {
	said := ""
	for _, left := range []string{"4", "3", "0"} {
		said += "WARNING: Retrying (Retry(total=" + left + ", connect=None, read=None, redirect=None, status=None)) after connection broken by 'no route': /simple/numpy/\n"
	}
	said += "\nERROR: No matching distribution found for numpy\n"
	if got, want := reasons(said), "WARNING: Retrying after connection broken by 'no route': /simple/numpy/\nERROR: No matching distribution found for numpy"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (Set{Alone: []string{"a==1"}, Requirements: []string{"b>=2,<3", "c[x]==1", "d", "e", "f"}}).summary(), "a, b, c, d and 2 more packages"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (Set{Requirements: []string{"numpy>=1.26,<3"}}).summary(); got != "numpy" {
		t.Errorf("%q", got)
	}
}
