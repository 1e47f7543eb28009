//go:build linux

package attempt

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/auth"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/masters"
)

var complete = []string{
	"DET_ALLOCATION_ID=7.trial.1", "DET_RANK=2", "DET_MASTERS=http://a:8080, http://b:8080,", "DET_MASTERS_FILE=/local/masters",
	"NOMAD_ALLOC_ID=x", "NOMAD_ALLOC_DIR=/opt/alloc", "NOMAD_TASK_DIR=/opt/local", "NOMAD_SECRETS_DIR=/opt/secrets",
}

func TestReadNomadTask(t *testing.T) {
	p, err := ReadNomadTask(t.Context(), append([]string{"NOMAD_PORT_c10d=1", "NOMAD_HOST_PORT_c10d=2", "NOMAD_PORT_runner=3", "NOMAD_HOST_IP_c10d=10.0.0.9", "NOMAD_IP_c10d=172.17.0.2"}, complete...))
	if err != nil {
		t.Fatal(err)
	}
	if p.Rank != 2 || p.Address != "10.0.0.9" || p.Ports["c10d"] != 2 || p.Ports["runner"] != 3 || p.PrivateRoot ||
		len(p.Masters.URLs) != 2 || p.Masters.URLs[1] != "http://b:8080" || p.Masters.File != "/local/masters" || p.NodeName == "" {
		t.Fatalf("%+v", p)
	}
	p, err = ReadNomadTask(t.Context(), append(complete, "NOMAD_ALLOC_DIR=/alloc", "DET_NODE_ADDRESS=192.168.0.1", "NOMAD_IP_x=10.0.0.1", "DET_NODE_NAME=n1"))
	if err != nil || !p.PrivateRoot || p.Address != "192.168.0.1" || p.NodeName != "n1" {
		t.Fatalf("%+v %v", p, err)
	}
	if p, err = ReadNomadTask(t.Context(), append(complete, "DET_MASTERS=http://127.0.0.1:8080")); err != nil || p.Address != "127.0.0.1" {
		t.Fatalf("an address towards the master was not found: %+v %v", p, err)
	}
	_, err = ReadNomadTask(t.Context(), []string{"DET_RANK=-1"})
	for _, name := range []string{"DET_ALLOCATION_ID", "NOMAD_ALLOC_DIR", "NOMAD_TASK_DIR", "NOMAD_SECRETS_DIR", "NOMAD_ALLOC_ID", `DET_RANK is "-1"`} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

func TestRelocate(t *testing.T) {
	there := layout{runDir: runDir, physical: "/task/run"}
	moved := layout{runDir: "/task/run", physical: "/task/run"}
	for _, c := range []struct {
		path, there, moved string
		node               string // "" for outside
	}{
		{"/run/determined", "/run/determined", "/task/run", "/task/run"},
		{"/run/determined/info/x.json", "/run/determined/info/x.json", "/task/run/info/x.json", "/task/run/info/x.json"},
		{"data", "/run/determined/workdir/data", "/task/run/workdir/data", "/task/run/workdir/data"},
		{"../../info/x", "/run/info/x", "/run/info/x", ""},
		{"/run/determined/../x", "/run/x", "/run/x", ""},
		{"/run/determined2", "/run/determined2", "/run/determined2", ""},
		{"/data/", "/data", "/data", ""},
	} {
		if got := there.relocate(c.path); got != c.there {
			t.Errorf("%s: %s, want %s", c.path, got, c.there)
		}
		if got := moved.relocate(c.path); got != c.moved {
			t.Errorf("%s moved: %s, want %s", c.path, got, c.moved)
		}
		got, ok := there.onNode(c.path)
		if ok != (c.node != "") || got != c.node {
			t.Errorf("%s on the node: %q %v, want %q", c.path, got, ok, c.node)
		}
	}
}

func TestPortVariable(t *testing.T) {
	for label, want := range map[string]string{
		"runner": "", "c10d": "C10D_PORT", "c10d_port": "C10D_PORT", "dtrain_ssh": "DTRAIN_SSH_PORT", "dtrain-ssh-port": "DTRAIN_SSH_PORT",
		"comm1": "INTER_TRAIN_PROCESS_COMM_PORT_1", "comm_2": "INTER_TRAIN_PROCESS_COMM_PORT_2", "my_port_7": "MY_PORT_7",
	} {
		if got := portVariable(label); got != want {
			t.Errorf("%s: %s, want %s", label, got, want)
		}
	}
}

func TestWhatRefusalsMean(t *testing.T) {
	for _, c := range []struct {
		r     masters.Refusal
		final bool
	}{
		{masters.Refusal{Status: 409}, true},
		{masters.Refusal{Status: 404, Ours: true}, true},
		{masters.Refusal{Status: 404}, false}, // a stranger on the master's old port
		{masters.Refusal{Status: 401, Ours: true}, false},
		{masters.Refusal{Status: 500, Ours: true}, false},
	} {
		if got := final(&c.r); got != c.final {
			t.Errorf("claim, %+v: final %v", c.r, got)
		}
	}
	for _, c := range []struct {
		status, tries int
		over          bool
		want          error
	}{
		{401, 1, false, nil}, {401, 1, true, logs.ErrOver}, {404, 99, false, nil}, {409, 1, true, logs.ErrOver},
		{429, 99, true, nil}, {415, 1, false, nil}, {415, 2, false, logs.ErrRefused},
		{400, 1, false, logs.ErrRefused}, {413, 1, false, logs.ErrRefused}, {500, 1, false, nil}, {500, defects, false, logs.ErrRefused},
	} {
		if got := judge(&masters.Refusal{Status: c.status}, c.tries, c.over); !errors.Is(got, c.want) {
			t.Errorf("lines, %+v: %v", c, got)
		}
	}
}

func TestARefusedExitIsReportedAgain(t *testing.T) {
	for _, c := range []struct {
		r     masters.Refusal
		tries int
		over  bool
		again bool
	}{
		{masters.Refusal{Status: 409, Ours: true}, 1, false, false},
		{masters.Refusal{Status: 401, Ours: true}, 1, false, false},
		{masters.Refusal{Status: 500, Ours: true}, 1, false, true},
		{masters.Refusal{Status: 500, Ours: true}, defects, false, false},
		{masters.Refusal{Status: 429, Ours: true}, 99, true, true},
		{masters.Refusal{Status: 404}, 99, false, true},
		{masters.Refusal{Status: 403}, 99, true, false},
	} {
		if got := passing(&c.r, c.tries, c.over); got != c.again {
			t.Errorf("%+v: %v", c, got)
		}
	}
	tries := 0
	m := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if tries++; tries == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer m.Close()
	list, err := masters.New(masters.Options{URLs: []string{m.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	if err := reportExit(t.Context(), list, &state{AllocationID: "7.trial.1", Token: "t"}, time.Minute); err != nil || tries != 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

func TestHowLongTheEndWaits(t *testing.T) {
	for said, want := range map[string]time.Duration{"": leftover.Hold, "no": leftover.Hold, "-1": leftover.Hold, "7": 7 * time.Second,
		"0": time.Second, "86401": leftover.Hold, "10000000000": leftover.Hold} {
		r := &run{spec: &v1.TaskSpec{Env: map[string]string{"DET_LOG_WAIT_TIME": said}}}
		if got := r.patience(); got != want {
			t.Errorf("%q: %s", said, got)
		}
	}
}

func TestTheSpecsWordsAndTheRunners(t *testing.T) {
	p := &NomadTask{NomadAllocID: "alloc", NodeName: "n1", AllocDir: "/a", Env: map[string]string{"A": "node", "NOMAD_JWT_x": "secret", "PYTHONPATH": "/mine"}}
	spec := &v1.TaskSpec{TaskID: "t", AllocationID: "t.1", Env: map[string]string{
		"A": "spec", "DET_MASTER": "http://elsewhere", "DET_AGENT_ID": "said", "DET_RESOURCES_ID": "said", "NO_PROXY": "x", "HTTP_PROXY": "http://p",
	}}
	env := environ(p, spec, "token", "http://127.0.0.1:9", 9, layout{runDir: runDir, workDir: "/w", scratch: "/run/determined/tmp", harness: "/h"})
	for k, want := range map[string]string{
		"A": "spec", "DET_MASTER": "http://127.0.0.1:9", "DET_AGENT_ID": "said", "DET_RESOURCES_ID": "said", "DET_CONTAINER_ID": "alloc",
		"PYTHONPATH": "/h:/mine", "NO_PROXY": "x,127.0.0.1,localhost", "PATH": defaultPath, "NOMAD_JWT_x": "", "PYTHONUSERBASE": "",
		"TMPDIR": "/run/determined/tmp",
	} {
		if env[k] != want {
			t.Errorf("%s is %q, want %q", k, env[k], want)
		}
	}
	p.PrivateRoot = true
	env = environ(p, spec, "token", "http://127.0.0.1:9", 9, layout{runDir: runDir, pythonShim: "/run/determined/bin"})
	if want := "/run/determined/bin:/run/determined/pythonuserbase/bin:" + defaultPath; env["PATH"] != want {
		t.Errorf("PATH is %q, want %q", env["PATH"], want)
	}
}

// The folder for temporary files is in the task's folder if its path is short enough.
func TestScratch(t *testing.T) {
	for _, c := range []struct {
		private, bare bool
		own, want     string
	}{
		{want: runDir + "/tmp"},
		{own: "/big", want: "/big"},
		{private: true},
		{bare: true},
	} {
		p := &NomadTask{PrivateRoot: c.private}
		spec := &v1.TaskSpec{Env: map[string]string{}}
		if c.own != "" {
			spec.Env["TMPDIR"] = c.own
		}
		l := layout{runDir: runDir, physical: t.TempDir()}
		if c.bare {
			l.runDir = l.physical
		}
		if err := l.placeScratch(c.private); err != nil {
			t.Fatal(err)
		}
		if got := environ(p, spec, "", "", 0, l)["TMPDIR"]; got != c.want {
			t.Errorf("%+v: TMPDIR is %q", c, got)
		}
		if l.scratch == "" {
			continue
		}
		info, err := os.Stat(filepath.Join(l.physical, "tmp"))
		if err != nil || info.Mode() != os.ModeDir|os.ModeSticky|0o777 {
			t.Errorf("%+v: %v, %v", c, info, err)
		}
	}
}

func TestCounter(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.events")
	if err := os.WriteFile(file, []byte("low 0\noom 2\noom_kill 3\noom_group_kill 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, ok := counter(file, "oom_kill"); !ok || n != 3 {
		t.Fatalf("%d %v", n, ok)
	}
	if _, ok := counter(file, "none"); ok {
		t.Fatal("found a counter that does not exist")
	}
}

// TestARecordOfTheEnd: from the claim on, the allocation's folder has a record of the exit, of a killed runner until the program has ended.
func TestARecordOfTheEnd(t *testing.T) {
	p := &NomadTask{AllocDir: t.TempDir(), NomadAllocID: "n-1"}
	path := p.shared(leftover.RecordFile)
	s := state{AllocationID: "a", Rank: 2, Token: "secret", Matches: []v1.LogMatch{{Policy: 1, Line: "x"}}}
	for _, want := range []v1.MemberExitRequest{{ExitCode: 137, Reason: leftover.KilledReason}, {ExitCode: 3, Reason: "x"}} {
		if err := s.save(p); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(content), "secret") {
			t.Fatalf("%s %v", content, err)
		}
		got, err := leftover.Open(auth.HashToken("secret"), content, "a", 2, "n-1")
		if err != nil || got.Exit.ExitCode != want.ExitCode || got.Exit.Reason != want.Reason || len(got.Exit.LogMatches) != 1 {
			t.Fatalf("%+v %v", got, err)
		}
		s.Ended = &ended{Code: 3, Reason: "x"}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Fatalf("%v", left)
	}
}

// TestTheNodesCountIsOnlyLikely: if a task cannot read its own counter of kills for lack of memory, the
// reason says only that the kernel has ended processes on the node. Otherwise the node's counter is not used.
func TestTheNodesCountIsOnlyLikely(t *testing.T) {
	now := tallyKills()
	if now.node < 1 {
		t.Skip("this kernel does not count, or has ended no process yet")
	}
	p := &NomadTask{Env: map[string]string{"NOMAD_MEMORY_LIMIT": "512"}}
	for _, c := range []struct {
		before tally
		likely bool
	}{
		{tally{task: -1, node: now.node - 1}, true},
		{tally{task: -1, node: now.node + 1000}, false},
		{tally{task: -1, node: -1}, false},
		{tally{task: 0, node: now.node - 1}, false},
	} {
		r := &run{p: p, oom: c.before}
		if got := r.likelyStarved(); got != c.likely {
			t.Errorf("%+v: %t", c.before, got)
		}
		if said := r.likelyOutOfMemory(); !strings.Contains(said, "this task may use 512 MB of memory") {
			t.Error(said)
		}
	}
}
