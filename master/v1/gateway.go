package v1

// GatewayKind says what a task offers to those who visit it.
type GatewayKind string

// The values of GatewayKind.
const (
	// GatewayOfHTTP is a program that speaks HTTP and WebSocket on the Unix socket
	// that DET_TASK_SOCKET names: a notebook, a TensorBoard.
	GatewayOfHTTP GatewayKind = "http"
	// GatewayOfSSH is a shell: the runner's own SSH server is the program.
	GatewayOfSSH GatewayKind = "ssh"
	// GatewayOfNone is a task that nobody visits.
	GatewayOfNone GatewayKind = ""
)

// Names that the proxy and the runner's gateway agree on.
const (
	// GatewayHeader carries an attempt's secret from the master to its runner.
	GatewayHeader = "X-Detent-Gateway"
	// GatewayOpen and GatewayStarting are what a gateway says in that header of its
	// answers: that the program gave it, or that there is no program yet. An answer
	// without it comes from somebody else who has the port now.
	GatewayOpen     = "open"
	GatewayStarting = "starting"
	// GatewayTunnel is the protocol to which a tunnel of bytes upgrades.
	GatewayTunnel = "detent-tcp"
	// GatewayPort is the label of the one port on which a runner listens.
	GatewayPort = "runner"
)

// A Gateway is the door of a task: the runner listens on one port, lets in whoever
// shows the secret, and passes them on to the program. The secret travels here
// and to the proxy alone.
type Gateway struct {
	Kind   GatewayKind `json:"kind"`
	Secret string      `json:"secret"`
	// BasePath is what every path of the task begins with: /proxy/<task id>/.
	BasePath string `json:"basePath"`
	// ReadyPath is asked until the program answers with anything but a server's
	// error; empty for BasePath.
	ReadyPath string      `json:"readyPath"`
	Idle      GatewayIdle `json:"idle"`
	SSH       *GatewaySSH `json:"ssh,omitempty"`
}

// IdleBy says by what a notebook counts as used.
type IdleBy string

// The values of IdleBy; they are those of notebook_idle_type.
const (
	IdleByKernelsOrTerminals IdleBy = "kernels_or_terminals" // one is open
	IdleByKernelConnections  IdleBy = "kernel_connections"   // somebody is connected to a kernel, or a terminal is open
	IdleByActivity           IdleBy = "activity"             // a kernel computes, or something was typed
	// IdleByRequests is for programs that cannot be asked: requests that come through the gateway.
	IdleByRequests IdleBy = "requests"
)

// GatewayIdle says after how long without use a task reports that it is idle.
type GatewayIdle struct {
	TimeoutSecs int    `json:"timeoutS"` // 0: never
	By          IdleBy `json:"by"`
}

// GatewaySSH are the keys of a shell, made for this task alone.
type GatewaySSH struct {
	AuthorizedKey string `json:"authorizedKey"` // a line of authorized_keys
	HostKey       string `json:"hostKey"`       // PEM, OpenSSH's form; empty for one that the runner makes
}
