// Package dockerd runs a Docker daemon of a test's own.
//
// Tasks in containers are tested on a real daemon. One that is on PATH is used;
// else, where this is Debian and there is the right to, Debian's packages are
// fetched once into the user's cache and unpacked there, without being installed.
// The daemon keeps everything in one folder, listens on a Unix socket in it, and ends
// by its process's identity. Nothing of the machine's own Docker is touched. It makes
// no bridge and no firewall rules (tasks use the network of their node), unless it is
// asked for them within a network namespace other than the machine's.
//
// dockerd.go starts and ends it, find.go brings its programs, bridge.go those of a
// firewall, and api.go talks to it: images are made from a tar, so that no registry is
// needed.
package dockerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

const (
	startTime = 60 * time.Second
	stopTime  = 60 * time.Second // it ends its containers first
	poll      = 50 * time.Millisecond
	// maxSocketPath is what a Unix socket's path may have. The longest one below
	// the folder is that of the daemon's containerd.
	maxSocketPath = 107
)

// ErrNone is returned where there is no Docker, and none can be had. It says why.
var ErrNone = errors.New("no Docker")

// Options says which daemon to run.
type Options struct {
	Dir      string // holds all of it; one daemon per folder
	Bridge   bool   // with Docker's bridge and its firewall rules, in a network namespace other than the machine's
	Reporter *servers.Reporter
}

// Docker is a daemon that goes on when this program ends.
type Docker struct {
	Dir     string
	Socket  string // path of its Unix socket
	Version string
	id      proc.ID
}

// Start starts the daemon of a folder, or finds it running.
func Start(ctx context.Context, o Options) (*Docker, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: a daemon of its own needs root", ErrNone)
	}
	if n := len(filepath.Join(dir, "exec", "containerd", "containerd.sock.ttrpc")); n > maxSocketPath {
		return nil, fmt.Errorf("docker in %s: the path is too long by %d characters for the sockets in it", dir, n-maxSocketPath)
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, err
	}
	unlock, err := servers.Lock(ctx, filepath.Join(dir, "lock"), nil)
	if err != nil {
		return nil, err
	}
	defer unlock()
	d := Open(dir)
	if !d.id.Alive() {
		programs, err := find(ctx, o.Bridge, o.Reporter)
		if err != nil {
			return nil, err
		}
		if o.Bridge {
			err = ownNetwork()
		}
		if err == nil {
			err = d.launch(programs, o.Bridge)
		}
		if err != nil {
			return nil, fmt.Errorf("docker in %s: %w", dir, err)
		}
	}
	if err := d.awaitReady(ctx); err != nil {
		return nil, fmt.Errorf("docker in %s: %w", dir, err)
	}
	return d, nil
}

// Open returns the daemon of a folder as it is, running or not.
func Open(dir string) *Docker {
	d := &Docker{Dir: dir, Socket: filepath.Join(dir, "docker.sock")}
	if text, err := os.ReadFile(d.stateFile()); err == nil {
		_ = json.Unmarshal(text, &d.id) // what cannot be read names no process
	}
	return d
}

// Process is the daemon's.
func (d *Docker) Process() proc.ID { return d.id }

func (d *Docker) stateFile() string { return filepath.Join(d.Dir, "process.json") }
func (d *Docker) logFile() string   { return filepath.Join(d.Dir, "log") }

func (d *Docker) launch(p programs, bridge bool) error {
	// The pid of a daemon that was killed may be somebody else's by now.
	if err := os.Remove(filepath.Join(d.Dir, "pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Settings of the machine's own daemon are not this one's.
	if err := os.WriteFile(filepath.Join(d.Dir, "daemon.json"), []byte("{}\n"), 0o600); err != nil {
		return err
	}
	args := []string{
		"--host=unix://" + d.Socket, "--group=0", "--data-root=" + filepath.Join(d.Dir, "data"),
		"--exec-root=" + filepath.Join(d.Dir, "exec"), "--pidfile=" + filepath.Join(d.Dir, "pid"),
		"--config-file=" + filepath.Join(d.Dir, "daemon.json"), "--log-level=warn",
	}
	if !bridge {
		args = append(args, "--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-masq=false", "--userland-proxy=false")
	}
	process, err := proc.Start(proc.Spec{Path: p.dockerd, Dir: d.Dir, Log: d.logFile(), Env: p.env(), Args: args})
	if err != nil {
		return err
	}
	d.id = process.ID
	text, err := json.Marshal(d.id)
	if err != nil {
		return err
	}
	return os.WriteFile(d.stateFile(), text, 0o600)
}

func (d *Docker) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		version, err := d.version(ctx)
		if err == nil {
			d.Version = version
			return nil
		}
		if !d.id.Alive() {
			return fmt.Errorf("it ended while starting%s", proc.LogTail(d.logFile(), 15))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w%s", err, proc.LogTail(d.logFile(), 15))
		case <-tick.C:
		}
	}
}

// Stop ends the daemon and its containers.
func (d *Docker) Stop(ctx context.Context) error {
	if err := d.id.Stop(ctx, syscall.SIGTERM, stopTime); err != nil {
		return fmt.Errorf("stop Docker: %w", err)
	}
	return nil
}

// Remove removes the folder of a daemon that was stopped.
func (d *Docker) Remove() error {
	if d.id.Alive() {
		return fmt.Errorf("%s is kept: its daemon runs", d.Dir)
	}
	if err := unmountBelow(d.Dir); err != nil {
		return fmt.Errorf("%s is kept: %w", d.Dir, err)
	}
	return os.RemoveAll(d.Dir)
}

// programs are those that a daemon is made of.
type programs struct {
	dockerd string
	path    string // where it finds the others
}

// env is the daemon's environment: what it finds, and how it reaches registries.
func (p programs) env() []string {
	out := []string{"PATH=" + p.path, "HOME=/root"}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir":
			out = append(out, v)
		}
	}
	return out
}
