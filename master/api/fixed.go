package api

import (
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
)

// Determined refuses some requests with another status than 403, and its Python client raises ForbiddenException for 403, which is no
// APIException: so scripts depend on the status. Without roles it looks at what cannot change at all before it looks at who asks.

// fixedWorkspace is why nobody may do something with a workspace; nil if somebody may.
func fixedWorkspace(w store.Workspace, cannot string) error {
	switch {
	case w.Immutable:
		return fault.New(fault.Conflict, "workspace (%d) is immutable and %s: it is built in", w.ID, cannot)
	case w.Archived:
		return fault.New(fault.Conflict, "workspace (%d) is archived and %s: unarchive it first", w.ID, cannot)
	}
	return nil
}

// fixedProject is why nobody may change the attributes of a project; nil if somebody may.
func fixedProject(p store.Project) error {
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

// asksByField reports whether a change needs the right only for the fields that it changes: who repeats what is there may do so.
func asksByField(who auth.Who) bool { return who.Grants == nil && !who.ReadOnly }

// differs reports whether a field is given and is not what is there.
func differs(given *string, is string) bool { return given != nil && *given != is }

// onChangedWorkspace is a workspace whose attributes a request changes.
func (a *API) onChangedWorkspace() rest.Object[store.Workspace] {
	o := a.onWorkspace()
	o.Refusal = func(c *rest.Call, verb auth.Verb, w store.Workspace) error {
		if err := fixedWorkspace(w, cannotChange); err != nil && c.Who().Grants == nil {
			return err
		}
		if asksByField(c.Who()) {
			return nil // patchWorkspace asks for the fields that change
		}
		return auth.May(c.Who(), verb, ofWorkspace(w))
	}
	return o
}

// onChangedProject is a project whose attributes a request changes.
func (a *API) onChangedProject() rest.Object[store.Project] {
	o := a.onProject()
	o.Refusal = func(c *rest.Call, verb auth.Verb, p store.Project) error {
		if err := fixedProject(p); err != nil && c.Who().Grants == nil {
			return err
		}
		if asksByField(c.Who()) {
			return nil // patchProject asks for the fields that change
		}
		return auth.May(c.Who(), verb, ofProject(p))
	}
	return o
}

// onBoundPool is a pool whose bindings a request changes.
func (a *API) onBoundPool() rest.Object[*pool.Pool] {
	o := a.onPool()
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
