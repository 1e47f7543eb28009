package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// A command is a call of a test runner whose output goes to the caller as it arrives.
type command struct {
	dir     string
	env     []string
	command []string
}

// run runs the command, prints its output, and returns the end of the output and the exit status.
func (c command) run(ctx context.Context, to outputs) (output []byte, status int, err error) {
	cmd := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	kept := &tail{}
	both := &both{to: to.out, kept: kept}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, append(os.Environ(), c.env...), both, both
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = interruptGrace
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return kept.kept, exit.ExitCode(), nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%s was ended: %w", c.command[0], context.Cause(ctx))
	}
	return kept.kept, 0, err
}

// both writes to two writers. It is one value, so that a command's two outputs need no lock.
type both struct {
	to   io.Writer
	kept *tail
}

func (b *both) Write(text []byte) (int, error) {
	_, _ = b.kept.Write(text)
	return b.to.Write(text)
}

// pytestFailed is pytest's exit status when tests failed, or could not be collected.
const (
	pytestFailed      = 1
	pytestInterrupted = 2
)

// runPytest runs pytest with a cache of its own, because several calls of pytest run in the same folder.
func runPytest(ctx context.Context, s session, c command, to outputs) error {
	cache, err := os.MkdirTemp(s.dir, "pytest-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	first := c
	first.command = slices.Concat(c.command, []string{"-o", "cache_dir=" + cache})
	output, status, err := first.run(ctx, to)
	if err != nil || status == 0 {
		return err
	}
	f := failure{Runner: "pytest", Package: c.folder(), Dir: c.dir, Env: c.env, Command: c.command}
	if f.Tests, err = lastFailed(cache); err != nil {
		return err
	}
	// One repeat has all tests of a call: they need the same interpreter, whose start takes longer than most tests.
	f.Test = strings.Join(f.Tests, " ")
	if len(f.Tests) == 0 || status != pytestFailed && status != pytestInterrupted {
		f.Tests, f.Test, f.Why = nil, "", fmt.Sprintf("pytest ended with status %d and named no test", status)
	}
	return s.record(f, output)
}

// repeatPytest runs pytest --last-failed with a cache that names the tests of a failure.
func repeatPytest(ctx context.Context, f failure, to outputs) (status int, err error) {
	c := command{f.Dir, f.Env, f.Command}
	if len(f.Tests) > 0 {
		cache, err := os.MkdirTemp("", "pytest-*")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(cache)
		named := map[string]bool{}
		for _, test := range f.Tests {
			named[test] = true
		}
		text, err := json.Marshal(named)
		if err != nil {
			return 0, err
		}
		file := filepath.Join(cache, "v", "cache", "lastfailed")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
			return 0, err
		}
		c.command = slices.Concat(c.command, []string{"-o", "cache_dir=" + cache, "--last-failed", "--last-failed-no-failures", "none"})
	}
	_, status, err = c.run(ctx, to)
	return status, err
}

// lastFailed reads which tests pytest found to fail.
func lastFailed(cache string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(cache, "v", "cache", "lastfailed"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // pytest has not got that far
	}
	if err != nil {
		return nil, err
	}
	var tests map[string]bool
	if err := json.Unmarshal(text, &tests); err != nil {
		return nil, fmt.Errorf("cannot read which tests failed from pytest's cache in %s: %w", cache, err)
	}
	return slices.Sorted(maps.Keys(tests)), nil
}

// vitestReport is what vitest's reporter "json" writes.
type vitestReport struct {
	TestResults []struct {
		Name, Status     string
		AssertionResults []struct{ FullName, Status string }
	}
}

// runVitest runs vitest with a second reporter, which names the tests that failed.
func runVitest(ctx context.Context, s session, c command, to outputs) error {
	report, err := os.CreateTemp(s.dir, "vitest-*.report")
	if err != nil {
		return err
	}
	defer os.Remove(report.Name())
	if err := report.Close(); err != nil {
		return err
	}
	first := c
	first.command = slices.Concat(c.command, []string{"--reporter=default", "--reporter=json", "--outputFile.json=" + report.Name()})
	output, status, err := first.run(ctx, to)
	if err != nil || status == 0 {
		return err
	}
	var read vitestReport
	text, err := os.ReadFile(report.Name())
	if err != nil {
		return err
	}
	if json.Unmarshal(text, &read) != nil { // vitest ended before it wrote its report
		read = vitestReport{}
	}
	found := c.failuresOf(read)
	if len(found) == 0 {
		found = []failure{{Runner: "vitest", Package: c.folder(), Why: fmt.Sprintf("vitest ended with status %d and named no test", status), Dir: c.dir, Env: c.env, Command: c.command}}
	}
	for _, f := range found {
		if err := s.record(f, output); err != nil {
			return err
		}
	}
	return nil
}

func (c command) failuresOf(report vitestReport) (found []failure) {
	for _, file := range report.TestResults {
		n := len(found)
		f := failure{Runner: "vitest", Package: c.folder(), Dir: c.dir, Env: c.env}
		for _, test := range file.AssertionResults {
			if test.Status == "failed" {
				f.Test, f.Command = filepath.Base(file.Name)+": "+test.FullName, slices.Concat(c.command, []string{file.Name, "-t", "^" + regexp.QuoteMeta(test.FullName) + "$"})
				found = append(found, f)
			}
		}
		if file.Status == "failed" && len(found) == n { // the file could not be loaded
			f.Test, f.Command = filepath.Base(file.Name), slices.Concat(c.command, []string{file.Name})
			found = append(found, f)
		}
	}
	return found
}

// folder names the folder of a command in the checkout.
func (c command) folder() string {
	root, err := os.Getwd()
	if err != nil {
		return c.dir
	}
	if rel, err := filepath.Rel(root, c.dir); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return c.dir
}
