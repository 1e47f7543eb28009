package task

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
	v1 "github.com/detent-ml/detent/master/v1"
)

// What notebooks, shells and TensorBoards run, and the gateway through which users reach it.

// gateway adds the gateway and the program of a task that users open.
func (b *specBuilder) gateway(cfg expconf.CommandConfig) error {
	gateway := v1.Gateway{Secret: b.m.GatewaySecret, BasePath: ProxyPath(b.a.TaskID)}
	if cfg.IdleTimeout != nil {
		gateway.Idle = v1.GatewayIdle{TimeoutSecs: seconds(time.Duration(*cfg.IdleTimeout)), By: v1.IdleByRequests}
	}
	switch b.a.Type {
	case Notebook:
		gateway.Kind, gateway.ReadyPath = v1.GatewayOfHTTP, gateway.BasePath+"api"
		if gateway.Idle.TimeoutSecs > 0 {
			gateway.Idle.By = v1.IdleBy(cfg.NotebookIdleType)
		}
		b.spec.Entrypoint, b.spec.Shell = []string{notebookScript}, true
	case Shell:
		gateway.Kind = v1.GatewayOfSSH
		gateway.SSH = &v1.GatewaySSH{AuthorizedKey: b.m.Keys.Authorized, HostKey: b.m.Keys.Host}
		b.spec.Entrypoint = nil // the runner's own SSH server
	case Tensorboard:
		gateway.Kind = v1.GatewayOfHTTP
		if err := b.tensorboard(cfg); err != nil {
			return err
		}
	default:
		return nil
	}
	b.spec.Gateway = &gateway
	return nil
}

// ports adds the ports that the configuration declares. Only the chief's are forwarded.
func (b *specBuilder) ports(list expconf.ProxyPorts) {
	if len(list) == 0 || b.m.Rank != 0 {
		return
	}
	if b.spec.Gateway == nil {
		b.spec.Gateway = &v1.Gateway{Secret: b.m.GatewaySecret, BasePath: ProxyPath(b.a.TaskID)}
	}
	for _, p := range list {
		kind := v1.GatewayOfHTTP
		if optional.Value(p.ProxyTCP) {
			kind = v1.GatewayOfTCP
		}
		b.spec.Gateway.Ports = append(b.spec.Gateway.Ports, v1.GatewayForward{Port: p.ProxyPort, Kind: kind, Default: optional.Value(p.DefaultServiceID)})
	}
}

// ingress lets the installation's ingress forward requests of users.
func (b *specBuilder) ingress() {
	if b.site.Ingress != nil && b.spec.Gateway != nil {
		b.spec.Gateway.Ingress = &v1.GatewayIngress{Master: b.site.PublicURL}
	}
}

// seconds rounds up, so that a timeout of less than a second does not become 0 (none).
func seconds(d time.Duration) int {
	if d <= 0 {
		return 0
	}
	return int((d + time.Second - 1) / time.Second)
}

// notebookScript runs JupyterLab on the socket through which the gateway passes
// requests. The gateway authenticates requests, so JupyterLab has no token of its own.
// JupyterLab is configured to trust the proxy's headers with the client's address and
// scheme.
//
// JupyterLab talks to kernels through Unix sockets, because every task of the node could
// connect to a port on loopback. Paths of sockets must be short, so the script creates a
// folder for them if the run directory has a long name. The notebook ignores settings,
// history and kernels of the node's user, so that it is the same on every node. The script
// disables tokens and passwords by two names each, because Jupyter Server 1 knows only the
// older one.
const notebookScript = `
say() { printf '%s\n' "$*" >&2; }
where="Install it for that Python (python3 -m pip install jupyterlab), or choose another one: \
with PATH in environment.environment_variables of the notebook's configuration, or for everybody \
with python of the resource pool in the master's configuration."
if ! command -v python3 >/dev/null 2>&1; then
	say "This notebook cannot start: there is no python3 on this node's PATH ($PATH). $where"
	exit 1
fi
if ! python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("jupyterlab") is None)'; then
	say "This notebook cannot start: JupyterLab is not installed for $(python3 -c 'import sys; print(sys.executable)') on $DET_AGENT_ID. $where"
	exit 1
fi
base="$DET_RUN_DIR/jupyter"
runtime="$base/runtime"
if [ ${#runtime} -gt 40 ]; then
	runtime=$(mktemp -d) || exit 1
fi
mkdir -p "$base/config" "$base/data" "$runtime" && chmod 700 "$base" "$runtime" || exit 1
export JUPYTER_CONFIG_DIR="$base/config" JUPYTER_DATA_DIR="$base/data" JUPYTER_RUNTIME_DIR="$runtime" IPYTHONDIR="$base/ipython"
[ -n "$SHELL" ] || export SHELL="$(command -v bash || echo /bin/sh)"
exec python3 -m jupyterlab --no-browser --allow-root \
	--ServerApp.sock="$DET_TASK_SOCKET" --ServerApp.sock_mode=0600 \
	--ServerApp.base_url="/proxy/$DET_TASK_ID/" --ServerApp.root_dir="$PWD" \
	--ServerApp.token= --IdentityProvider.token= --ServerApp.password= --PasswordIdentityProvider.password_required=False \
	--ServerApp.allow_remote_access=True --ServerApp.trust_xheaders=True \
	--ServerApp.terminals_enabled=True --KernelManager.transport=ipc \
	--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --LabApp.news_url=None
`

// tensorboard runs the harness's module that downloads event files and shows them.
func (b *specBuilder) tensorboard(cfg expconf.CommandConfig) error {
	sources, mounts, err := expconf.TensorboardSources(b.site.ClusterID, b.a.Shown)
	if err != nil {
		return fmt.Errorf("TensorBoard %s: %w", b.a.TaskID, err)
	}
	text, err := json.Marshal(sources)
	if err != nil {
		return err
	}
	b.mounts(mounts)
	for _, e := range b.a.Shown {
		b.signIn(e.Config.CheckpointStorage)
	}
	b.spec.Env["DET_TENSORBOARD_SOURCES"] = string(text)
	b.spec.Entrypoint = append([]string{"python3", "-m", "determined.exec.tensorboard"}, cfg.TensorboardArgs...)
	return nil
}
