// detent-gpucheck packs what checks Detent on a machine with NVIDIA's GPUs, and makes the checks on this machine: just gpu-check.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/detent-ml/detent/nomad/gpucheck"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "detent-gpucheck:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	var o gpucheck.Options
	flag.StringVar(&o.Root, "root", ".", "the checkout, with Detent's programs in its folder bin")
	flag.StringVar(&o.Out, "pack", filepath.Join("bin", "gpu-check.tar.xz"), "the pack to write")
	flag.StringVar(&o.Wheels, "wheels", "", "folder with wheels that the Python of the other machine lacks")
	only := flag.Bool("only-pack", false, "make no checks here")
	python := flag.String("python", "", "the Python with PyTorch for the checks here (default: one that is installed once)")
	flag.Parse()
	report := servers.NewReporter(os.Stderr)
	if err := pack(ctx, &o, out, report); err != nil || *only {
		return err
	}
	if *python == "" {
		var err error
		if *python, err = pyenv.Named(ctx, "torch", report); err != nil {
			return err
		}
	}
	return gpucheck.Run(ctx, o.Out, *python, flag.Args(), out)
}

func pack(ctx context.Context, o *gpucheck.Options, out io.Writer, report *servers.Reporter) error {
	nomad, err := servers.Ensure(ctx, "nomad", report)
	if err != nil {
		return err
	}
	o.Programs, o.Nomad = filepath.Join(o.Root, "bin"), nomad.Path
	if o.Postgres, err = servers.PostgresFolder(ctx, report); err != nil {
		return err
	}
	task := report.Task("packing, about two minutes")
	size, err := gpucheck.Write(ctx, *o)
	if err != nil {
		task.Fail()
		return err
	}
	task.Done(o.Out)
	_, err = fmt.Fprintf(out, "%s  %.1f MB\nOn the machine with GPUs, which needs a driver and a Python with PyTorch:\n  tar xJf %s && python3 gpu-check\n",
		o.Out, float64(size)/1e6, filepath.Base(o.Out))
	return err
}
