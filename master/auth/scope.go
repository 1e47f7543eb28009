package auth

import (
	"slices"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Scope has the workspaces that a list is limited to. The zero value has none, so that a list
// without a scope is empty.
type Scope struct {
	All        bool
	Workspaces []int
}

// Everywhere returns the scope of the master itself: all workspaces.
func Everywhere() Scope { return Scope{All: true} }

// Only returns the workspaces of the scope as an argument of a query: NULL for all.
func (s Scope) Only() []int {
	if s.All {
		return nil
	}
	return append([]int{}, s.Workspaces...)
}

// ScopeOf returns the workspaces in which a caller may do a verb on a kind of object.
func ScopeOf(w Who, verb Verb, kind Kind) Scope {
	if w.Grants == nil {
		return Everywhere()
	}
	return w.Grants.scope(verb, kind)
}

// Global reports whether objects of a kind are in no workspace.
func Global(k Kind) bool {
	switch k {
	case v1.KindAgent, v1.KindCluster, v1.KindGroup, v1.KindMasterLog, v1.KindOwn, v1.KindPool, v1.KindRole, v1.KindSession, v1.KindToken, v1.KindUser:
		return true
	}
	return false
}

// Has reports whether an object is in the scope. Objects in no workspace are only in the scope of
// all workspaces.
func (s Scope) Has(o Object) bool {
	return s.All || o.WorkspaceID != 0 && !Global(o.Kind) && slices.Contains(s.Workspaces, o.WorkspaceID)
}

// allows is Has, but also allows the creation of an object whose workspace is not known yet, if
// the caller may create in any workspace; the workspace is checked later.
func (s Scope) allows(verb Verb, o Object) bool {
	return s.Has(o) || verb == Create && o.WorkspaceID == 0 && !Global(o.Kind) && len(s.Workspaces) > 0
}

// sharedIn reports whether an object is shared with a workspace of the scope.
func (o Object) sharedIn(s Scope) bool {
	return s.All && len(o.Shared) > 0 || slices.ContainsFunc(o.Shared, func(workspace int) bool { return slices.Contains(s.Workspaces, workspace) })
}
