// Package pyenv creates Python environments once, in the user's cache.
//
// Tests and linters of the Python package need exact versions of tools, and tests of compatibility need
// another project's package; both must not be in the user's own Python. An environment has a name; its
// folder depends on its packages, so a changed list makes a new environment, and a new checkout uses
// existing ones.
package pyenv

import (
	"bufio"
	"bytes"
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
	"slices"
	"strings"

	"github.com/detent-ml/detent/nomad/servers"
)

// whole marks a complete environment. Environments cannot be renamed, because their scripts contain
// their path, so they are created in place.
const whole = ".whole"

// Ensure returns the Python of an environment with a set of packages, and creates it the first time.
// The scripts of its packages are in the same folder.
func Ensure(ctx context.Context, name string, set Set, report *servers.Reporter) (python string, err error) {
	system, err := exec.LookPath("python3")
	if err != nil {
		return "", errors.New("python3 is not on PATH; install it (Debian: apt-get install python3 python3-venv)")
	}
	version, err := exec.CommandContext(ctx, system, "-c", "import sys; print(sys.version, sys.base_prefix)").Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", system, err)
	}
	cache, err := servers.CacheDir()
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256([]byte(string(version) + "\n" + strings.Join(set.all(), "\n")))
	dir := filepath.Join(cache, "python", name+"-"+hex.EncodeToString(hash[:6]))
	python = filepath.Join(dir, "bin", "python")
	err = servers.Once(ctx, dir, servers.Part{
		Lock: dir + ".lock", There: func() bool { return isWhole(dir) }, Waiting: fmt.Sprintf("making the Python environment %q", name),
		Making: fmt.Sprintf("making the Python environment %q, once (%s)", name, set.summary()),
		Make: func(ctx context.Context, task *servers.Task) error {
			if err := create(ctx, system, dir, set, task.Update); err != nil {
				return fmt.Errorf("cannot create the Python environment %q: %w", name, err)
			}
			return nil
		},
	}, report)
	return python, err
}

func isWhole(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, whole))
	return err == nil
}

func create(ctx context.Context, system, dir string, set Set, say func(string)) error {
	// An existing folder is from an interrupted run.
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, system, "-m", "venv", dir).CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ensurepip is not available") {
			return fmt.Errorf("%s cannot make environments; install its venv module (Debian: apt-get install python3-venv)", system)
		}
		return fmt.Errorf("%s -m venv %s: %w\n%s", system, dir, err, out)
	}
	python := filepath.Join(dir, "bin", "python")
	if len(set.Alone) > 0 {
		if err := install(ctx, python, append([]string{"--no-deps"}, set.Alone...), say); err != nil {
			return err
		}
	}
	if err := install(ctx, python, set.Requirements, say); err != nil {
		return err
	}
	if set.Finish != "" {
		if out, err := exec.CommandContext(ctx, python, "-c", set.Finish).CombinedOutput(); err != nil {
			return fmt.Errorf("cannot run its last step: %w\n%s", err, out)
		}
	}
	return os.WriteFile(filepath.Join(dir, whole), nil, 0o644)
}

// install runs pip, and reports the current package.
func install(ctx context.Context, python string, what []string, say func(string)) error {
	args := append([]string{"-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"}, what...)
	cmd := exec.CommandContext(ctx, python, args...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		for _, step := range []string{"Collecting ", "Downloading ", "Building ", "Installing "} {
			if strings.HasPrefix(line, step) {
				say(line)
			}
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line was too long; pip must not block
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("pip install: %w\n%s", err, reasons(problems.String()))
	}
	return nil
}

// maxReasons is the number of lines of pip that a message quotes.
const maxReasons = 12

var countdown = regexp.MustCompile(`\(Retry\(total=[^)]*\)\) `)

// reasons is the end of what pip says of its failure, without the repetitions of what it tries several times.
func reasons(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		line = countdown.ReplaceAllString(strings.TrimSpace(line), "")
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-maxReasons):], "\n")
}
