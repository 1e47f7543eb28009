package v1

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
)

// An Endpoint is one row of the table of all endpoints: everything except its handler, which is
// in the room of its noun. Clients, the OpenAPI document, the types of the web pages and test doubles are made
// from the same row, so paths, methods and types of bodies exist once. Req and Resp are the
// bodies; None if there is none, or if the handler reads or writes the body itself.
type Endpoint[Req, Resp any] Line

// A Line is an endpoint without type parameters, for tables.
type Line struct {
	Method string
	// Path is below /api/v1, with :name and * for variable parts. A path that begins with // is
	// not below /api/v1; its first slash is removed.
	Path   string
	Access Access
	// Object is the kind of object, and Verb the action on it. If the path names an object, the
	// endpoint runs only if auth allows the verb on that object.
	Object Kind
	Verb   Verb
	// NamedIn is where the request names the objects, if the path does not.
	NamedIn NamedIn
	// List: the response has the objects of all workspaces that the caller may see.
	List    bool
	Summary string
	// BodyLimit is the maximum size of the body in bytes; 0 means SmallBody, or PublicBody if
	// callers need not be signed in.
	BodyLimit int
	Others    []string // parameters of the query that the endpoint's Req does not have, because the protocol is not ours
	Files     string   // the field of the body with files, which are written to disk
	Stream    bool     // the handler reads the body and writes the response itself
	Waits     bool     // long poll
	Slow      bool     // the handler reads or writes a whole context
	Again     bool     // idempotent; see Repeatable
	After     bool     // accepts the token of an ended attempt
	Page      bool     // a web page has the same path
	Audit     Audit    // when the audit trail records a call

	// Endpoint.Line fills these in; nil for None. Query has the parameters of a GET, Req is a body.
	Query, Req, Resp reflect.Type
}

// None is the body of a request or response without a body. Empty is a response without fields.
type (
	None  struct{}
	Empty struct{}
)

// Access is the set of callers that an endpoint accepts.
type Access int

const (
	Public   Access = iota
	ByUsers         // a user's session
	ByTasks         // an attempt's token
	ByBoth          // either
	ByAdmins        // a user's session with the admin mark
	BySCIM          // a SCIM client with its own secret
)

// String returns a noun for messages.
func (a Access) String() string {
	return [...]string{"anybody", "users", "the task itself", "users and tasks", "admins", "a SCIM client"}[a]
}

// Audit is when the audit trail records a call.
type Audit int

// The values of Audit.
const (
	AuditChanges Audit = iota // if the call changes or enters something in the name of a user
	AuditOthers               // if the object belongs to somebody else
	AuditAlways
	AuditNever
)

// Audited reports whether the audit trail records all calls of users to this endpoint.
func (l Line) Audited() bool {
	switch {
	case l.Audit != AuditChanges || l.Access == ByTasks || l.Object == KindOwn || l.Method == http.MethodGet:
		return l.Audit == AuditAlways
	case l.Access == Public:
		return false
	}
	return l.Verb != Report && !l.List // a list may have its filter in a body
}

// AuditedReport reports whether the audit trail records what users report to this endpoint. Tasks report about themselves.
func (l Line) AuditedReport() bool {
	return l.Verb == Report && l.Audit == AuditChanges && l.Access != ByTasks && l.Method != http.MethodGet
}

// A Verb is an action on an object.
type Verb string

const (
	View       Verb = "view"
	Create     Verb = "create"
	Edit       Verb = "edit"   // change what all users of a workspace share: models of the registry
	Change     Verb = "change" // pause, kill, label
	Delete     Verb = "delete" // workspaces and projects, with what is in them
	Assign     Verb = "assign" // give and take roles
	Enter      Verb = "enter"  // open a task in a browser or terminal
	Report     Verb = "report" // reports of an attempt about itself and its trial
	Administer Verb = "administer"
)

// A Kind is a kind of object.
type Kind string

const (
	KindAgent       Kind = "agent"
	KindAllocation  Kind = "allocation"
	KindCheckpoint  Kind = "checkpoint"
	KindCluster     Kind = "cluster"
	KindCommand     Kind = "command"
	KindExperiment  Kind = "experiment"
	KindGroup       Kind = "group" // of users
	KindJob         Kind = "job"
	KindMasterLog   Kind = "master's log"
	KindMember      Kind = "member" // of an allocation
	KindModel       Kind = "model"  // of the registry, with its versions
	KindNotebook    Kind = "notebook"
	KindOwn         Kind = "own" // the caller's own session and settings
	KindPool        Kind = "pool"
	KindProject     Kind = "project"
	KindQuota       Kind = "quota"
	KindRole        Kind = "role"
	KindRun         Kind = "run"     // a trial, by Determined's newer name
	KindSession     Kind = "session" // a sign-in of a user
	KindShell       Kind = "shell"
	KindTask        Kind = "task"
	KindTemplate    Kind = "template"
	KindTensorboard Kind = "tensorboard"
	KindToken       Kind = "access token"
	KindTrial       Kind = "trial"
	KindUser        Kind = "user"
	KindWebhook     Kind = "webhook"
	KindWorkspace   Kind = "workspace"
)

// NamedIn is where a request names objects.
type NamedIn int

// The values of NamedIn. For objects that the body or the query names, the handler asks auth
// itself, one by one.
const (
	Path NamedIn = iota
	Body
	Query
)

// Size limits of bodies, in bytes.
const (
	PublicBody = 8 << 10 // callers need not be signed in
	SmallBody  = 64 << 10
	ConfigBody = 1 << 20   // a configuration; metadata of a run
	ReportBody = 8 << 20   // metrics, checkpoints, logs
	FilesBody  = 130 << 20 // an experiment with its code, base64
)

// Line returns the row of the table, with defaults set.
func (e Endpoint[Req, Resp]) Line() Line {
	l := Line(e)
	l.Req, l.Resp = messageType[Req](), messageType[Resp]()
	if l.Method == http.MethodGet {
		l.Query, l.Req = l.Req, nil
	}
	switch {
	case l.BodyLimit > 0:
	case l.Files != "":
		l.BodyLimit = FilesBody
	case l.Access == Public:
		l.BodyLimit = PublicBody
	default:
		l.BodyLimit = SmallBody
	}
	return l
}

// Repeatable reports whether a client may repeat a call whose response was lost, although the
// master may have executed the first call.
func (l Line) Repeatable() bool { return l.Again || l.Method == http.MethodGet }

func messageType[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[None]() {
		return nil
	}
	return t
}

// Pattern returns the whole path, with the names of the variable parts: /api/v1/trials/:id.
func (l Line) Pattern() string {
	if outside, ok := strings.CutPrefix(l.Path, "//"); ok {
		return "/" + outside
	}
	return "/api/v1" + l.Path
}

// At returns the path of a call: the parameters replace the variable parts, in their order. It
// panics if their numbers differ, which is a mistake in the calling code.
func (e Endpoint[Req, Resp]) At(params ...any) string { return Line(e).At(params...) }

// At returns the path of a call; see Endpoint.At.
func (l Line) At(params ...any) string {
	parts := strings.Split(l.Pattern(), "/")
	n := 0
	for i, part := range parts {
		if !strings.HasPrefix(part, ":") && part != "*" {
			continue
		}
		if n < len(params) {
			parts[i] = url.PathEscape(fmt.Sprint(params[n]))
		}
		n++
	}
	if n != len(params) {
		panic(fmt.Sprintf("v1: %s %s has %d parameters; %d were given", l.Method, l.Path, n, len(params)))
	}
	return strings.Join(parts, "/")
}

// Names returns the names of the variable parts of the path, in their order; * for the rest of
// the path.
func (l Line) Names() (names []string) {
	for part := range strings.SplitSeq(l.Pattern(), "/") {
		if name, ok := strings.CutPrefix(part, ":"); ok || part == "*" {
			names = append(names, name)
		}
	}
	return names
}
