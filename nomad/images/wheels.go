package images

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/spelling"
)

// locks are the lock files, one for each image and platform.
//
//go:embed *.lock
var locks embed.FS

// A Wheel is a package at an exact version.
type Wheel struct {
	Name, Version string
	SHA256        string
}

// A Lock is the wheels of an image. An image is as old as its lock: no file in it is younger.
type Lock struct {
	Made   time.Time
	Wheels []Wheel
}

// glibc are the tags of wheels that run with Debian's libraries, the newest first.
var glibc = []string{"manylinux_2_36", "manylinux_2_35", "manylinux_2_34", "manylinux_2_31", "manylinux_2_28", "manylinux_2_27", "manylinux_2_24",
	"manylinux_2_17", "manylinux2014", "manylinux_2_12", "manylinux2010", "manylinux_2_5", "manylinux1"}

// machines are the names of platforms in tags of wheels.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// LockFile is the name of the lock file of an image for this machine's platform.
func LockFile(image string) string { return image + "_" + runtime.GOARCH + ".lock" }

// readLock reads the lock of an image for this machine's platform.
func readLock(image string) (Lock, error) {
	text, err := locks.ReadFile(LockFile(image))
	if err != nil {
		return Lock{}, fmt.Errorf("%s is not made for %s: there is no list of its wheels; make one with ./justw images-lock %s", image, runtime.GOARCH, image)
	}
	return parseLock(string(text))
}

var lockLine = regexp.MustCompile(`^([A-Za-z0-9._-]+)==(\S+) --hash=sha256:([0-9a-f]{64})$`)

// parseLock reads a list that pip reads too, as requirements with hashes.
func parseLock(text string) (Lock, error) {
	first, rest, _ := strings.Cut(text, "\n")
	day, ok := strings.CutPrefix(first, lockHead)
	made, err := time.Parse(time.DateOnly, day)
	if !ok || err != nil {
		return Lock{}, fmt.Errorf("line 1 is %q, and must be %q and a day", first, lockHead)
	}
	lock := Lock{Made: made}
	n := 1
	for line := range strings.Lines(rest) {
		n++
		m := lockLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			return Lock{}, fmt.Errorf("line %d is %q, and must be NAME==VERSION --hash=sha256:HASH", n, strings.TrimSpace(line))
		}
		lock.Wheels = append(lock.Wheels, Wheel{Name: m[1], Version: m[2], SHA256: m[3]})
	}
	return lock, nil
}

// lockHead begins a lock file; its day follows.
const lockHead = "# wheels of "

// Text is the content of a lock file.
func (l Lock) Text() string {
	var b strings.Builder
	b.WriteString(lockHead + l.Made.Format(time.DateOnly) + "\n")
	for _, w := range l.Wheels {
		fmt.Fprintf(&b, "%s==%s --hash=sha256:%s\n", w.Name, w.Version, w.SHA256)
	}
	return b.String()
}

// for another Python and platform than those of pip itself.
func target() []string {
	args := []string{"--only-binary=:all:", "--implementation", "cp", "--python-version", python}
	for _, tag := range glibc {
		args = append(args, "--platform", tag+"_"+machines[runtime.GOARCH])
	}
	return args
}

// Resolve asks the Python package index for the newest wheels that a recipe allows.
func (r Recipe) Resolve(ctx context.Context, pip string, now time.Time) (Lock, error) {
	lock := Lock{Made: now.UTC().Truncate(24 * time.Hour)}
	for _, part := range []struct {
		names []string
		flags []string
	}{{r.Python, nil}, {r.Alone, []string{"--no-deps"}}} {
		if len(part.names) == 0 {
			continue
		}
		wheels, err := resolve(ctx, pip, slices.Concat(part.flags, part.names))
		if err != nil {
			return Lock{}, fmt.Errorf("cannot find the wheels of %s: %w", r.Name, err)
		}
		lock.Wheels = append(lock.Wheels, wheels...)
	}
	lock.Wheels = slices.DeleteFunc(lock.Wheels, func(w Wheel) bool { return slices.Contains(r.Without, w.Name) })
	slices.SortFunc(lock.Wheels, func(a, b Wheel) int { return strings.Compare(a.Name, b.Name) })
	return lock, nil
}

// resolve returns what pip would install.
func resolve(ctx context.Context, pip string, args []string) ([]Wheel, error) {
	dir, err := os.MkdirTemp("", "detent-images-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	report := filepath.Join(dir, "report.json")
	args = slices.Concat([]string{"-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--report", report, "--target", dir}, target(), args)
	if err := quiet(exec.CommandContext(ctx, pip, args...)); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Install []struct {
			Metadata struct{ Name, Version string }
			Download struct {
				Archive struct {
					Hashes struct{ SHA256 string } `json:"hashes"`
				} `json:"archive_info"`
			} `json:"download_info"`
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("pip's report: %w", err)
	}
	var list []Wheel
	for _, x := range answer.Install {
		list = append(list, Wheel{Name: normal(x.Metadata.Name), Version: x.Metadata.Version, SHA256: x.Download.Archive.Hashes.SHA256})
	}
	return list, nil
}

// normal is the normal form of a package's name.
func normal(name string) string {
	return strings.ToLower(separators.ReplaceAllString(name, "-"))
}

var separators = regexp.MustCompile(`[-_.]+`)

// download fetches the wheels of a lock into a folder. pip compares their hashes.
func (l Lock) download(ctx context.Context, pip, dir string) error {
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, []byte(l.Text()), 0o644); err != nil {
		return err
	}
	args := slices.Concat([]string{"-m", "pip", "download", "-q", "--no-deps", "--require-hashes", "-d", dir, "-r", list}, target())
	if err := quiet(exec.CommandContext(ctx, pip, args...)); err != nil {
		return fmt.Errorf("cannot download %s: %w", spelling.Count(len(l.Wheels), "wheel"), err)
	}
	return nil
}

// quiet runs a command, whose output is part of its error.
func quiet(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(string(out))
	if len(text) > maxSaid {
		text = "…" + text[len(text)-maxSaid:]
	}
	return errors.Join(fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err), errors.New(text))
}

// maxSaid is how much of a failed command's output an error contains: its end.
const maxSaid = 4000
