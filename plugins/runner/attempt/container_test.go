//go:build linux

package attempt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

func TestLinksLeadToMounts(t *testing.T) {
	dir := t.TempDir()
	l := layout{runDir: runDir, physical: dir, workDir: runDir + "/workdir"}
	mounted := filepath.Join(dir, "mounted")
	for _, d := range []string{mounted, filepath.Join(dir, "workdir", "empty"), filepath.Join(dir, "workdir", "full", "of")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	list := func(path string) []v1.BindMount {
		return []v1.BindMount{{HostPath: "/elsewhere", ContainerPath: "/x"}, {HostPath: mounted, ContainerPath: path, Link: true}}
	}
	for path, where := range map[string]string{"data/in": "workdir/data/in", runDir + "/workdir/empty": "workdir/empty"} {
		if err := link(l, list(path)); err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(filepath.Join(dir, where)); err != nil || to != mounted {
			t.Errorf("%s leads to %q: %v", path, to, err)
		}
	}
	if err := link(l, list("full")); err == nil || !strings.Contains(err.Error(), "came with the task's code") {
		t.Errorf("code in the place of a mount: %v", err)
	}
	if b := setup(&NomadTask{PrivateRoot: true, TaskDir: dir}, &v1.TaskSpec{BindMounts: list("data/in")}, l, nil).Binds; len(b) != 2 {
		t.Errorf("a linked path is mounted as well: %+v", b)
	}
}

func TestHousehold(t *testing.T) {
	home := t.TempDir()
	l, p := layout{workDir: "/run/determined/workdir"}, &NomadTask{TaskDir: t.TempDir()}
	for given, want := range map[string]string{home: home, p.TaskDir: l.workDir, "": l.workDir, "/": l.workDir, filepath.Join(home, "none"): l.workDir} {
		env := map[string]string{"HOME": given}
		setHomeAndUser(p, &v1.TaskSpec{}, env, l)
		if env["HOME"] != want {
			t.Errorf("a home in %q becomes %q, want %q", given, env["HOME"], want)
		}
	}
	env := map[string]string{"HOME": "/chosen"}
	setHomeAndUser(p, &v1.TaskSpec{Env: map[string]string{"HOME": "/chosen"}}, env, l)
	if env["HOME"] != "/chosen" {
		t.Errorf("a home that the user has chosen becomes %q", env["HOME"])
	}
}

// TestCodeOfAnotherWorkingDirectory: in an image, a task's code is where its
// program starts.
func TestCodeOfAnotherWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "work", "here")
	l := layout{runDir: runDir, physical: filepath.Join(dir, "run"), workDir: work}
	if model, err := l.placeCode(true); err != nil || model != work || l.codeDir != work {
		t.Errorf("in an image its code is in %s, and train/model leads to %s: %v", l.codeDir, model, err)
	}
	if info, err := os.Stat(work); err != nil || !info.IsDir() {
		t.Errorf("the working directory was not made: %v", err)
	}
	if model, err := l.placeCode(false); err != nil || model != "../workdir" || l.codeDir != filepath.Join(dir, "run", "workdir") {
		t.Errorf("on a bare node its code is in %s, and train/model leads to %s: %v", l.codeDir, model, err)
	}
	l.workDir = runDir + "/workdir"
	if model, err := l.placeCode(true); err != nil || model != "../workdir" {
		t.Errorf("train/model leads to %s: %v", model, err)
	}
	l.workDir = "/proc/no/such"
	if _, err := l.placeCode(true); err == nil || !strings.Contains(err.Error(), "/proc/no/such") {
		t.Errorf("a working directory that cannot be made: %v", err)
	}
}
