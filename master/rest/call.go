package rest

import (
	"cmp"
	"context"

	"github.com/detent-ml/detent/master/auth"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A Call is a request, from its arrival until its handler returns: who calls, what the path and the query name, and the
// shares that it holds. What continues after the handler, such as a stream, copies what it needs of it before.
type Call struct {
	Request
	route   *Route          // nil: no endpoint of the table
	base    context.Context // of a handler that reads its own body or writes its own answer
	who     auth.Who
	scope   auth.Scope
	allowed func(auth.Who) error // whether a caller may receive the answer
	again   []recheck            // and whether the things in it are still what the caller may see
	arrival *arrival             // the body while it is received; nil: not yet
	files   *submission          // the files in the body; nil: none
	held    *Share               // of the memory for bodies; nil: none
	change  *Share               // of the requests that change something at once; nil: it needs none
	turn    *Share               // of the answers that are read at once; nil: it needs none
	reports bool                 // a user reports about an object, which the trail records
	notes   map[any]any
}

// Who is the caller; the zero value if the caller is not signed in.
func (c *Call) Who() auth.Who { return c.who }

// Scope has the workspaces in which the caller may perform the endpoint's verb; lists contain only their objects.
func (c *Call) Scope() auth.Scope { return c.scope }

// Line is the endpoint.
func (c *Call) Line() v1.Line { return c.route.Line }

// Put notes something about the call, for those who know the key.
func (c *Call) Put(key, value any) {
	if c.notes == nil {
		c.notes = map[any]any{}
	}
	c.notes[key] = value
}

// Value returns what was noted with a key; nil: nothing.
func (c *Call) Value(key any) any { return c.notes[key] }

// A recheck reads whether a caller may still receive an answer that stays open.
type recheck func(ctx context.Context, who auth.Who) error

// Recheck adds a check that is made every ten seconds while the answer is open. It must not use the call, and it must not fail because a
// thing is deleted or cannot be read.
func (c *Call) Recheck(check func(ctx context.Context, who auth.Who) error) {
	c.again = append(c.again, check)
}

// May fails unless the caller may perform the verb on the object.
func (c *Call) May(verb auth.Verb, object auth.Object) error {
	err := auth.May(c.who, verb, object)
	if verb == auth.Report && c.reports {
		return cmp.Or(c.router.cfg.Trail.Report(c, object, err), err)
	}
	return err
}
