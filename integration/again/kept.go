package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
)

// What the folder of flaky tests holds at most.
const (
	maxKept = 100
	keptFor = 30 * 24 * time.Hour
	// abandoned is the age of a run's folder that no run uses any more.
	abandoned = 24 * time.Hour
	runPrefix = "run-"
)

// A keeper is the folder in the user's cache with the flaky tests, and the folders of running runs.
type keeper struct{ dir string }

func newKeeper() (keeper, error) {
	cache, err := servers.CacheDir()
	if err != nil {
		return keeper{}, err
	}
	k := keeper{filepath.Join(cache, "flaky")}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return k, fmt.Errorf("cannot create the folder of flaky tests: %w", err)
	}
	return k, nil
}

// begin creates the session of a run, and removes what earlier runs have left.
func (k keeper) begin() (session, error) {
	old, err := filepath.Glob(filepath.Join(k.dir, runPrefix+"*"))
	if err != nil {
		return session{}, err
	}
	for _, dir := range old {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.RemoveAll(dir)
		}
	}
	dir, err := os.MkdirTemp(k.dir, runPrefix+"*")
	return session{dir}, err
}

// keep moves a failure from its session into the folder.
func (k keeper) keep(f failure) (failure, error) {
	name := f.Time.UTC().Format("2006-01-02T15-04-05") + "-" + filepath.Base(f.Output)
	moved := f
	moved.Output = filepath.Join(k.dir, name)
	if err := errors.Join(os.Rename(f.Output, moved.Output), moved.write(), os.Remove(f.recordFile())); err != nil {
		return f, fmt.Errorf("cannot keep the output of %s: %w", f.name(), err)
	}
	return moved, k.prune()
}

// prune removes the oldest records.
func (k keeper) prune() error {
	all, err := session(k).failures()
	if err != nil {
		return err
	}
	for i, f := range all {
		if len(all)-i > maxKept || time.Since(f.Time) > keptFor {
			f.forget()
		}
	}
	return nil
}

// tests are the flaky tests, each once, with its newest failure.
func (k keeper) tests() ([]failure, error) {
	all, err := session(k).failures()
	if err != nil {
		return nil, err
	}
	var once []failure
	for _, f := range slices.Backward(all) {
		if !slices.ContainsFunc(once, f.same) {
			once = append(once, f)
		}
	}
	return once, nil
}

// again repeats each flaky test some times, and prints how often it passed. With forget it removes the
// records of tests that passed each time.
func (k keeper) again(ctx context.Context, times int, forget bool, to outputs) error {
	tests, err := k.tests()
	if err != nil {
		return err
	}
	if len(tests) == 0 {
		fmt.Fprintln(to.out, "no flaky test is on record in", k.dir)
		return nil
	}
	var said, failing []string
	for _, f := range tests {
		passed := 0
		for range times {
			if why := repeat(ctx, f, to); why == nil {
				passed++
			} else if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		said = append(said, fmt.Sprintf("%s: passed %d of %d times; it failed on %s, see %s", f.name(), passed, times, f.Time.Format(time.DateTime), f.Output))
		switch {
		case passed < times:
			failing = append(failing, f.name())
		case forget:
			if err := k.forget(f); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(to.out, strings.Join(said, "\n"))
	if len(failing) > 0 {
		return fmt.Errorf("%d of %d flaky tests failed again", len(failing), len(tests))
	}
	return nil
}

// forget removes all records of a test.
func (k keeper) forget(f failure) error {
	all, err := session(k).failures()
	for _, other := range all {
		if f.same(other) {
			other.forget()
		}
	}
	return err
}
