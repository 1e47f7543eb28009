package proxy

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/v1"
)

// A Task is what the proxy knows of a task: its owner, and its newest attempt.
type Task struct {
	ID          string
	Newest      string // the name of its newest part, whose log is what it prints now
	Type        string // NOTEBOOK, TENSORBOARD, SHELL, …
	Name        string
	OwnerID     int
	WorkspaceID int
	Owner       string
	// OwnerGone says that the owner was deactivated.
	OwnerGone bool
	// State is QUEUED, PULLING, STARTING, RUNNING, TERMINATING or TERMINATED.
	State      string
	Waiting    string // the reason why the task is queued
	ExitStatus string // of a task that has ended
	Over       bool   // the task has ended and will not run again
	// The following fields describe the attempt that runs or starts; they are empty before the first attempt.
	AllocationID string
	Ready        bool   // the program has answered
	Secret       string // of the gateway
	Address      string // the address that the runner reported, used if no service has one
	Port         int
	// Certificate is the SHA-256, in hexadecimal digits, of the certificate that the runner
	// reported; "" if runner or master were of a release without certificates.
	Certificate string
	// Ports are the ports that the configuration declares.
	Ports expconf.ProxyPorts
	// Shown has the workspaces of the experiments that a TensorBoard shows: a user who opens it must
	// be allowed to view all of them.
	Shown []int
}

// A taskService is a task, and its service that a request is for.
type taskService struct {
	Task
	at     service
	offers v1.GatewayKind // GatewayOfNone: the task has no such service
	open   bool           // to everybody
}

// service finds the service of a task. Without a port it is what a task of this type offers, or
// the port that the configuration makes the default.
func (r Rules) service(t Task, at service) taskService {
	v := taskService{Task: t, at: at}
	if at.port == 0 {
		if v.offers = t.kind(); v.offers != v1.GatewayOfNone {
			return v
		}
	}
	for _, p := range t.Ports {
		if p.ProxyPort == at.port || at.port == 0 && optional.Value(p.DefaultServiceID) {
			v.offers, v.open = v1.GatewayOfHTTP, r.OpenPorts && optional.Value(p.Unauthenticated)
			if optional.Value(p.ProxyTCP) {
				v.offers = v1.GatewayOfTCP
			}
		}
	}
	return v
}

// bytes reports whether a request for this protocol is a tunnel of bytes to the program, and not
// HTTP: at a shell and at a port with proxy_tcp, and at every port if the client asks for our
// own protocol.
func (v taskService) bytes(asked string) bool {
	switch v.offers {
	case v1.GatewayOfSSH, v1.GatewayOfTCP:
		return asked == v1.GatewayTunnel || asked == webSocket
	case v1.GatewayOfHTTP:
		return asked == v1.GatewayTunnel && v.at.port != 0
	}
	return false
}

// kind returns what a task of this type offers without a port.
func (t Task) kind() v1.GatewayKind {
	switch t.Type {
	case "NOTEBOOK", "TENSORBOARD":
		return v1.GatewayOfHTTP
	case "SHELL":
		return v1.GatewayOfSSH
	}
	return v1.GatewayOfNone
}

// word is the name of the task's type in messages.
func (t Task) word() string {
	switch t.Type {
	case "NOTEBOOK":
		return "notebook"
	case "TENSORBOARD":
		return "TensorBoard"
	case "SHELL":
		return "shell"
	}
	return "task"
}

// Refusal is the message for users who may not open a task.
func Refusal(taskType, owner string) error {
	return fault.New(fault.Forbidden, "this %s belongs to %s; its owner and admins may open it", Task{Type: taskType}.word(), owner)
}

// A Directory finds tasks, sessions, tickets and cookies.
type Directory interface {
	// Task finds a task; fault.NotFound if it does not exist. lately names the owner of a task that was found lately,
	// or is empty. The look-up then uses the owner's part of the connections, so that requests with random ids do not
	// delay it.
	Task(ctx context.Context, id, lately string) (Task, error)
	// Tasks finds those of these tasks that exist.
	Tasks(ctx context.Context, ids []string) (map[string]Task, error)
	// Sessions returns the users of those of these sessions that are valid.
	Sessions(ctx context.Context, ids []int64) (map[int64]auth.Who, error)
	// IssueTicket stores the hash of a ticket for a session.
	IssueTicket(ctx context.Context, hash []byte, task string, session int64, life time.Duration) error
	// RedeemTicket ends a ticket and stores the hash of a cookie for the same session and task;
	// fault.NotFound if no valid ticket has this hash.
	RedeemTicket(ctx context.Context, ticket []byte, task string, cookie []byte) error
	// CookieWho returns the user of a cookie; fault.NotFound if the cookie is not valid, or is for
	// another task. A cookie that was valid lately is looked up in the name of its user.
	CookieWho(ctx context.Context, hash []byte, task, lately string) (auth.Who, error)
}

// A Locator returns the host and the port at which the gateway of an attempt is registered.
type Locator func(ctx context.Context, allocationID string) (host string, port int, err error)

// A Caller is the sender of a request to the API's origin.
type Caller struct {
	Who auth.Who
	// Cookie reports that the request has the session's cookie, so that a browser sent it.
	Cookie bool
	// Foreign is the reason why another page may have caused a browser's request; nil for requests
	// of our own pages and of programs.
	Foreign error
	// Proof returns a value that only this session can know, for a task. The form with which a user
	// confirms to open the task contains it.
	Proof func(task string) string
	// Address counts the requests of a client without a session: its IPv4 address or its IPv6
	// network.
	Address string
	// Err is the reason why the sender is unknown; nil with a Who.
	Err error
	// Note records that a user opens a task, or, with a refusal, may not open it. If it fails,
	// the task is not opened. nil: nothing is recorded.
	Note func(t Task, refusal error) error
}

func (v Caller) note(t Task, refusal error) error {
	if v.Note == nil {
		return nil
	}
	return v.Note(t, refusal)
}

// mayEnter reports whether a user may open a task: its owner and admins may; with roles, the owner
// only while their roles allow it.
func mayEnter(who auth.Who, t Task) bool { return auth.Can(who, auth.Enter, t.object()) }

func (t Task) object() auth.Object {
	return auth.Object{Kind: v1.KindTask, OwnerID: t.OwnerID, WorkspaceID: t.WorkspaceID, TaskID: t.ID, Needs: t.Shown}
}

// pageRefused is for users who may not open a task. If they may not see the task, it does not exist for them.
func pageRefused(t Task, who auth.Who) page {
	if !auth.Sees(who, t.object()) {
		return pageUnknown(t.ID)
	}
	return pageNotYours(t, who.Username)
}
