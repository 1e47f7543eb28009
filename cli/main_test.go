package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/detent-ml/detent/cli/internal/fakemaster"
	"github.com/detent-ml/detent/cli/internal/root"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"det": func() { os.Exit(root.Main()) }})
}

// TestScripts runs det from the outside. The scripts in testdata/script are good
// for any master: with DETENT_TEST_MASTER they run against that one, which must
// have the users of its first day; without it each has a fake one of its own.
// Those in testdata/fake count on what the fake does.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: withMaster(os.Getenv("DETENT_TEST_MASTER"))})
}

// TestScriptsOfTheFake runs the scripts that need the fake master.
func TestScriptsOfTheFake(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/fake", Setup: withMaster(""),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"wait-for": waitFor}})
}

// waitFor waits for a file that a program in the background makes.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: wait-for file")
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	ts.Fatalf("%s did not appear", args[0])
}

func withMaster(address string) func(*testscript.Env) error {
	return func(env *testscript.Env) error {
		if address == "" {
			s := httptest.NewServer(fakemaster.New())
			env.Defer(s.Close)
			address := s.URL
			env.Setenv("DET_MASTER", address)
		} else {
			env.Setenv("DET_MASTER", address)
		}
		env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
		env.Setenv("XDG_CONFIG_HOME", "")
		return nil
	}
}

// BenchmarkStart is how long a person waits before anything happens.
func BenchmarkStart(b *testing.B) {
	det := filepath.Join(b.TempDir(), "det")
	build := exec.Command("go", "build", "-trimpath", "-o", det, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.ResetTimer()
	for b.Loop() {
		if err := exec.Command(det, "--version").Run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/start")
	b.ReportMetric(float64(runtime.NumCPU()), "cores")
}
