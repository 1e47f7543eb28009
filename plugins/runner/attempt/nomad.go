//go:build linux

package attempt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/plugins/runner/masters"
)

// A NomadTask is the Nomad task that this process is: what Nomad and the job set in its
// environment.
type NomadTask struct {
	AllocationID string // Detent's id of the attempt
	Rank         int
	Masters      masters.Options
	AllocDir     string // shared by the processes of this Nomad allocation
	TaskDir      string
	SecretsDir   string
	NomadAllocID string
	NodeID       string
	NodeName     string
	Address      string         // address of this node for the other members
	Ports        map[string]int // by label
	Env          map[string]string
	// PrivateRoot means that the driver gave this task its own root (docker, exec): Nomad's
	// paths are then relative to that root.
	PrivateRoot bool
}

const dockerDriver = "docker"

// driver is the Nomad driver that runs this process.
func (p *NomadTask) driver() string { return p.Env["DET_DRIVER"] }

// healthPort is the label of the port for health checks.
const healthPort = "runner"

// ReadNomadTask reads the environment of this process. The error names all missing variables.
func ReadNomadTask(ctx context.Context, environ []string) (NomadTask, error) {
	env := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	p := NomadTask{
		AllocationID: env["DET_ALLOCATION_ID"],
		AllocDir:     env["NOMAD_ALLOC_DIR"],
		TaskDir:      env["NOMAD_TASK_DIR"],
		SecretsDir:   env["NOMAD_SECRETS_DIR"],
		NomadAllocID: env["NOMAD_ALLOC_ID"],
		NodeID:       env["DET_NODE_ID"],
		NodeName:     env["DET_NODE_NAME"],
		Masters:      masters.Options{File: env["DET_MASTERS_FILE"], CAFile: env["DET_MASTER_CA"]},
		Ports:        map[string]int{},
		Env:          env,
	}
	p.PrivateRoot = p.AllocDir == "/alloc"
	for u := range strings.SplitSeq(env["DET_MASTERS"], ",") {
		if u = strings.TrimSpace(u); u != "" {
			p.Masters.URLs = append(p.Masters.URLs, u)
		}
	}
	var errs []error
	for _, name := range []string{"DET_ALLOCATION_ID", "DET_RANK", "NOMAD_ALLOC_DIR", "NOMAD_TASK_DIR", "NOMAD_SECRETS_DIR", "NOMAD_ALLOC_ID"} {
		if env[name] == "" {
			errs = append(errs, fmt.Errorf("%s is not set: det-runner must be started by a Nomad job that the master made", name))
		}
	}
	var err error
	if p.Rank, err = strconv.Atoi(env["DET_RANK"]); env["DET_RANK"] != "" && (err != nil || p.Rank < 0) {
		errs = append(errs, fmt.Errorf("DET_RANK is %q: it must be a number from 0", env["DET_RANK"]))
	}
	p.network(ctx, env)
	return p, errors.Join(errs...)
}

// network finds the node's address and the ports that Nomad has reserved.
func (p *NomadTask) network(ctx context.Context, env map[string]string) {
	for _, prefix := range []string{"NOMAD_PORT_", "NOMAD_HOST_PORT_"} { // the other members use the second
		for k, v := range env {
			label, ok := strings.CutPrefix(k, prefix)
			if port, err := strconv.Atoi(v); ok && err == nil {
				p.Ports[label] = port
			}
		}
	}
	p.Address = env["DET_NODE_ADDRESS"]
	for _, prefix := range []string{"NOMAD_HOST_IP", "NOMAD_IP"} {
		for k, v := range env {
			if p.Address == "" && strings.HasPrefix(k, prefix) && net.ParseIP(v) != nil {
				p.Address = v
			}
		}
	}
	if p.Address == "" {
		p.Address = outbound(ctx, p.Masters.URLs)
	}
	if p.NodeName == "" {
		p.NodeName, _ = os.Hostname()
	}
}

// outbound is the address of this node towards a master. Connecting a UDP socket sends no
// packets.
func outbound(ctx context.Context, urls []string) string {
	var dialer net.Dialer
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || u.Hostname() == "" {
			continue
		}
		c, err := dialer.DialContext(ctx, "udp", net.JoinHostPort(u.Hostname(), "9"))
		if err != nil {
			continue
		}
		addr := c.LocalAddr().(*net.UDPAddr).IP.String()
		_ = c.Close()
		return addr
	}
	return "127.0.0.1"
}

// identity is the workload identity, which is in the environment of the task's first process only.
func (p *NomadTask) identity() (string, error) {
	if identity := strings.TrimSpace(p.Env[identityVariable]); identity != "" {
		return identity, nil
	}
	return "", fmt.Errorf("the task has no workload identity for the master: %s is not set", identityVariable)
}

// shared is a path in the folder that remains after this process.
func (p *NomadTask) shared(parts ...string) string {
	return filepath.Join(append([]string{p.AllocDir, "det"}, parts...)...)
}

// local is a path in the task's own folder.
func (p *NomadTask) local(parts ...string) string {
	return filepath.Join(append([]string{p.TaskDir, "det"}, parts...)...)
}
