package servers

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// recipe is part of a binary's path in the cache: increase it when the build changes.
const recipe = 1

const buildFlags = "-s -w"

// builder builds servers from the Go module registry.
//
// "go install module@version" cannot build a release whose go.mod replaces modules by folders of its
// repository. So the builder writes a module with the release's go.mod, without these replacements and
// with the server as a requirement; the release's go.sum verifies everything.
type builder struct {
	cache string   // contains a folder for each server
	env   []string // of the go tool
}

func newBuilder() (*builder, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	// A developer's settings for another module must not affect this build.
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOFLAGS", "GOOS", "GOARCH", "GOWORK", "GO111MODULE", "GOEXPERIMENT"}, name)
	})
	return &builder{cache: filepath.Join(cache, "servers"), env: append(env, "GOWORK=off")}, nil
}

// dir is the folder of a pin's binary; its name depends on the recipe.
func (b *builder) dir(pin Pin) string {
	text, err := json.Marshal(struct {
		Pin    Pin
		Recipe int
		System string
		Flags  string
	}{pin, recipe, runtime.GOOS + "/" + runtime.GOARCH, buildFlags})
	if err != nil {
		panic(fmt.Sprintf("a pin that is no JSON: %v", err)) // strings always encode
	}
	hash := sha256.Sum256(text)
	return filepath.Join(b.cache, fmt.Sprintf("%s-%s-%s", pin.Name, pin.Version, hex.EncodeToString(hash[:6])))
}

func (b *builder) binary(pin Pin) string { return filepath.Join(b.dir(pin), pin.Name) }

// ensure returns the path of the built binary, and builds it if necessary.
func (b *builder) ensure(ctx context.Context, pin Pin, report *Reporter) (path string, err error) {
	path = b.binary(pin)
	if exists(path) {
		return path, nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("it is neither on PATH (%s or later) nor built yet, and the build needs Go; install Go (https://go.dev/dl), or the server", pin.Oldest)
	}
	return path, Once(ctx, path, Part{
		Lock: b.dir(pin) + ".lock", There: func() bool { return exists(path) }, Waiting: "building " + pin.Title,
		Making: fmt.Sprintf("building %s %s, once, about %d minutes", pin.Title, pin.Version, pin.Minutes),
		Make:   func(ctx context.Context, task *Task) error { return b.build(ctx, pin, task) },
	}, report)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// build builds in a temporary folder and renames it, so that the final folder is complete or missing.
// The lock is held, so an existing temporary folder is from a build that was killed.
func (b *builder) build(ctx context.Context, pin Pin, task *Task) error {
	fresh := b.dir(pin) + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	module := filepath.Join(fresh, "module")
	if err := os.MkdirAll(module, 0o755); err != nil {
		return err
	}
	task.Update("fetching its source")
	if err := b.writeModule(ctx, pin, module); err != nil {
		return err
	}
	task.Update("looking up its packages")
	total, err := b.countPackages(ctx, pin, module)
	if err != nil {
		return err
	}
	binary := filepath.Join(fresh, pin.Name)
	if err := b.compile(ctx, pin, module, binary, total, task); err != nil {
		return err
	}
	version, err := pin.versionOf(ctx, binary)
	if err != nil {
		return err
	}
	if version != pin.Version {
		return fmt.Errorf("the built binary reports version %s", version)
	}
	if err := os.RemoveAll(module); err != nil {
		return err
	}
	return os.Rename(fresh, b.dir(pin))
}

// writeModule writes the module that builds the server.
func (b *builder) writeModule(ctx context.Context, pin Pin, dir string) error {
	// Outside of any module: a go.mod in a parent folder could reject the version.
	out, err := b.run(ctx, dir, "mod", "download", "-json", pin.Module+"@"+pin.release())
	if err != nil {
		return err
	}
	var release struct{ Dir string }
	if err := json.Unmarshal(out, &release); err != nil {
		return fmt.Errorf("cannot download modules (go mod download): %w in %q", err, out)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(release.Dir, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	if out, err = b.run(ctx, dir, "mod", "edit", "-json"); err != nil {
		return err
	}
	var file struct {
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(out, &file); err != nil {
		return fmt.Errorf("parse the output of go mod edit -json: %w", err)
	}
	edit := []string{"mod", "edit", "-module=build/" + pin.Name, "-require=" + pin.Module + "@" + pin.release()}
	for _, r := range file.Replace {
		if strings.HasPrefix(r.New.Path, ".") {
			old := r.Old.Path
			if r.Old.Version != "" {
				old += "@" + r.Old.Version
			}
			edit = append(edit, "-dropreplace="+old)
		}
	}
	for old, by := range pin.Replace {
		edit = append(edit, "-replace="+old+"="+by)
	}
	_, err = b.run(ctx, dir, edit...)
	return err
}

// countPackages counts the packages of the server, and downloads their modules.
func (b *builder) countPackages(ctx context.Context, pin Pin, dir string) (int, error) {
	out, err := b.run(ctx, dir, "list", "-mod=mod", "-deps", "-tags", pin.Tags, "-f", "{{.ImportPath}}", pin.Package)
	return bytes.Count(out, []byte("\n")), err
}

// compile runs go build, which prints each package that it compiles, except those in the build cache.
func (b *builder) compile(ctx context.Context, pin Pin, dir, binary string, total int, task *Task) error {
	cmd := b.command(ctx, dir, "build", "-v", "-mod=mod", "-tags", pin.Tags, "-ldflags", buildFlags, "-o", binary, pin.Package)
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var rest []string // lines that are not packages: compiler errors
	compiled := 0
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "go: downloading "):
		case strings.ContainsAny(line, " \t:"):
			rest = append(rest, line)
		default:
			compiled++
			task.Update(fmt.Sprintf("compiled %d of %d packages", compiled, total))
		}
	}
	// A line that is too long for the scanner must not block the compiler.
	_, _ = io.Copy(io.Discard, said)
	if err := cmd.Wait(); err != nil {
		return goError(ctx, "build", err, strings.Join(rest, "\n"))
	}
	return nil
}

// run runs the go tool and returns its standard output.
func (b *builder) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := b.command(ctx, dir, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, goError(ctx, args[0], err, said.String()+out.String())
	}
	return out.Bytes(), nil
}

// command is the go tool in its own process group, which is killed as a whole: remaining compilers
// would write into a folder that is being removed.
func (b *builder) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, b.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func goError(ctx context.Context, verb string, err error, said string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("go %s was interrupted: %w", verb, ctx.Err())
	}
	const most = 30
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return fmt.Errorf("go %s: %w\n%s", verb, err, strings.Join(lines[max(0, len(lines)-most):], "\n"))
}
