package v1

// GatewayKind is what a task offers to users through the proxy.
type GatewayKind string

const (
	// GatewayOfHTTP is a program that speaks HTTP and WebSocket on the Unix socket
	// that DET_TASK_SOCKET names: a notebook, a TensorBoard.
	GatewayOfHTTP GatewayKind = "http"
	// GatewayOfSSH is a shell: the runner's own SSH server is the program.
	GatewayOfSSH GatewayKind = "ssh"
	// GatewayOfTCP is a port of a task that carries bytes.
	GatewayOfTCP GatewayKind = "tcp"
	// GatewayOfNone is a task without a program of its type to open.
	GatewayOfNone GatewayKind = ""
)

// Names that the proxy and the runner's gateway share.
const (
	// GatewayHeader carries an attempt's secret from the master to its runner.
	GatewayHeader = "X-Detent-Gateway"
	// GatewayOpen and GatewayStarting are the values of that header in a gateway's answers:
	// the program answered, or the program has not started yet. An answer without the
	// header comes from another process that listens on the port now.
	GatewayOpen     = "open"
	GatewayStarting = "starting"
	// GatewayTunnel is the protocol to which a tunnel of bytes upgrades.
	GatewayTunnel = "detent-tcp"
)

// A Gateway tells a runner how to forward requests to its task's program: the runner
// listens on one port, and accepts only requests with the secret. Only the runner and
// the proxy know the secret.
type Gateway struct {
	Kind   GatewayKind `json:"kind"`
	Secret string      `json:"secret"`
	// BasePath is what every path of the task begins with: /proxy/<task id>/.
	BasePath string `json:"basePath"`
	// ReadyPath is requested until the program answers with anything but a server
	// error; empty for BasePath.
	ReadyPath string      `json:"readyPath"`
	Idle      GatewayIdle `json:"idle"`
	SSH       *GatewaySSH `json:"ssh,omitempty"`
	// Ports are the ports on the task's loopback interface that its configuration declares.
	Ports []GatewayForward `json:"ports,omitempty"`
	// Ingress: an ingress may forward requests, with a grant of the master for each; nil for none.
	Ingress *GatewayIngress `json:"ingress,omitempty"`
}

// GatewayIngress is what a gateway must know to answer an ingress as the master would answer.
type GatewayIngress struct {
	Master string `json:"master"` // origin of the master's pages, which may show pages of the task in frames
}

// A GatewayForward is a port whose paths begin with /proxy/<task id>:<port>/.
type GatewayForward struct {
	Port int         `json:"port"`
	Kind GatewayKind `json:"kind"` // GatewayOfHTTP or GatewayOfTCP
	// Default makes the port also that of BasePath, in a task of GatewayOfNone.
	Default bool `json:"default,omitempty"`
}

// IdleBy selects how the runner detects that a notebook is in use.
type IdleBy string

// The values of IdleBy, as in notebook_idle_type.
const (
	IdleByKernelsOrTerminals IdleBy = "kernels_or_terminals" // one is open
	IdleByKernelConnections  IdleBy = "kernel_connections"   // a client is connected to a kernel, or a terminal is open
	IdleByActivity           IdleBy = "activity"             // a kernel computes, or a terminal received input
	// IdleByRequests is for programs that cannot report their use: the gateway counts requests.
	IdleByRequests IdleBy = "requests"
)

// GatewayIdle sets after which time without use a task reports that it is idle.
type GatewayIdle struct {
	TimeoutSecs int    `json:"timeoutS"` // 0: never
	By          IdleBy `json:"by"`
}

// GatewaySSH has the keys of a shell, which are made for this task only.
type GatewaySSH struct {
	AuthorizedKey string `json:"authorizedKey"` // a line of authorized_keys
	HostKey       string `json:"hostKey"`       // PEM, OpenSSH's form; "": the runner creates the key
}
