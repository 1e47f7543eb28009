// Command detent-servers installs what the project's own tools need: the servers, and Python
// environments. The justfile runs it; it prints paths for shells:
//
//	detent-servers nomad consul
//	detent-servers azurite
//	detent-servers python demo
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/nodeprog"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, servers.NewReporter(os.Stderr))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "detent-servers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer, report *servers.Reporter) error {
	if len(args) == 0 {
		return errors.New("usage: detent-servers SERVER… | detent-servers python ENVIRONMENT")
	}
	if args[0] == "python" {
		if len(args) != 2 {
			return errors.New("usage: detent-servers python ENVIRONMENT")
		}
		python, err := pyenv.Named(ctx, args[1], report)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, python)
		return err
	}
	for _, name := range args {
		if program, is := nodeprog.Programs()[name]; is {
			script, err := program.Ensure(ctx, report)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(out, script); err != nil {
				return err
			}
			continue
		}
		binary, err := servers.Ensure(ctx, name, report)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, binary.Path); err != nil {
			return err
		}
	}
	return nil
}
