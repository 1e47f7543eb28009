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

// TestPipesInThePlaceOfFiles: the runner waits for no pipe that the program has left in the place of a file, and the record of its exit
// takes the place of one.
func TestPipesInThePlaceOfFiles(t *testing.T) {
	for name, c := range map[string]struct{ paths, env []string }{
		"the addresses":          {[]string{"alloc/masters"}, []string{"DET_MASTERS_FILE=masters"}},
		"lines and the record":   {[]string{"alloc/det/logs/0000000000000000" + leftover.LogSuffix, "alloc/det/" + leftover.RecordFile}, nil},
		"lines that come later":  {[]string{"alloc/det/logs/0000000000000777" + leftover.LogSuffix}, nil},
		"nothing, to compare it": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			spec, open := gated(t, 1)
			r := newRig(t, spec)
			var env []string
			for _, kv := range c.env {
				key, file, _ := strings.Cut(kv, "=")
				r.write("alloc/"+file, "")
				env = append(env, key+"="+r.path("alloc", file))
			}
			p := r.start("run", env...)
			eventually(t, "the program runs", func() bool { return len(r.printed()) == 1 })
			for _, path := range c.paths {
				r.piped(path)
			}
			open()
			p.expect(4)
			r.exit()
			if e := r.left(); e.ExitCode != 4 {
				t.Errorf("the record is %+v", e)
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
