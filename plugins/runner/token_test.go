//go:build linux

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/detent-ml/detent/plugins/runner/fakemaster"
)

// TestTheTokenIsNotInFilesThatNomadShows: the files of an allocation that Nomad shows contain no token,
// and the remaining reports of the main process are still delivered.
func TestTheTokenIsNotInFilesThatNomadShows(t *testing.T) {
	for driver, env := range map[string][]string{
		"raw_exec": {"DET_DRIVER=raw_exec"},
		"exec":     {"DET_DRIVER=exec"},
		"docker":   {"DET_DRIVER=docker"},
	} {
		t.Run(driver, func(t *testing.T) {
			r := newRig(t, sh("echo here; sleep 61.7"))
			p := r.start("run", env...)
			eventually(t, "the program runs", func() bool { return len(r.printed()) == 1 })
			_ = p.cmd.Process.Kill()
			<-p.done
			err := filepath.WalkDir(r.path("alloc"), func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				content, err := os.ReadFile(path)
				if bytes.Contains(content, []byte(fakemaster.Token)) {
					t.Errorf("%s holds the token", path)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if driver == "docker" { // the job mounts the folder elsewhere
				moved := filepath.Join(t.TempDir(), "secrets-of-main")
				if err := os.Rename(r.path("main/secrets"), moved); err != nil {
					t.Fatal(err)
				}
				env = append(env, "DET_MAIN_SECRETS="+moved)
			}
			r.start("ship", append(env, "NOMAD_SECRETS_DIR="+t.TempDir())...).expect(0)
			if e := r.exit(); e.ExitCode != 137 || !e.LogsDone {
				t.Errorf("report %+v", e)
			}
		})
	}
}
