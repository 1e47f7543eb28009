// detent-images makes the images in which tasks train, without a registry: just images.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/detent-ml/detent/nomad/images"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "detent-images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	lock := flag.String("lock", "", "folder of the checkout that receives new lock files, with the newest wheels that the recipes allow; makes no image")
	flag.Parse()
	names := flag.Args()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(images.Recipes()))
	}
	report := servers.NewReporter(os.Stderr)
	for _, name := range names {
		if *lock != "" {
			if err := relock(ctx, name, *lock, report); err != nil {
				return err
			}
			continue
		}
		m, err := images.Ensure(ctx, name, report)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s:%s  %.0f MB, %.0f MB unpacked\n  docker load -i %s\n  made of: %s\n", m.Name, m.Tag, float64(m.Size)/1e6, float64(m.Plain)/1e6, m.File, m.Bill)
	}
	return nil
}

func relock(ctx context.Context, name, dir string, report *servers.Reporter) error {
	r, err := images.Named(name)
	if err != nil {
		return err
	}
	pip, err := pyenv.Named(ctx, "pip", report)
	if err != nil {
		return err
	}
	l, err := r.Resolve(ctx, pip, time.Now())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, images.LockFile(name)), []byte(l.Text()), 0o644)
}
