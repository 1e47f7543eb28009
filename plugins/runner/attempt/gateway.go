//go:build linux

package attempt

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/gateway"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/masters"
	"github.com/detent-ml/detent/plugins/runner/shell"
)

const (
	// socketDir is the folder of the program's socket, below the run directory.
	socketDir = "gate"
	// shellFile has the keys for the shell's server, which removes the file.
	shellFile = "shell.json"
	// reportPatience is how long one master may take to answer a short report.
	reportPatience = 30 * time.Second
)

// serveGateway opens the runner's only port: first for the health check of Consul or Nomad,
// later for clients of the task. If the port cannot be opened, the check and the clients fail,
// but not the task; the gateway is nil then.
func serveGateway(ctx context.Context, p *NomadTask, certificate *gateway.Certificate, journal *logs.Journal) *gateway.Server {
	port := p.Ports[healthPort]
	if n, err := strconv.Atoi(p.Env["NOMAD_PORT_"+healthPort]); err == nil {
		port = n // in its own network, the port inside of the task's network
	}
	if port == 0 {
		return nil
	}
	host := gatewayAddress(p)
	gw, err := gateway.Listen(ctx, net.JoinHostPort(host, strconv.Itoa(port)), certificate)
	if errors.Is(err, syscall.EADDRNOTAVAIL) { // the address in the catalogue is mapped to this node
		gw, err = gateway.Listen(ctx, net.JoinHostPort("", strconv.Itoa(port)), certificate)
	}
	if err != nil {
		journal.Warnf("the health check of this task will fail, and the proxy cannot reach it: %v", err)
		return nil
	}
	return gw
}

// proxied reports whether the proxy forwards requests to the socket of the task's program.
func (r *run) proxied() bool { return r.spec.Gateway != nil && r.spec.Gateway.Kind != v1.GatewayOfNone }

// portDialer connects to ports of the program. In a network of the task's own every port is the
// task's; on the node's network a port may be that of another task or of a server of the node.
func (r *run) portDialer() gateway.PortDialer {
	if r.p.Env["NOMAD_ALLOC_IP_"+healthPort] != "" {
		return gateway.DialLoopback
	}
	ports := gateway.NewOwnPorts()
	if r.account != nil && os.Geteuid() != 0 { // only root may see the sockets of another account's processes
		ports.LookAs(r.account.Do)
	}
	return ports.Dial
}

// makeSocket makes the socket on which the program listens, and sets the variable with its
// path.
func (r *run) makeSocket(l layout, env map[string]string) (*gateway.Socket, error) {
	if !r.proxied() {
		return nil, nil
	}
	socket, err := gateway.MakeSocket(filepath.Join(l.physical, socketDir), l.inRun(socketDir))
	if err != nil {
		return nil, err
	}
	env["DET_TASK_SOCKET"] = socket.Path
	return socket, nil
}

// shellServer is the program of a shell: this executable, as an SSH server.
func (r *run) shellServer(t *task) ([]string, error) {
	spec := r.spec.Gateway
	if spec == nil || spec.Kind != v1.GatewayOfSSH || spec.SSH == nil {
		return nil, nil
	}
	c := shell.Config{Socket: t.socket.Path, AuthorizedKey: spec.SSH.AuthorizedKey, HostKey: spec.SSH.HostKey, Dir: t.dir}
	if err := t.layout.account.Do(func() error { return c.Write(filepath.Join(t.layout.physical, shellFile)) }); err != nil {
		return nil, err
	}
	return []string{t.layout.self, shell.Verb, t.layout.inRun(shellFile)}, nil
}

// admit opens the gateway to clients, reports when the program is ready, and reports when the
// task is idle. The returned function stops it.
func (r *run) admit(t *task) (end func()) {
	if r.spec.Gateway == nil || r.gateway == nil {
		return func() {}
	}
	spec := *r.spec.Gateway
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	end = func() { cancel(); all.Wait() }
	if !r.proxied() {
		r.gateway.Open(spec, nil, r.portDialer())
		all.Go(func() { r.gateway.Visitors(ctx, r.visitorsGone) })
		return end
	}
	dial := t.dialer()
	r.gateway.Open(spec, dial, r.portDialer())
	all.Go(func() { r.gateway.Visitors(ctx, r.visitorsGone) })
	all.Go(func() {
		if gateway.Ready(ctx, spec, dial) != nil {
			return
		}
		r.journal.Infof("the program answers; the task is ready")
		if r.spec.Name != "" { // Determined's words, for which scripts search logs
			r.journal.Infof("Service of %s is available", r.spec.Name)
		}
		r.tell(ctx, v1.ReportReady.Method, v1.ReportReady.At(r.spec.AllocationID), nil, forever)
		r.gateway.Idle(ctx, r.reportIdle)
	})
	return end
}

// visitorsGone asks the master which visitors may no longer use the task.
func (r *run) visitorsGone(ctx context.Context, visitors []string) ([]string, error) {
	var out v1.VisitorsResponse
	err := r.masters.Call(ctx, masters.Request{Method: v1.CheckVisitors.Method, Path: v1.CheckVisitors.At(r.spec.AllocationID), Token: r.token,
		Message: v1.VisitorsRequest{Visitors: visitors}}, &out, masters.Policy{Replay: true, Patience: reportPatience})
	return out.Gone, err
}

// reportIdle reports that the task is idle. If no master received the report, the next check
// repeats it.
func (r *run) reportIdle(ctx context.Context, since time.Time) bool {
	r.journal.Infof("nobody has used this task since %s", since.UTC().Format(time.RFC3339))
	return r.tell(ctx, v1.ReportNotebookIdle.Method, v1.ReportNotebookIdle.At(r.spec.TaskID),
		v1.IdleNotebookRequest{NotebookID: r.spec.TaskID, Idle: true}, reportPatience)
}

// tell sends a report, and returns whether a master received it.
func (r *run) tell(ctx context.Context, method, path string, message any, hold time.Duration) bool {
	err := r.masters.Call(ctx, masters.Request{Method: method, Path: path, Token: r.token, Message: message}, nil,
		masters.Policy{Replay: true, Hold: hold, Patience: reportPatience})
	if err != nil && ctx.Err() == nil {
		r.journal.Warnf("no master accepted a report (%s): %v", path, err)
	}
	return err == nil
}

// gatewayAddress is the address on which the gateway listens: only the one in the catalogue. On
// a local cluster that is loopback. In its own network, a task is reached through a mapping, so
// the gateway listens on all addresses: "".
func gatewayAddress(p *NomadTask) string {
	if p.Env["NOMAD_ALLOC_IP_"+healthPort] != "" {
		return ""
	}
	if ip := p.Env["NOMAD_IP_"+healthPort]; net.ParseIP(ip) != nil {
		return ip
	}
	return ""
}
