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

// A set is programs that belong together, and the packages of Debian that hold them.
type set struct {
	name     string // of its folder in the cache
	title    string
	programs []string
	packages []string
	finish   func(root string) error // completes what was unpacked; nil for nothing
}

// docker is what a daemon is made of. What else its packages depend on is for
// installations: an init system, and a firewall's rules, which a bridge alone needs.
func docker() set {
	return set{name: "docker", title: "Docker", programs: []string{"dockerd", "containerd", "containerd-shim-runc-v2", "runc"},
		packages: []string{"docker.io", "containerd", "runc"}}
}

// Find finds the programs of a daemon on PATH, or brings them; with a bridge also
// those that it makes its firewall rules with.
func Find(ctx context.Context, bridge bool, report *servers.Reporter) error {
	_, err := find(ctx, bridge, report)
	return err
}

func find(ctx context.Context, bridge bool, report *servers.Reporter) (programs, error) {
	path, err := docker().path(ctx, os.Getenv("PATH")+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", report)
	if err == nil && bridge {
		path, err = firewall().path(ctx, path, report)
	}
	if err != nil {
		return programs{}, err
	}
	return in(path, docker().programs)
}

// path is the path with the folders of a set before it, where it has them not.
func (s set) path(ctx context.Context, path string, report *servers.Reporter) (string, error) {
	if _, err := in(path, s.programs); err == nil {
		return path, nil
	}
	dir, err := s.unpacked(ctx, report)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "usr/sbin") + ":" + filepath.Join(dir, "usr/bin") + ":" + path
	if _, err := in(path, s.programs); err != nil {
		return "", fmt.Errorf("%w: what Debian's packages hold is not whole: %w; remove %s", ErrNone, err, dir)
	}
	return path, nil
}

// in looks for programs along a path.
func in(path string, names []string) (programs, error) {
	p := programs{path: path}
	for _, name := range names {
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
func (s set) unpacked(ctx context.Context, report *servers.Reporter) (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("%w: %s is not on PATH, and there is none for %s", ErrNone, s.programs[0], runtime.GOOS)
	}
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%w: neither %s nor %s is on PATH; install %s", ErrNone, s.programs[0], tool, s.title)
		}
	}
	cache, err := servers.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, s.name, codename())
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	unlock, err := servers.Lock(ctx, filepath.Join(cache, s.name+".lock"), nil)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	task := report.Task("fetching " + s.title + " from Debian")
	if err := s.fetch(ctx, dir); err != nil {
		task.Fail()
		return "", err
	}
	task.Done(dir)
	return dir, nil
}

// fetch downloads the packages and unpacks them beside dir, which appears whole.
func (s set) fetch(ctx context.Context, dir string) error {
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
	download := exec.CommandContext(ctx, "apt-get", append([]string{"download", "-q"}, s.packages...)...)
	download.Dir = debs
	if out, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: apt-get download: %w: %s; run apt-get update, or install %s", ErrNone, err, lastLine(out), s.title)
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
	if s.finish != nil {
		if err := s.finish(root); err != nil {
			return err
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
