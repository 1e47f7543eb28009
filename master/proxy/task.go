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

// A Task is one as the proxy needs to know it: whose it is, and its newest attempt.
type Task struct {
	ID          string
	Type        string // NOTEBOOK, TENSORBOARD, SHELL, …
	Name        string
	OwnerID     int
	WorkspaceID int
	Owner       string
	// OwnerGone says that the owner was deactivated.
	OwnerGone bool
	// State is QUEUED, PULLING, STARTING, RUNNING, TERMINATING or TERMINATED.
	State      string
	Waiting    string // why it is queued, in words
	ExitStatus string // of one that is over
	Over       bool   // it will not run again
	// Of the attempt that runs or is about to; all empty before there is one.
	AllocationID string
	Ready        bool   // its program has answered
	Secret       string // of its gateway
	Address      string // where its runner said that it is, for want of a catalogue
	Port         int
	// Certificate is the SHA-256, in hexadecimal digits, of the certificate that its
	// runner reported; "" where runner or master were of a release that knew none.
	Certificate string
	// Ports are those that its configuration declares.
	Ports expconf.ProxyPorts
	// Shown has the workspaces of the experiments that a TensorBoard shows: who opens it must be
	// allowed to view in all of them.
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

// kind is what a task of its type offers.
func (t Task) kind() v1.GatewayKind {
	switch t.Type {
	case "NOTEBOOK", "TENSORBOARD":
		return v1.GatewayOfHTTP
	case "SHELL":
		return v1.GatewayOfSSH
	}
	return v1.GatewayOfNone
}

// word is what users call a task of its type.
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

// A Directory knows tasks, and who may come.
type Directory interface {
	// Task finds a task; fault.NotFound when there is none.
	Task(ctx context.Context, id string) (Task, error)
	// Tasks finds the tasks that there are among those.
	Tasks(ctx context.Context, ids []string) (map[string]Task, error)
	// Sessions says whose the sessions are, of those that are good.
	Sessions(ctx context.Context, ids []int64) (map[int64]auth.Who, error)
	// IssueTicket keeps the hash of a ticket that a session asked for.
	IssueTicket(ctx context.Context, hash []byte, task string, session int64, life time.Duration) error
	// RedeemTicket ends a ticket and keeps, for the same session and task, the hash
	// of a cookie; fault.NotFound when there is no such ticket any more.
	RedeemTicket(ctx context.Context, ticket []byte, task string, cookie []byte) error
	// CookieWho says whose cookie that is; fault.NotFound when it opens nothing,
	// or another task.
	CookieWho(ctx context.Context, hash []byte, task string) (auth.Who, error)
}

// A Locator says at which host and port the gateway of an attempt is registered.
type Locator func(ctx context.Context, allocationID string) (host string, port int, err error)

// A Caller is who comes to the API's origin.
type Caller struct {
	Who auth.Who
	// Cookie says that a browser showed who that is.
	Cookie bool
	// Foreign says why a browser's request may be another page's doing; nil for one
	// from our own pages, and for programs.
	Foreign error
	// Proof is what only the session that asks can know, for a task: the form on
	// which somebody confirms carries it.
	Proof func(task string) string
	// Address is where the request comes from, as clients without a session are
	// counted by: an IPv4 address or an IPv6 network.
	Address string
	// Err says why nobody could be told; nil with a Who.
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
