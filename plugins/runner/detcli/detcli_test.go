//go:build linux

package detcli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// With a variable in the environment, the test's binary acts as det, or as the program that starts det.
func TestMain(m *testing.M) {
	switch {
	case os.Args[0] == "det":
		self, err := os.Readlink("/proc/self/exe")
		fmt.Println("det", strings.Join(os.Args[1:], " "), self, err)
		return
	case os.Getenv("TEST_BECOMES_DET") != "":
		fmt.Println(Main(os.Args[1:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// rig is a master that serves det, and a task's environment.
type rig struct {
	t       *testing.T
	det     []byte
	sum     string
	url     string
	run     string // DET_RUN_DIR
	tmp     string // TMPDIR
	fetched atomic.Int64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	det, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(det)
	r := &rig{t: t, det: det, sum: hex.EncodeToString(sum[:]), run: t.TempDir(), tmp: t.TempDir()}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.fetched.Add(1)
		if req.URL.Path != "/cli/"+r.sum+"/linux-amd64" {
			http.NotFound(w, req)
			return
		}
		_, _ = w.Write(r.det)
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// becomes runs the script once, and returns its output.
func (r *rig) becomes(args ...string) string {
	r.t.Helper()
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.CommandContext(r.t.Context(), self, args...)
	cmd.Env = append(os.Environ(), "TEST_BECOMES_DET=1", "DET_MASTER="+r.url, "DET_CLI_URL=/cli/"+r.sum+"/linux-amd64", "DET_RUN_DIR="+r.run, "TMPDIR="+r.tmp)
	out, _ := cmd.CombinedOutput() // what it says is looked at
	return string(out)
}

func (r *rig) write(path string, content []byte, mode os.FileMode) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		r.t.Fatal(err)
	}
}

// TestItBecomesDet: the script fetches det once and starts it, from the task's folder or, if that
// is not writable, from a folder that only this user can write.
func TestItBecomesDet(t *testing.T) {
	for _, bin := range []bool{true, false} {
		r := newRig(t)
		want := r.tmp
		if bin {
			want = filepath.Join(r.run, "bin")
			if err := os.Mkdir(want, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if got := r.becomes("experiment", "list"); !strings.HasPrefix(got, "det experiment list "+want+"/") || !strings.HasSuffix(got, " <nil>\n") {
				t.Fatalf("with a folder of the task's %v: %s", bin, got)
			}
		}
		if n := r.fetched.Load(); n != 1 {
			t.Errorf("with a folder of the task's %v it was fetched %d times", bin, n)
		}
		if bin {
			continue
		}
		info, err := os.Stat(filepath.Join(r.tmp, fmt.Sprint("det-", os.Getuid())))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v %v", info, err)
		}
	}
}

// TestNobodyElsesFileIsStarted: a file that other accounts may write is not started.
func TestNobodyElsesFileIsStarted(t *testing.T) {
	const nobody = 65534
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	for what, lies := range map[string]func(r *rig, file string) error{
		"a file that all may write": func(_ *rig, file string) error { return os.Chmod(file, 0o777) },
		"somebody else's file":      func(_ *rig, file string) error { return os.Chown(file, nobody, nobody) },
		"a link to somebody else's file": func(r *rig, file string) error {
			other := filepath.Join(r.tmp, "other")
			r.write(other, r.det, 0o755)
			if err := os.Chown(other, nobody, nobody); err != nil {
				return err
			}
			return errors.Join(os.Remove(file), os.Symlink(other, file))
		},
	} {
		r := newRig(t)
		file := filepath.Join(r.run, "bin", ".det-"+r.sum)
		r.write(file, r.det, 0o755)
		if err := lies(r, file); err != nil {
			t.Fatal(err)
		}
		if got := r.becomes("version"); !strings.HasPrefix(got, "det version ") || r.fetched.Load() != 1 {
			t.Errorf("%s: fetched %d times: %s", what, r.fetched.Load(), got)
		}
		info, err := os.Lstat(file)
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: it stays: %v %v", what, info, err)
		}
	}

	r := newRig(t) // the name of the user's own folder is somebody else's
	taken := filepath.Join(r.tmp, fmt.Sprint("det-", os.Getuid()))
	r.write(filepath.Join(taken, ".det-"+r.sum), r.det, 0o755)
	if err := os.Chown(taken, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if got := r.becomes("version"); !strings.HasPrefix(got, "det version "+r.tmp+"/") || strings.Contains(got, taken+"/") {
		t.Errorf("a folder of somebody else's: %s", got)
	}
}

// TestWhatWasCheckedIsStarted: an attacker who replaces the file all the time cannot start
// another one.
func TestWhatWasCheckedIsStarted(t *testing.T) {
	r := newRig(t)
	bin := filepath.Join(r.run, "bin")
	good, evil, file := filepath.Join(bin, "good"), filepath.Join(bin, "evil"), filepath.Join(bin, ".det-"+r.sum)
	r.write(good, r.det, 0o755)
	r.write(evil, []byte("#!/bin/sh\necho evil\n"), 0o755)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for from := good; ; {
			select {
			case <-stop:
				return
			default:
			}
			next := filepath.Join(bin, "next")
			if os.Link(from, next) == nil {
				_ = os.Rename(next, file)
			}
			if from == good {
				from = evil
			} else {
				from = good
			}
		}
	}()
	for range 40 {
		if got := r.becomes("version"); !strings.HasPrefix(got, "det version ") {
			t.Errorf("the script started another program: %s", got)
			break
		}
	}
	close(stop)
	<-stopped
}
