// Package debian fetches programs from Debian's packages without installing the packages.
//
// Programs on PATH are used first. Otherwise, on Debian and with the right to do so, the packages are
// downloaded once into the user's cache, verified by apt with the signatures of the machine's own
// sources, and unpacked there.
package debian

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/detent-ml/detent/nomad/servers"
)

// ErrNone is returned for programs that are missing and cannot be fetched. The message says why.
var ErrNone = errors.New("not available")

// A Set is several programs with the Debian packages that contain them.
type Set struct {
	Name     string // of its folder in the cache
	Title    string
	Programs []string
	Packages []string
	// Folders of the unpacked packages in which the programs are; usr/sbin and usr/bin by default.
	Folders []string
	Finish  func(root string) error // completes the unpacked files; nil: nothing to do
}

// Found has the paths of the programs of a set.
type Found struct {
	Programs map[string]string // the path of each
	Path     string            // the PATH that finds them all
	// Root is the folder of the unpacked packages; "" if the machine's own programs are used.
	Root string
}

// MachinePath is the PATH of this process, with the administrator's folders.
func MachinePath() string {
	return os.Getenv("PATH") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

// Find finds the programs of a set on a path, or fetches them.
func (s Set) Find(ctx context.Context, path string, report *servers.Reporter) (Found, error) {
	if found, err := s.in(path); err == nil {
		return found, nil
	}
	dir, err := s.unpacked(ctx, report)
	if err != nil {
		return Found{}, err
	}
	folders := s.Folders
	if len(folders) == 0 {
		folders = []string{"usr/sbin", "usr/bin"}
	}
	for _, folder := range slices.Backward(folders) {
		path = filepath.Join(dir, folder) + ":" + path
	}
	found, err := s.in(path)
	if err != nil {
		return Found{}, fmt.Errorf("%w: the unpacked Debian packages are incomplete: %w; remove %s", ErrNone, err, dir)
	}
	found.Root = dir
	return found, nil
}

// in looks for the programs on a path.
func (s Set) in(path string) (Found, error) {
	f := Found{Programs: map[string]string{}, Path: path}
	for _, name := range s.Programs {
		for _, dir := range filepath.SplitList(path) {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				f.Programs[name] = filepath.Join(dir, name)
				break
			}
		}
		if f.Programs[name] == "" {
			return f, fmt.Errorf("no %s in %s", name, path)
		}
	}
	return f, nil
}

// unpacked is the folder in the user's cache with the unpacked packages.
func (s Set) unpacked(ctx context.Context, report *servers.Reporter) (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("%w: %s is not on PATH, and Detent cannot fetch it for %s", ErrNone, s.Programs[0], runtime.GOOS)
	}
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%w: neither %s nor %s is on PATH; install %s", ErrNone, s.Programs[0], tool, s.Title)
		}
	}
	cache, err := servers.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, s.Name, codename())
	return dir, servers.Once(ctx, dir, servers.Part{
		Lock: filepath.Join(cache, s.Name+".lock"), There: func() bool { _, err := os.Stat(dir); return err == nil },
		Making: "fetching " + s.Title + " from Debian", Waiting: "fetching " + s.Title,
		Make: func(ctx context.Context, _ *servers.Task) error { return s.fetch(ctx, dir) },
	}, report)
}

// fetch downloads the packages and unpacks them into a temporary folder, which is renamed to dir.
func (s Set) fetch(ctx context.Context, dir string) error {
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
	download := exec.CommandContext(ctx, "apt-get", append([]string{"download", "-q"}, s.Packages...)...)
	download.Dir = debs
	if out, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: apt-get download: %w: %s; run apt-get update, or install %s", ErrNone, err, lastLine(out), s.Title)
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
	if s.Finish != nil {
		if err := s.Finish(root); err != nil {
			return err
		}
	}
	return os.Rename(root, dir)
}

// codename distinguishes releases of the system, whose libraries the packages need.
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
