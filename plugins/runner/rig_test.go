//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/auth"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/fakemaster"
)

const (
	nomadAlloc = "6f1d3c2a-0000-4000-8000-000000000001"
	shipper    = nomadAlloc + "/0"
	identity   = "header.claims.signature" // of the workload
	deadline   = 30 * time.Second
)

// TestMain makes the test binary be det-runner, and the programs that it runs,
// when it is started as one of them.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "det" {
		os.Exit(det(os.Args[1:]))
	}
	if len(os.Args) > 1 {
		if program, ok := programs[os.Args[1]]; ok {
			os.Exit(program(os.Args[2:]))
		}
		if !strings.HasPrefix(os.Args[1], "-test.") {
			os.Exit(command(os.Args[1:]))
		}
	}
	os.Exit(m.Run())
}

// programs are the programs of the tests' tasks.
var programs = map[string]func([]string) int{
	"program:get": getProgram,
}

// getProgram asks DET_MASTER for paths, as a harness would, and prints the answers.
func getProgram(paths []string) int {
	for _, path := range paths {
		method, rest, _ := strings.Cut(path, " ")
		url, body, _ := strings.Cut(rest, " ")
		req, err := http.NewRequest(method, os.Getenv("DET_MASTER")+url, strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		req.Header.Set("Grpc-Metadata-x-allocation-token", "Bearer "+os.Getenv("DET_SESSION_TOKEN"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		content, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Printf("%d %s\n", resp.StatusCode, strings.TrimSpace(string(content)))
	}
	return 0
}

// A rig is a node with one Nomad allocation on it.
type rig struct {
	spec    v1.TaskSpec
	t       testing.TB
	state   *fakemaster.State
	master  *fakemaster.Master
	self    string
	root    string // of the allocation's folders
	env     []string
	wrap    []string // put before the runner's command line
	cred    *syscall.Credential
	extra   []*os.File // that the runner inherits
	outputs *os.File   // instead of buffers
}

// sh makes a task out of a shell script.
func sh(script string) v1.TaskSpec {
	return v1.TaskSpec{
		TaskID: "7.trial", AllocationID: "7.trial.1", TaskType: "TRIAL", Members: 1, Slots: 1, SlotIDs: []int{0},
		Entrypoint: []string{script}, Shell: true, StopGraceSecs: 5,
		Env: map[string]string{"DET_CLUSTER_ID": "c1", "DET_USER": "ada", "DET_USER_TOKEN": "det.user"},
	}
}

func newRig(t testing.TB, spec v1.TaskSpec) *rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, spec: spec, state: fakemaster.NewState(spec), self: self, root: t.TempDir()}
	r.master = fakemaster.Start(t, r.state)
	for _, dir := range []string{"alloc", "main/local", "main/secrets"} {
		if err := os.MkdirAll(filepath.Join(r.root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/tmp",
		"DET_ALLOCATION_ID=" + spec.AllocationID, "DET_RANK=0", "DET_MASTERS=" + r.master.URL(), "DET_NODE_NAME=node-7",
		"NOMAD_ALLOC_ID=" + nomadAlloc, "NOMAD_ALLOC_DIR=" + r.path("alloc"), "NOMAD_TASK_DIR=" + r.path("main/local"),
		"NOMAD_SECRETS_DIR=" + r.path("main/secrets"), "NOMAD_HOST_IP_runner=10.1.2.3", "NOMAD_HOST_PORT_c10d=29123",
		"NOMAD_TOKEN_det=" + identity, "NOMAD_TOKEN=nomad-secret", "VAULT_TOKEN=vault-secret", "CONSUL_HTTP_TOKEN=consul-secret",
	}
	return r
}

func (r *rig) path(parts ...string) string {
	return filepath.Join(append([]string{r.root}, parts...)...)
}

func (r *rig) write(path, content string) {
	r.t.Helper()
	if err := os.WriteFile(r.path(path), []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// A proc is a runner that was started.
type proc struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdout *buffer
	stderr *buffer
	done   chan struct{}
	code   int
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts the runner as Nomad would.
func (r *rig) start(verb string, env ...string) *proc {
	r.t.Helper()
	argv := append(append([]string{}, r.wrap...), r.self, verb)
	p := &proc{t: r.t, cmd: exec.Command(argv[0], argv[1:]...), stdout: &buffer{}, stderr: &buffer{}, done: make(chan struct{})}
	p.cmd.Env = append(append([]string{}, r.env...), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if r.outputs != nil {
		p.cmd.Stdout, p.cmd.Stderr = r.outputs, r.outputs
	}
	p.cmd.ExtraFiles = r.extra
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: r.cred}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		p.code = p.cmd.ProcessState.ExitCode()
		close(p.done)
	}()
	r.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if r.t.Failed() {
			r.t.Logf("stdout of %s:\n%s\nstderr of %s:\n%s", verb, p.stdout, verb, p.stderr)
		}
	})
	return p
}

// wait waits for the runner's end and gives its exit status.
func (p *proc) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.code
	case <-time.After(deadline):
		p.t.Fatalf("the runner did not end within %s", deadline)
		return 0
	}
}

func (p *proc) expect(code int) {
	p.t.Helper()
	if got := p.wait(); got != code {
		p.t.Fatalf("exit status %d, want %d\n%s", got, code, p.stderr)
	}
}

// run runs the task to its end.
func (r *rig) run(code int, env ...string) *proc {
	r.t.Helper()
	p := r.start("run", env...)
	p.expect(code)
	return p
}

// eventually polls until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	timeout := time.After(deadline)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-timeout:
			t.Fatalf("waited %s in vain until %s", deadline, what)
		case <-tick.C:
		}
	}
}

// exit gives the one exit report.
func (r *rig) exit() v1.MemberExitRequest {
	r.t.Helper()
	list := r.state.Exits()
	if len(list) != 1 {
		r.t.Fatalf("%d exit reports, want 1: %+v", len(list), list)
	}
	return list[0]
}

// printed gives what the program printed, as the master has it.
func (r *rig) printed() []string { return r.state.Lines(shipper, "task") }

// recorded is the record of the exit in the allocation's folder; empty if there is none.
func (r *rig) recorded() v1.MemberExitRequest {
	r.t.Helper()
	content, err := os.ReadFile(r.path("alloc", leftover.Folder, leftover.RecordFile))
	if err != nil {
		return v1.MemberExitRequest{}
	}
	record, err := leftover.Open(auth.HashToken(fakemaster.Token), content, r.spec.AllocationID, 0, nomadAlloc)
	if err != nil {
		r.t.Fatal(err)
	}
	return record.Exit
}

// left is the record of the exit in the allocation's folder, which must be there.
func (r *rig) left() v1.MemberExitRequest {
	r.t.Helper()
	e := r.recorded()
	if e.ExitCode == 0 && e.Reason == "" && !e.Stopped {
		r.t.Fatal("there is no record of the exit")
	}
	return e
}

// leftLines gives the master the lines in the allocation's folder, as a master reads them.
func (r *rig) leftLines() {
	r.t.Helper()
	files, _ := filepath.Glob(r.path("alloc", leftover.Folder, leftover.LogFolder, "*"+leftover.LogSuffix))
	slices.Sort(files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			r.t.Fatal(err)
		}
		for text := range strings.Lines(string(content)) {
			line, err := leftover.ParseLine([]byte(strings.TrimSuffix(text, "\n")))
			if err != nil {
				r.t.Fatal(err)
			}
			r.state.Take(v1.LogBatch{Shipper: shipper, First: line.Number, Lines: []v1.LogLine{line.Wire()}})
		}
	}
}

func (r *rig) expectPrinted(want ...string) {
	r.t.Helper()
	got := r.printed()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.t.Fatalf("printed\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// said reports whether the runner's own lines hold a text.
func (r *rig) said(text string) bool {
	return strings.Contains(strings.Join(r.state.Lines(shipper, "runner"), "\n"), text)
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}
