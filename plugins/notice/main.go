// Program det-notice tells Nomad that a cloud takes its machine back.
//
//	det-notice [-cloud auto|aws|google|azure] [-rebalance] [-maintenance=false]
//
// It runs as a system job (nomad/notice.nomad.hcl) on the nodes of a pool. Package cloud asks the metadata service of
// the cloud; watch.go looks again and again; plan.go decides what the metadata of the node must say; node.go writes them
// through Nomad's client on this node. The masters read the metadata, preempt the trials of the node and place nothing
// more there. The program keeps no state: what it has set, it recognizes by its name in the reason, and so it also
// withdraws what it set before the machine was stopped and started again.
//
// It is static and small, because it runs on every node, in its own job, so that only this job has the right to write
// metadata of nodes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/notice/cloud"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr, host{pauses: usualPauses(), drop: drop}))
}

// host is what differs in tests.
type host struct {
	pauses
	drop func() error // gives up what is needed no more
}

// settings are what the flags say.
type settings struct {
	cloud    string
	address  string // of the metadata service
	counts   cloud.Options
	printing bool // the version
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("det-notice", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.cloud, "cloud", "auto", "aws, google or azure; auto asks the metadata service which one it is of")
	flags.StringVar(&s.address, "metadata", cloud.Address, "address of the metadata service, for a try with a service of your own")
	flags.BoolVar(&s.counts.Rebalance, "rebalance", false, "count AWS's recommendations to leave a machine, which say no time and are not withdrawn")
	flags.BoolVar(&s.counts.Maintenance, "maintenance", true, "count maintenance by Google and Azure that ends what runs on the machine")
	flags.BoolVar(&s.printing, "version", false, "print the version")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stderr)
			flags.Usage()
		}
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("expected only flags, found %.40q", flags.Arg(0))
	}
	if u, err := url.Parse(s.address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return s, fmt.Errorf("-metadata: expected an address such as %s, found %.100q", cloud.Address, s.address)
	}
	if s.cloud != "auto" {
		if _, err := cloud.Named(s.cloud, s.address, s.counts, time.Now); err != nil {
			return s, fmt.Errorf("-cloud: %w", err)
		}
	}
	return s, nil
}

// run is the program, until ctx ends.
func run(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer, h host) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "det-notice:", err)
		return 2
	}
	if s.printing {
		fmt.Fprintln(stdout, "det-notice", v1.Version)
		return 0
	}
	node, err := newNode(env)
	if err == nil {
		err = h.drop()
	}
	if err != nil {
		fmt.Fprintln(stderr, "det-notice:", err)
		return 1
	}
	w := &watcher{node: node, log: slog.New(slog.NewTextHandler(stderr, nil)), pauses: h.pauses}
	c, err := w.detect(ctx, func(ctx context.Context) (cloud.Cloud, error) {
		if s.cloud != "auto" {
			return cloud.Named(s.cloud, s.address, s.counts, time.Now)
		}
		return cloud.Detect(ctx, s.address, s.counts, time.Now)
	})
	if err == nil {
		w.log.Info("watching for notices", "cloud", c.Name(), "address", s.address)
		err = w.watch(ctx, c)
	}
	if ctx.Err() != nil {
		return 0
	}
	fmt.Fprintln(stderr, "det-notice:", err)
	return 1
}
