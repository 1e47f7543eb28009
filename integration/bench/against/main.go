// Command against runs the benchmarks of this checkout and of an earlier commit in turn, and prints the figures side by side.
//
//	just bench --against COMMIT                    the parts whose losses have been seen before
//	just bench --against COMMIT -bench 'Reports'   others
//
// The commit is checked out and built in a folder of the user's cache, and is measured by its own benchmarks, on clusters of
// its own that use the same server programs: its master need not know today's configuration. A row is compared if both
// print it. Each side runs several times, in turn, so that a machine that becomes slower does so for both.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	parts := flag.String("bench", "^Benchmark(Master|Submission|Reports)$", "which benchmarks, a regular expression")
	rounds := flag.Int("rounds", 3, "how often each side runs; the table shows the medians")
	flag.Parse()
	if flag.NArg() != 1 || *rounds < 1 {
		fmt.Fprintln(os.Stderr, "usage: just bench --against COMMIT [-bench REGEXP] [-rounds N]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := compare(ctx, flag.Arg(0), *parts, *rounds, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "against:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, commit, parts string, rounds int, out io.Writer) error {
	sha, err := output(ctx, ".", "git", "rev-parse", "--verify", "--quiet", commit+"^{commit}")
	if err != nil {
		return fmt.Errorf("%s is no commit of this repository", commit)
	}
	here, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	there, err := checkout(ctx, here, sha)
	if err != nil {
		return err
	}
	var before, now []table
	for round := range rounds {
		for _, side := range []struct {
			dir    string
			tables *[]table
		}{{there, &before}, {here, &now}} {
			fmt.Fprintf(os.Stderr, "round %d of %d in %s\n", round+1, rounds, side.dir)
			text, err := output(ctx, side.dir, "go", "test", "./integration/bench", "-run", "^$", "-bench", parts, "-benchtime", "1x", "-timeout", "60m")
			if err != nil {
				return err
			}
			*side.tables = append(*side.tables, tableOf(text))
		}
	}
	write(out, sha[:min(8, len(sha))], before, now)
	return nil
}

// checkout returns a folder with a commit and its programs.
func checkout(ctx context.Context, here, sha string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "detent", "against", sha)
	built := filepath.Join(dir, "bin", ".built")
	if _, err := os.Stat(built); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir); err != nil { // of a run that was interrupted
		return "", err
	}
	fmt.Fprintln(os.Stderr, "building", sha, "in", dir)
	for _, step := range [][]string{{here, "git", "clone", "--quiet", "--no-checkout", here, dir}, {dir, "git", "checkout", "--quiet", sha}, {dir, "./justw", "build"}} {
		if _, err := output(ctx, step[0], step[1], step[2:]...); err != nil {
			return "", err
		}
	}
	return dir, os.WriteFile(built, nil, 0o644)
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // a benchmark takes its cluster down
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s in %s: %w\n%s", name, strings.Join(args, " "), dir, err, out.String())
	}
	return strings.TrimSpace(out.String()), nil
}
