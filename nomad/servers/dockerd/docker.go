package dockerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/debian"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

// docker has the programs of a daemon. The other dependencies of its packages are for installations: an
// init system, and a firewall's rules, which only a bridge needs.
func docker() debian.Set {
	return debian.Set{Name: "docker", Title: "Docker", Programs: []string{"dockerd", "containerd", "containerd-shim-runc-v2", "runc"},
		Packages: []string{"docker.io", "containerd", "runc"}}
}

// Find finds the programs of a daemon on PATH, or fetches them; with a bridge also the programs for its
// firewall rules.
func Find(ctx context.Context, bridge bool, report *servers.Reporter) error {
	_, err := findDocker(ctx, bridge, report)
	return err
}

func findDocker(ctx context.Context, bridge bool, report *servers.Reporter) (debian.Found, error) {
	found, err := docker().Find(ctx, debian.MachinePath(), report)
	if err == nil && bridge {
		var wall debian.Found
		wall, err = firewall().Find(ctx, found.Path, report)
		found.Path = wall.Path
	}
	return found, orNone(err)
}

// orNone converts ErrNone of package debian to this package's, which is a reason to skip a test.
func orNone(err error) error {
	if errors.Is(err, debian.ErrNone) {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	return err
}

// launchDocker starts a Docker daemon.
func (d *Docker) launchDocker(ctx context.Context, o Options) (*proc.Process, error) {
	found, err := findDocker(ctx, o.Bridge, o.Reporter)
	if err == nil && o.Bridge {
		err = ownNetwork()
	}
	if err != nil {
		return nil, err
	}
	// The pid of a killed daemon may belong to another process now.
	if err := os.Remove(filepath.Join(d.Dir, "pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// Do not use the settings of the machine's own daemon.
	if err := os.WriteFile(filepath.Join(d.Dir, "daemon.json"), []byte("{}\n"), 0o600); err != nil {
		return nil, err
	}
	args := []string{
		"--host=unix://" + d.Socket, "--group=0", "--data-root=" + filepath.Join(d.Dir, "data"),
		"--exec-root=" + filepath.Join(d.Dir, "exec"), "--pidfile=" + filepath.Join(d.Dir, "pid"),
		"--config-file=" + filepath.Join(d.Dir, "daemon.json"), "--log-level=warn",
	}
	if !o.Bridge {
		args = append(args, "--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-masq=false", "--userland-proxy=false")
	}
	return proc.Start(proc.Spec{Path: found.Programs["dockerd"], Dir: d.Dir, Log: d.logFile(), Env: environment(found.Path, rootHome), Args: args})
}
