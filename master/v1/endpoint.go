package v1

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
)

// An Endpoint is one line of the table of everything that the master answers: all
// about it but its code, which is api's. Clients, the OpenAPI document, the pages'
// types and test doubles are made from the same line, so a path, a method and the
// types of a body are written once. Req and Resp are the bodies; None where there is
// none, or where the code reads or writes it by itself.
type Endpoint[Req, Resp any] Line

// A Line is an endpoint without its types in the type: what a table of them holds.
type Line struct {
	Method string
	// Path is below /api/v1, with :names and * for what differs. With // in front it
	// stands outside of that, and loses one slash.
	Path   string
	Access Access
	// Object is what the endpoint is about, and Verb what it does with it. Whose path
	// names an object is answered only when auth allows that verb on that object.
	Object Kind
	Verb   Verb
	// NamedIn says where the objects are named when the path does not.
	NamedIn NamedIn
	// List: the answer has what the caller may see of all workspaces.
	List    bool
	Summary string
	// BodyLimit bounds the body in bytes; 0 means SmallBody, and PublicBody for callers
	// who need not be signed in.
	BodyLimit int
	Params    string // names of the query's parameters, with blanks between
	Files     string // the field of the body that has files, which are received to disk
	Stream    bool   // the code reads the body and writes the answer by itself
	Waits     bool   // the answer may wait for something to happen
	Slow      bool   // the answer reads or writes a whole context
	Again     bool   // a repetition changes nothing more; see Repeatable
	After     bool   // an ended attempt's token is still good for it
	Page      bool   // a page of the browser has the same path

	Req, Resp reflect.Type // nil for None; Endpoint.Line fills them in
}

// None is the body of a request or an answer that has none. Empty is that of an answer
// without a field, which Determined's interface has a name for.
type (
	None  struct{}
	Empty struct{}
)

// Access says whose calls an endpoint takes.
type Access int

// Whose calls.
const (
	Public   Access = iota
	ByUsers         // a user's session
	ByTasks         // an attempt's token
	ByBoth          // either
	ByAdmins        // a user's session with the admin mark
)

// String says it in words.
func (a Access) String() string {
	return [...]string{"anybody", "users", "the task itself", "users and tasks", "admins"}[a]
}

// A Verb is what somebody wants to do with an object.
type Verb string

// The verbs.
const (
	View       Verb = "view"
	Create     Verb = "create"
	Change     Verb = "change" // pause, kill, label, delete
	Enter      Verb = "enter"  // see what a task shows, and type into it
	Report     Verb = "report" // what an attempt says about itself and its trial
	Administer Verb = "administer"
)

// A Kind is a kind of object.
type Kind string

// The kinds.
const (
	KindAgent       Kind = "agent"
	KindAllocation  Kind = "allocation"
	KindCheckpoint  Kind = "checkpoint"
	KindCluster     Kind = "cluster"
	KindCommand     Kind = "command"
	KindExperiment  Kind = "experiment"
	KindJob         Kind = "job"
	KindMember      Kind = "member" // of an allocation
	KindNotebook    Kind = "notebook"
	KindOwn         Kind = "own" // the caller's own session and settings
	KindPool        Kind = "pool"
	KindProject     Kind = "project"
	KindRun         Kind = "run" // a trial, by Determined's newer name
	KindShell       Kind = "shell"
	KindTask        Kind = "task"
	KindTemplate    Kind = "template"
	KindTensorboard Kind = "tensorboard"
	KindToken       Kind = "access token"
	KindTrial       Kind = "trial"
	KindUser        Kind = "user"
	KindWorkspace   Kind = "workspace"
)

// NamedIn says where objects are named.
type NamedIn int

// Where objects are named. What Body and Query name, the code of the endpoint asks auth
// about, one by one.
const (
	Path NamedIn = iota
	Body
	Query
)

// How large bodies may be, in bytes.
const (
	PublicBody = 8 << 10 // of callers who need not be signed in
	SmallBody  = 64 << 10
	ConfigBody = 1 << 20   // a configuration; what a program notes about its run
	ReportBody = 8 << 20   // metrics, checkpoints, logs
	FilesBody  = 130 << 20 // an experiment with its code, base64
)

// Line is the endpoint for a table, with its defaults filled in.
func (e Endpoint[Req, Resp]) Line() Line {
	l := Line(e)
	l.Req, l.Resp = messageType[Req](), messageType[Resp]()
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

// Repeatable says whether a client may repeat a call whose answer was lost: the master
// may have done already what the call asked for.
func (l Line) Repeatable() bool { return l.Again || l.Method == http.MethodGet }

func messageType[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[None]() {
		return nil
	}
	return t
}

// Pattern is the whole path, with the names of what differs: /api/v1/trials/:id.
func (l Line) Pattern() string {
	if outside, ok := strings.CutPrefix(l.Path, "//"); ok {
		return "/" + outside
	}
	return "/api/v1" + l.Path
}

// At is the path of a call: the parameters replace the names of the path, in their order.
// It panics when they are not as many, which is a mistake in the caller's code.
func (e Endpoint[Req, Resp]) At(params ...any) string { return Line(e).At(params...) }

// At is Endpoint.At.
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
		panic(fmt.Sprintf("v1: %s %s takes %d parameters; %d were given", l.Method, l.Path, n, len(params)))
	}
	return strings.Join(parts, "/")
}

// Names are the names of what differs in the path, in their order; * for the rest of it.
func (l Line) Names() (names []string) {
	for part := range strings.SplitSeq(l.Pattern(), "/") {
		if name, ok := strings.CutPrefix(part, ":"); ok || part == "*" {
			names = append(names, name)
		}
	}
	return names
}
