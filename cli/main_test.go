package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/detent-ml/detent/cli/internal/root"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/server/servertest"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"det": func() { os.Exit(root.Main()) }})
}

// TestScripts runs det from the outside. The scripts in testdata/script are good
// for any master: with DETENT_TEST_MASTER they run against that one, which must
// have the users of its first day; without it they share one.
// Those in testdata/played count on what servertest's programs do.
func TestScripts(t *testing.T) {
	t.Parallel()
	address := os.Getenv("DETENT_TEST_MASTER")
	if address == "" {
		address = servertest.Start(t, nil).URL
	}
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: withMaster(address)})
}

// TestPlayedScripts runs the scripts whose tasks run servertest.Play.
func TestPlayedScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/played", Setup: withMaster(""), Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"wait-for": waitFor, "wait-deleted": waitDeleted, "wait-phase": waitPhase, "wait-attempt": waitAttempt, "wait-column": waitColumn, "let": let, "cmptimes": compareTimes, "seed": seed, "no-links": noLinks}})
}

// TestRoleScripts runs the scripts that need a master with roles.
func TestRoleScripts(t *testing.T) {
	t.Parallel()
	address := servertest.StartWithRoles(t, nil).URL
	testscript.Run(t, testscript.Params{Dir: "testdata/roles", Setup: withMaster(address)})
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

// waitDeleted waits until there is no experiment of an ID any more.
func waitDeleted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: wait-deleted id")
	}
	id, err := strconv.Atoi(args[0])
	ts.Check(err)
	m := masterOf(ts)
	c := m.Client("determined")
	m.Until("the end of a deletion", func() bool {
		_, err := client.Call(m.Context(), c, v1.GetExperiment, id)
		return fault.Is(err, fault.NotFound)
	})
}

// waitPhase waits until a generic task is in a state.
func waitPhase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wait-phase task STATE")
	}
	m := masterOf(ts)
	m.Until(args[0]+" is "+args[1], func() bool {
		k, err := tasks.Get(m.Context(), m.DB, args[0])
		return err == nil && k.Phase == args[1]
	})
}

// waitAttempt waits until an attempt holds resources.
func waitAttempt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: wait-attempt id")
	}
	m := masterOf(ts)
	m.Until(args[0]+" runs", func() bool {
		var there bool
		err := m.DB.QueryRow(m.Context(), `SELECT EXISTS (SELECT FROM allocations WHERE id = $1 AND ended_at IS NULL)`, args[0]).Scan(&there)
		return err == nil && there
	})
}

// waitColumn waits until the master knows a column of experiments: it summarizes reports shortly after they arrive.
func waitColumn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: wait-column name")
	}
	m := masterOf(ts)
	c := m.Client("determined")
	m.Until("there is a column "+args[0], func() bool {
		columns, err := c.Columns(m.Context())
		return err == nil && slices.ContainsFunc(columns, func(x v1.ProjectColumn) bool { return strings.HasPrefix(x.Column, args[0]) })
	})
}

// let sets a variable to the first group of a pattern in what the last command said.
func let(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: let NAME pattern")
	}
	found := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("no %s in\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], found[1])
}

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+0000`)

// compareTimes compares two files, in which all times are the same.
func compareTimes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cmptimes file file")
	}
	const now = "2026-11-20 12:00:00+0000"
	got, want := moment.ReplaceAllString(ts.ReadFile(args[0]), now), moment.ReplaceAllString(ts.ReadFile(args[1]), now)
	if got != want {
		ts.Fatalf("%s and %s differ: got\n%swant\n%s", args[0], args[1], got, want)
	}
}

// seed makes a command with an ID of the script's choice, which no request can choose.
func seed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: seed id")
	}
	m := masterOf(ts)
	_, err := tasks.Create(m.Context(), m.DB, tasks.New{ID: args[0], Type: "COMMAND", OwnerID: 2, WorkspaceID: 1, Name: "seeded",
		Config: []byte(`{"description":"seeded","entrypoint":["true"]}`), Pool: "default", Priority: 42})
	ts.Check(err)
}

// noLinks makes the master answer without links to tasks, as Determined's does.
func noLinks(ts *testscript.TestScript, _ bool, _ []string) {
	masterOf(ts).Front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/link") {
			return false
		}
		http.NotFound(w, r)
		return true
	})
}

// theMaster is the key of a script's master.
type theMaster struct{}

func masterOf(ts *testscript.TestScript) *servertest.Master {
	return ts.Value(theMaster{}).(*servertest.Master)
}

func withMaster(address string) func(*testscript.Env) error {
	return func(env *testscript.Env) error {
		if address == "" {
			m := servertest.Start(env.T().(testing.TB), nil)
			env.Values[theMaster{}] = m
			env.Setenv("DET_MASTER", m.URL)
		} else {
			env.Setenv("DET_MASTER", address)
		}
		env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
		env.Setenv("XDG_CONFIG_HOME", "")
		return nil
	}
}

// TestStartSaysWhatItWaitsFor: a notebook waits for slots, and is opened when they are free.
func TestStartSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	m := servertest.Start(t, nil)
	c := m.Client("determined")
	holds, err := client.Send(t.Context(), c, v1.CreateNotebook, v1.LaunchNotebookRequest{Config: v1.Struct(`{"resources":{"slots":2}}`)})
	if err != nil {
		t.Fatal(err)
	}
	a, out, said := listened(t, m)
	status := make(chan int, 1)
	go func() {
		status <- root.Run(t.Context(), a, []string{"notebook", "start", "--no-browser", "--config", "resources.slots=1"})
	}()
	m.Until("the reason why it waits", func() bool {
		return strings.Contains(said.String(), "Queued: needs 1 slot; all 2 of pool default are in use; its owner holds slots there with notebook ")
	})
	if err := client.Act(t.Context(), c, v1.KillNotebook, holds.Notebook.ID); err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != 0 || !strings.Contains(out.String(), "Jupyter Notebook is running at: "+m.URL+"/proxy/") {
		t.Errorf("status %d: %s\n%s", got, out, said)
	}
}

// BenchmarkStart measures the start of det.
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
