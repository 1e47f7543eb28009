package dockerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/detent-ml/detent/nomad/servers"
)

// needed are the programs of a daemon.
func needed() []string { return []string{"dockerd", "containerd", "containerd-shim-runc-v2", "runc"} }

// packages are those of Debian that hold them. What else those depend on is for
// installations: a firewall's rules, an init system.
func packages() []string { return []string{"docker.io", "containerd", "runc"} }

// find finds the programs on PATH, or brings them.
func find(ctx context.Context, report *servers.Reporter) (programs, error) {
	path := os.Getenv("PATH") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if p, err := in(path); err == nil {
		return p, nil
	}
	dir, err := unpacked(ctx, report)
	if err != nil {
		return programs{}, err
	}
	p, err := in(filepath.Join(dir, "usr/sbin") + ":" + filepath.Join(dir, "usr/bin") + ":" + path)
	if err != nil {
		return p, fmt.Errorf("%w: what Debian's packages hold is not whole: %w; remove %s", ErrNone, err, dir)
	}
	return p, nil
}

// in looks for the programs along a path.
func in(path string) (programs, error) {
	p := programs{path: path}
	for _, name := range needed() {
		found := ""
		for _, dir := range filepath.SplitList(path) {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				found = filepath.Join(dir, name)
				break
			}
		}
		if found == "" {
			return p, fmt.Errorf("no %s in %s", name, path)
		}
		if name == "dockerd" {
			p.dockerd = found
		}
	}
	return p, nil
}

// unpacked is the folder in the user's cache that holds Debian's packages.
func unpacked(ctx context.Context, report *servers.Reporter) (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("%w: dockerd is not on PATH, and there is none for %s", ErrNone, runtime.GOOS)
	}
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%w: neither dockerd nor %s is on PATH; install Docker", ErrNone, tool)
		}
	}
	cache, err := servers.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "docker", codename())
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	unlock, err := servers.Lock(ctx, filepath.Join(cache, "docker.lock"), nil)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	task := report.Task("fetching Docker from Debian")
	if err := fetch(ctx, dir); err != nil {
		task.Fail()
		return "", err
	}
	task.Done(dir)
	return dir, nil
}

// fetch downloads the packages and unpacks them beside dir, which appears whole.
func fetch(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	debs, root := filepath.Join(fresh, "debs"), filepath.Join(fresh, "root")
	for _, d := range []string{debs, root} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	download := exec.CommandContext(ctx, "apt-get", append([]string{"download", "-q"}, packages()...)...)
	download.Dir = debs
	if out, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: apt-get download: %w: %s; run apt-get update, or install Docker", ErrNone, err, lastLine(out))
	}
	found, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range found {
		if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", deb, root).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: dpkg-deb -x %s: %w: %s", ErrNone, filepath.Base(deb), err, lastLine(out))
		}
	}
	return os.Rename(root, dir)
}

// codename tells releases of the system apart: their packages need its libraries.
func codename() string {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); ok {
			return strings.Trim(name, `"`) + "-" + runtime.GOARCH
		}
	}
	return runtime.GOARCH
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
