//go:build linux

// Command det-runner is the first process of every task.
//
//	det-runner run     claims the attempt, runs its program, reports its end
//	det-runner credentials FILE   prints the keys that are valid now, for a client of S3
//	det-runner probe   says what this machine offers to tasks, as JSON
//
// It is one static binary without dependencies, because it runs in any image and on any node.
// Its environment is set by Nomad and by the master's job; see docs/runner.md. It starts itself
// with the verbs `claim`, `attempt`, `inside`, `dump-env` and `shell`.
//
// Package attempt runs a task; masters finds a master that answers; loopback is the master that
// the program sees; sandbox is the environment of the program; account is the account as which it runs;
// gateway is for clients of the task; shell is the SSH server; logs sends the output; unpack extracts
// archives; regular opens files that a program may have replaced.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/detent-ml/detent/master/cacerts"
	"github.com/detent-ml/detent/plugins/runner/attempt"
	"github.com/detent-ml/detent/plugins/runner/credentials"
	"github.com/detent-ml/detent/plugins/runner/detcli"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
	"github.com/detent-ml/detent/plugins/runner/shell"
)

func main() {
	cacerts.Provide()
	if filepath.Base(os.Args[0]) == "det" {
		os.Exit(det(os.Args[1:]))
	}
	os.Exit(command(os.Args[1:]))
}

// det is the name under which this program is the command line.
func det(args []string) int {
	if err := detcli.Main(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

func command(args []string) int {
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch verb {
	case "run":
		return attempt.Run(os.Environ(), os.Stderr)
	case attempt.AttemptVerb:
		return run(args[1:])
	case attempt.ClaimVerb:
		return attempt.Claim(os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	case "probe":
		return probe()
	case credentials.Verb:
		return keys(args[1:])
	case sandbox.InsideVerb:
		return sandbox.Inside()
	case shell.Verb:
		if len(args) != 2 {
			break
		}
		if err := shell.Main(args[1], os.Stdout, ends()); err != nil {
			fmt.Fprintln(os.Stderr, "det-runner:", err)
			return 1
		}
		return 0
	case attempt.DumpVerb:
		if len(args) != 2 {
			break
		}
		if err := attempt.Dump(args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "det-runner:", err)
			return 1
		}
		return 0
	case "version":
		fmt.Println("det-runner", version())
		return 0
	}
	fmt.Fprintln(os.Stderr, "usage: det-runner run|probe|version")
	return 2 // as of det and det-master
}

// run runs the attempt that a process with these arguments claims.
func run(args []string) int {
	signals := ends()
	claimant, err := attempt.NewClaimant(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "det-runner:", err)
		return attempt.CodeMisplaced
	}
	process := attempt.Process{Env: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals, Self: self(), Claimant: claimant}
	stdout, stderr, err := logs.NomadLogs(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "det-runner:", err)
		return attempt.CodeMisplaced
	}
	if stdout != nil {
		process.Stdout, process.Stderr = stdout, stderr
	}
	return attempt.Attempt(process)
}

// ends receives the signals with which Nomad stops a task. A broken pipe to Nomad's log
// collector does not end the runner: the failed write reports it.
func ends() <-chan os.Signal {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGHUP)
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	return c
}

// self is the path with which a shell in the sandbox can start this executable.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return "/proc/self/exe"
	}
	return path
}

// keys answers an S3 client that calls this program for its keys.
func keys(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: det-runner credentials FILE")
		return attempt.CodeMisplaced
	}
	ctx, stop := context.WithTimeout(context.Background(), credentials.Patience)
	defer stop()
	if err := credentials.Print(ctx, args[0], os.Stdout, time.Now); err != nil {
		fmt.Fprintln(os.Stderr, "det-runner:", err)
		return 1
	}
	return 0
}

func probe() int {
	found := sandbox.Probe()
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	if err := e.Encode(found); err != nil {
		fmt.Fprintln(os.Stderr, "det-runner:", err)
		return 1
	}
	return 0
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return info.Main.Version
}
