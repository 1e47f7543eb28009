package workspaces

import (
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
)

// Scripts depend on the status of a rejected request: Determined's Python client raises ForbiddenException for 403,
// which is not an APIException, and APIException for other statuses. So this file rejects with Determined's statuses.
// Without roles, Determined first checks what nobody may change, and then the rights of the caller.

// fixedFor is why nobody may do something with a workspace; nil if somebody may.
func (w Workspace) fixedFor(cannot string) error {
	switch {
	case w.Immutable:
		return fault.New(fault.Conflict, "workspace (%d) is immutable and %s: it is built in", w.ID, cannot)
	case w.Archived:
		return fault.New(fault.Conflict, "workspace (%d) is archived and %s: unarchive it first", w.ID, cannot)
	}
	return nil
}

// TakesProjects fails if no project may come into the workspace.
func (w Workspace) TakesProjects() error { return w.fixedFor(cannotAdd) }

func (w Workspace) fixed() error { return w.fixedFor(cannotChange) }

// fixed is why nobody may change the attributes of a project; nil if somebody may.
func (p Project) fixed() error {
	switch {
	case p.WorkspaceArchived:
		return fault.New(fault.Conflict, "project (%d) is archived and %s: unarchive workspace %q first", p.ID, cannotChange, fault.Clip(p.WorkspaceName))
	case p.Immutable:
		return fault.New(fault.Conflict, "project (%d) is immutable and %s: it is built in", p.ID, cannotChange)
	case p.Archived:
		return fault.New(fault.Conflict, "project (%d) is archived and %s: unarchive it first", p.ID, cannotChange)
	}
	return nil
}

const (
	cannotChange = "cannot have attributes updated"
	cannotAdd    = "cannot add new projects"
)

// asksByField reports whether a change needs rights only for the fields that it changes, so that a caller may send
// the current values of other fields.
func asksByField(who auth.Who) bool { return who.Grants == nil && !who.ReadOnly }

// differs reports whether a field is given and is not what is there.
func differs(given *string, is string) bool { return given != nil && *given != is }

// changed is an object whose attributes a request changes; fixed says why nobody may change them.
func changed[T any](o rest.Object[T], fixed func(T) error) rest.Object[T] {
	o.Refusal = func(c *rest.Call, verb auth.Verb, it T) error {
		if err := fixed(it); err != nil && c.Who().Grants == nil {
			return err
		}
		if asksByField(c.Who()) {
			return nil // the handler asks for the fields that change
		}
		return auth.May(c.Who(), verb, o.Of(it))
	}
	return o
}

// onBoundPool is a pool whose bindings a request changes.
func (d Deps) onBoundPool() rest.Object[*pool.Pool] {
	o := d.onPool()
	o.Refusal = func(c *rest.Call, verb auth.Verb, p *pool.Pool) error {
		switch {
		case c.Who().Grants != nil:
			return auth.May(c.Who(), verb, o.Of(p))
		case p.Compute || p.Aux:
			return defaultPoolBound(p)
		}
		return fault.New(fault.Invalid, "only admin privileged users can bind resource pool to a workspace")
	}
	return o
}

func defaultPoolBound(p *pool.Pool) error {
	return fault.New(fault.Invalid, "default resource pool %s cannot be bound to any workspace: tasks that name no pool run there", p.Name)
}
