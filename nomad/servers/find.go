package servers

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Binary is a server's executable.
type Binary struct {
	Name, Path, Version string
}

// Find finds a server: one on PATH with a suitable version, else a built one. It builds nothing; found
// is false if there is none.
func Find(ctx context.Context, name string) (binary Binary, found bool, err error) {
	pin, err := pinOf(name)
	if err != nil {
		return Binary{}, false, err
	}
	b, err := newBuilder()
	if err != nil {
		return Binary{}, false, err
	}
	if binary, ok := onPath(ctx, pin, nil); ok {
		return binary, true, nil
	}
	path := b.binary(pin)
	if !exists(path) {
		return Binary{}, false, nil
	}
	return Binary{Name: name, Path: path, Version: pin.Version}, true, nil
}

// Ensure finds a server, or builds it into the cache, which takes minutes the first time: report shows
// the progress. Processes never build at the same time, and an interrupted build leaves no incomplete
// files.
func Ensure(ctx context.Context, name string, report *Reporter) (Binary, error) {
	pin, err := pinOf(name)
	if err != nil {
		return Binary{}, err
	}
	if binary, ok := onPath(ctx, pin, report); ok {
		return binary, nil
	}
	b, err := newBuilder()
	if err != nil {
		return Binary{}, err
	}
	path, err := b.ensure(ctx, pin, report)
	if err != nil {
		return Binary{}, fmt.Errorf("%s %s: %w", pin.Title, pin.Version, err)
	}
	return Binary{Name: name, Path: path, Version: pin.Version}, nil
}

func pinOf(name string) (Pin, error) {
	var known []string
	for _, pin := range Pins() {
		if pin.Name == name {
			return pin, nil
		}
		known = append(known, pin.Name)
	}
	return Pin{}, fmt.Errorf("unknown server %q; the known servers are %s", name, strings.Join(known, ", "))
}

// onPath returns the machine's own binary if its version is suitable.
func onPath(ctx context.Context, pin Pin, report *Reporter) (Binary, bool) {
	path, ok := pin.onPath()
	if !ok {
		return Binary{}, false
	}
	binary, err := pin.program(ctx, path)
	if err != nil {
		report.Say("%v", err)
		return Binary{}, false
	}
	return binary, true
}

// onPath is the path of the machine's own binary, whatever its version.
func (p Pin) onPath() (path string, ok bool) {
	if p.NoVersion {
		return "", false
	}
	path, err := exec.LookPath(p.Name)
	if err != nil {
		return "", false
	}
	path, err = filepath.Abs(path)
	return path, err == nil
}

// program is a program whose version is suitable.
func (p Pin) program(ctx context.Context, path string) (Binary, error) {
	version, err := versionOf(ctx, path)
	if err != nil {
		return Binary{}, fmt.Errorf("%s is not used: %w", path, err)
	}
	if compareVersions(version, p.Oldest) < 0 {
		return Binary{}, p.tooOld(path, version)
	}
	return Binary{Name: p.Name, Path: path, Version: version}, nil
}

func (p Pin) tooOld(path, version string) error {
	return fmt.Errorf("%s is not used: its version is %s, and %s or later is needed", path, version, p.Oldest)
}

// versionOf is the version of a built binary.
func (p Pin) versionOf(ctx context.Context, path string) (string, error) {
	if !p.NoVersion {
		return versionOf(ctx, path)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", err
	}
	if info.Main.Path != p.Module {
		return "", fmt.Errorf("%s is built from %s", path, info.Main.Path)
	}
	return strings.TrimPrefix(info.Main.Version, "v"), nil
}

// versionWithin is how long a binary may take to print its version: one that waits for something is no server of ours.
const versionWithin = 20 * time.Second

var serverVersion = regexp.MustCompile(`(?:^|\s)v?(\d+\.\d+(?:\.\d+)?)\b`)

// versionOf asks a binary for its version, which most of these servers print as "Name v1.2.3", and
// SeaweedFS as "version 30GB 4.39".
func versionOf(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version")
	cmd.Env = append(os.Environ(), "AWS_CA_BUNDLE=") // Nomad's AWS client fails on it
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s version: %w: %s", path, err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s version: %w", path, err)
	}
	m := serverVersion.FindStringSubmatch(string(out))
	if m == nil {
		return "", fmt.Errorf("%s version: no version in %q", path, strings.TrimSpace(string(out)))
	}
	return m[1], nil
}

// compareVersions compares two versions of three numbers; the result is negative if a is older.
func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return x - y
		}
	}
	return len(as) - len(bs)
}
