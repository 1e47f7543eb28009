//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/attempt"
)

// remover stands in for det-remover: it prints its arguments and the contents of its file.
const remover = `#!/bin/sh
echo "removes for $DET_TASK_ID: $(cat "$1") with $2"
`

// removal is a task that removes files, with the program that the master serves for a platform.
func removal(program []byte) (spec v1.TaskSpec, path string) {
	target := runtime.GOOS + "-" + runtime.GOARCH
	sum := sha256.Sum256(program)
	sha := hex.EncodeToString(sum[:])
	spec = sh("")
	spec.TaskType, spec.Entrypoint, spec.Shell = "CHECKPOINT_GC", nil, false
	spec.Collect = &v1.Collect{Programs: map[string]string{"plan9-mips": strings.Repeat("0", 64), target: sha}, Checkpoints: []v1.CollectCheckpoint{}, Events: "c1/tensorboard"}
	return spec, v1.DownloadRemover.At(sha, target)
}

// TestRemover: a task that removes files runs the master's det-remover for its platform, and
// no other file than the one whose checksum the master gave.
func TestRemover(t *testing.T) {
	spec, path := removal([]byte(remover))
	spec.Credentials = &v1.Credentials{By: v1.SignInByVault}
	r := newRig(t, spec)
	r.state.Serve(path, []byte(remover))
	r.run(0)
	out := strings.Join(r.printed(), "\n")
	for _, want := range []string{"removes for 7.trial:", `"events":"c1/tensorboard"`, "with " + r.path("main/secrets/s3.json")} {
		if !strings.Contains(out, want) {
			t.Errorf("the log lacks %q: %s", want, out)
		}
	}

	for what, c := range map[string]struct {
		change func(*rig, *v1.TaskSpec)
		says   string
	}{
		"another file":     {func(r *rig, _ *v1.TaskSpec) { r.state.Serve(path, []byte(remover+"# more\n")) }, "its checksum is"},
		"none served":      {func(*rig, *v1.TaskSpec) {}, "cannot fetch det-remover"},
		"another platform": {func(_ *rig, s *v1.TaskSpec) { s.Collect.Programs = map[string]string{"plan9-mips": "x"} }, "the master has no det-remover for " + runtime.GOOS},
	} {
		t.Run(what, func(t *testing.T) {
			spec, _ := removal([]byte(remover))
			r := newRig(t, spec)
			c.change(r, &spec)
			r.state.Task(spec)
			r.run(attempt.CodePrepare)
			if why := r.exit().Reason; !strings.Contains(why, c.says) {
				t.Errorf("the reported reason is %q; it must contain %q", why, c.says)
			}
			if out := r.printed(); len(out) != 0 {
				t.Errorf("the remover ran: %q", out)
			}
		})
	}
}
