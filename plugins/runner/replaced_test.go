//go:build linux

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/detent-ml/detent/master/attempts/leftover"
)

// piped puts a pipe in the place of a file of the allocation, as a program of the task can.
func (r *rig) piped(path string) {
	r.t.Helper()
	if err := os.Remove(r.path(path)); err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	if err := syscall.Mkfifo(r.path(path), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// TestPipesInThePlaceOfFiles: the last process waits for no pipe that the program has left in the place of a file.
func TestPipesInThePlaceOfFiles(t *testing.T) {
	for name, c := range map[string]struct {
		paths []string
		env   []string
		code  int // of the last process
		exits int
	}{
		"the state":              {[]string{"alloc/det/state.json"}, nil, 70, 0},
		"the token":              {[]string{"main/secrets/det-token"}, nil, 70, 0},
		"the addresses":          {[]string{"alloc/masters"}, []string{"DET_MASTERS_FILE=masters"}, 0, 1},
		"lines and the record":   {[]string{"alloc/det/logs/0000000000000000" + leftover.LogSuffix, "alloc/det/" + leftover.RecordFile}, nil, 0, 1},
		"lines that come later":  {[]string{"alloc/det/logs/0000000000000777" + leftover.LogSuffix}, nil, 0, 1},
		"the certificate":        {[]string{"alloc/ca.pem"}, []string{"DET_MASTER_CA=ca.pem"}, 64, 0},
		"nothing, to compare it": {nil, nil, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sh("echo here; sleep 61.9"))
			p := r.start("run")
			eventually(t, "the program runs", func() bool { return len(r.printed()) == 1 })
			_ = p.cmd.Process.Kill()
			<-p.done
			for _, path := range c.paths {
				r.piped(path)
			}
			var env []string
			for _, kv := range c.env {
				key, file, _ := strings.Cut(kv, "=")
				env = append(env, key+"="+r.path("alloc", file))
			}
			r.start("ship", env...).expect(c.code)
			if got := len(r.state.Exits()); got != c.exits {
				t.Errorf("%d exit reports, want %d", got, c.exits)
			}
		})
	}
}

// TestAHookThatLeavesAPipe: the runner does not wait for the environment of a hook in a pipe, and the attempt says why it ended.
func TestAHookThatLeavesAPipe(t *testing.T) {
	r := hooked(t, "mkfifo /run/determined/hook.json; exit 0\n", "echo never")
	r.run(70)
	if e := r.exit(); !strings.Contains(e.Reason, "no regular file") {
		t.Fatalf("report %+v", e)
	}
	r.expectPrinted()
}
