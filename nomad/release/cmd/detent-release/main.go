// detent-release makes a release from the checkout in which it runs: just release.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/detent-ml/detent/nomad/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "detent-release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := release.Options{Root: ".", Servers: release.Servers, Clients: release.Clients, Log: os.Stderr}
	here := false
	flag.StringVar(&o.Out, "out", "release", "folder that receives the files; it must be new or empty")
	flag.StringVar(&o.Python, "python", "", "Python with pip, which builds the wheel")
	flag.BoolVar(&here, "here", false, "build for this machine's platform only")
	flag.Parse()
	if here {
		t := release.Target{OS: runtime.GOOS, Arch: runtime.GOARCH}
		o.Servers, o.Clients = []release.Target{t}, []release.Target{t}
	}
	files, err := release.Build(ctx, o)
	if err != nil {
		return err
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return err
		}
		fmt.Printf("%8.1f MB  %s\n", float64(info.Size())/1e6, f)
	}
	return nil
}
