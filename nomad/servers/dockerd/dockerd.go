// Package dockerd runs a Docker daemon, or Podman's service, for a test.
//
// Tests of tasks in containers use real containers. Programs on PATH are used first; otherwise, on
// Debian and with the right to do so, Debian's packages are downloaded once into the user's cache and
// unpacked there (package debian). The daemon stores everything in one folder, listens on a Unix socket
// in it, and is identified by its process. It does not affect the machine's own Docker or Podman. It
// makes no bridge and no firewall rules (tasks use the network of their node), except on request, and
// then only in a network namespace other than the machine's.
//
// dockerd.go starts and stops it, docker.go and podman.go have its programs and settings, bridge.go
// those of a firewall, and api.go is a client of Docker's API, which Podman supports too: images are
// made from a tar, so no registry is needed.
package dockerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/mountinfo"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

const (
	startTime = 60 * time.Second
	stopTime  = 60 * time.Second // the daemon stops its containers first
	rootHome  = "/root"
	// maxSocketPath is the maximum length of a Unix socket's path. The longest one below the folder is
	// that of the daemon's containerd.
	maxSocketPath = 107
)

// ErrNone is returned if no daemon is available. The message says why.
var ErrNone = errors.New("no daemon for containers")

// Options selects the daemon.
type Options struct {
	Dir      string // folder of the daemon; one daemon per folder
	Podman   bool   // Podman's service instead of a Docker daemon
	Bridge   bool   // with Docker's bridge and its firewall rules, in a network namespace other than the machine's
	Reporter *servers.Reporter
}

// Docker is a daemon that continues to run when this program ends.
type Docker struct {
	Dir     string
	Socket  string // path of its Unix socket
	Version string
	podman  bool
	id      proc.ID
}

// Start starts the daemon of a folder, or finds it running.
func Start(ctx context.Context, o Options) (*Docker, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: starting a Docker daemon needs root", ErrNone)
	}
	if n := len(filepath.Join(dir, "exec", "containerd", "containerd.sock.ttrpc")); n > maxSocketPath {
		return nil, fmt.Errorf("cannot start a daemon in %s: the path is %d characters too long for its sockets", dir, n-maxSocketPath)
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, err
	}
	unlock, err := servers.Lock(ctx, filepath.Join(dir, "lock"), nil)
	if err != nil {
		return nil, err
	}
	defer unlock()
	d := open(dir, o.Podman)
	if !d.id.Alive() {
		if err := d.launch(ctx, o); err != nil {
			return nil, fmt.Errorf("%s in %s: %w", d.title(), dir, err)
		}
	}
	err = d.id.Await(ctx, startTime, d.logFile(), func(ctx context.Context) (err error) {
		d.Version, err = d.version(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", d.title(), dir, err)
	}
	return d, nil
}

// open returns the daemon of a folder without starting it.
func open(dir string, podman bool) *Docker {
	d := &Docker{Dir: dir, podman: podman}
	d.Socket = filepath.Join(dir, d.title()+".sock")
	if text, err := os.ReadFile(d.stateFile()); err == nil {
		_ = json.Unmarshal(text, &d.id) // a damaged file names no process
	}
	return d
}

func (d *Docker) title() string {
	if d.podman {
		return "podman"
	}
	return "docker"
}

// Process is the daemon's process.
func (d *Docker) Process() proc.ID { return d.id }

func (d *Docker) stateFile() string { return filepath.Join(d.Dir, "process.json") }
func (d *Docker) logFile() string   { return filepath.Join(d.Dir, "log") }

func (d *Docker) launch(ctx context.Context, o Options) error {
	start := d.launchDocker
	if d.podman {
		start = d.launchPodman
	}
	process, err := start(ctx, o)
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

// Stop stops the daemon and its containers.
func (d *Docker) Stop(ctx context.Context) error {
	if d.podman {
		if err := d.endContainers(ctx); err != nil {
			return err
		}
	}
	if err := d.id.Stop(ctx, syscall.SIGTERM, stopTime); err != nil {
		return fmt.Errorf("cannot stop %s: %w", d.title(), err)
	}
	return nil
}

// Remove removes the folder of a stopped daemon.
func (d *Docker) Remove() error {
	if d.id.Alive() {
		return fmt.Errorf("%s is not removed, because its daemon still runs", d.Dir)
	}
	if err := mountinfo.UnmountBelow(d.Dir); err != nil {
		return fmt.Errorf("%s is kept: %w", d.Dir, err)
	}
	return os.RemoveAll(d.Dir)
}

// environment is the environment of a daemon: its PATH, and how it reaches registries.
func environment(path, home string) []string {
	out := []string{"PATH=" + path, "HOME=" + home}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir":
			out = append(out, v)
		}
	}
	return out
}
