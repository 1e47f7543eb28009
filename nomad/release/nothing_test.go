package release

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
)

// A newcomer has an empty folder with the release's archive in it, and no checkout and no Go.
type newcomer struct {
	dir string // where the archive is, and the folder detent
	env []string
}

// testFromNothing types what docs/local-cluster.md says to somebody who has a release and nothing else, and then what det says.
func testFromNothing(t *testing.T, out string, here Target) {
	n := newNewcomer(t)
	name := fmt.Sprintf("det-master_%s_%s.tar.gz", v1.Version, here)
	if err := os.Link(filepath.Join(out, name), filepath.Join(n.dir, name)); err != nil {
		copyFile(t, filepath.Join(out, name), filepath.Join(n.dir, name))
	}
	script := strings.NewReplacer("det-master_0.1.0_linux_amd64.tar.gz", name).Replace(firstBlock(t, "../../docs/local-cluster.md"))
	said, code := n.types(t, n.dir, script)
	unpacked := filepath.Join(n.dir, "detent")
	if code != 5 || !strings.Contains(said, "lacks Nomad (1.10.0 or later) and Consul (1.18.0 or later).") || !strings.Contains(said, "into "+unpacked+" ") ||
		!strings.Contains(said, "https://releases.hashicorp.com/consul/") || !strings.Contains(said, "./det deploy local cluster-up --fetch") {
		t.Fatalf("without servers: exit status %d:\n%s", code, said)
	}
	if entries, err := os.ReadDir(filepath.Join(n.dir, "state")); err == nil {
		t.Errorf("something was started: %v", entries)
	}
	t.Cleanup(func() { n.types(t, unpacked, "./det deploy local reset --yes") })

	for _, server := range []string{"nomad", "consul"} {
		asPublished(t, server, unpacked, here)
	}
	said, code = n.types(t, unpacked, "./det deploy local cluster-up")
	_, next, ok := strings.Cut(said, "\nnext ")
	if code != 0 || !ok || !strings.Contains(said, "unpacking Nomad") {
		t.Fatalf("with servers: exit status %d:\n%s", code, said)
	}
	if !strings.Contains(next, "./det experiment create examples/digits_numpy/digits.yaml examples/digits_numpy --follow") {
		t.Errorf("the next commands are\n%s", next)
	}
	said, code = n.types(t, unpacked, next+"\n./det experiment list\n./det deploy local status")
	if code != 0 || !strings.Contains(said, "COMPLETED") || strings.Contains(said, "Warning") {
		t.Errorf("the example: exit status %d:\n%s", code, said)
	}
	if said, code = n.types(t, unpacked, "./det deploy local cluster-down"); code != 0 {
		t.Errorf("cluster-down: exit status %d:\n%s", code, said)
	}
	if said, code = n.types(t, unpacked, "./det deploy local status"); code != 1 || !strings.Contains(said, "not running") || !strings.Contains(said, "./det deploy local cluster-up") {
		t.Errorf("status: exit status %d:\n%s", code, said)
	}
}

// newNewcomer makes the folder and the environment. The Python of tasks is in this user's cache already, or is installed there once.
func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	dir, err := os.MkdirTemp("", "det-nothing-")
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			os.RemoveAll(dir)
		}
	})
	python, err := exec.CommandContext(t.Context(), "python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := servers.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{filepath.Join(cache, "python"), filepath.Join(dir, "bin"), filepath.Join(dir, "cache")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	links := errors.Join(os.Symlink(strings.TrimSpace(string(python)), filepath.Join(dir, "bin", "python3")),
		os.Symlink(filepath.Join(cache, "python"), filepath.Join(dir, "cache", "python")))
	if links != nil {
		t.Fatal(links)
	}
	n := &newcomer{dir: dir, env: []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin", "HOME=" + dir, "LANG=C.UTF-8",
		"DETENT_CACHE=" + filepath.Join(dir, "cache"), "DETENT_STATE=" + filepath.Join(dir, "state")}}
	if said, _ := n.types(t, dir, "command -v go nomad consul det"); said != "" {
		t.Skipf("the system's folders have %s", strings.Fields(said))
	}
	return n
}

// types runs commands in a folder, and returns what they print and the exit status of the last one, or of the first that fails.
func (n *newcomer) types(t *testing.T, dir, script string) (said string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, n.env
	out, err := cmd.CombinedOutput()
	t.Logf("%s\n%s", script, out)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return string(out), 0
}

// asPublished puts an archive of a server into a folder as its maker publishes it, with the list of its checksum. Its version has a
// suffix: the checksum of the maker's own archive is known.
func asPublished(t *testing.T, server, folder string, here Target) {
	t.Helper()
	binary, err := servers.Ensure(t.Context(), server, servers.NewReporter(t.Output()))
	if err != nil {
		t.Fatal(err)
	}
	version := binary.Version + "+built"
	name := fmt.Sprintf("%s_%s_%s.zip", server, version, here)
	f, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	z := zip.NewWriter(io.MultiWriter(f, hash))
	h := &zip.FileHeader{Name: server, Method: zip.Store}
	h.SetMode(0o755)
	w, err := z.CreateHeader(h)
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(binary.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := io.Copy(w, in); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(folder, fmt.Sprintf("%s_%s_SHA256SUMS", server, version))
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, []byte(hex.EncodeToString(hash.Sum(nil))+"  "+name+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// firstBlock is the first block of commands of a document.
func firstBlock(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)\n```\n(.*?)\n```\n").FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s has no block of commands", file)
	}
	return string(m[1])
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err := errors.Join(err, os.WriteFile(to, content, 0o644)); err != nil {
		t.Fatal(err)
	}
}
