package auth

import (
	"slices"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Grants map verbs to the workspaces in which a user may do them.
type Grants map[Verb][]int

// Scope has the workspaces that a list is limited to. The zero value has none, so that a list
// without a scope is empty.
type Scope struct {
	All        bool
	Workspaces []int
}

// Everywhere returns the scope of the master itself: all workspaces.
func Everywhere() Scope { return Scope{All: true} }

// ScopeOf returns the workspaces in which a caller may do a verb.
func ScopeOf(w Who, verb Verb) Scope {
	if w.Grants == nil {
		return Everywhere()
	}
	return Scope{Workspaces: (*w.Grants)[verb]}
}

// global reports whether objects of a kind are in no workspace.
func global(k Kind) bool {
	switch k {
	case v1.KindAgent, v1.KindCluster, v1.KindOwn, v1.KindPool, v1.KindToken, v1.KindUser:
		return true
	}
	return false
}

// Has reports whether an object is in the scope. Objects without a workspace are in every
// scope.
func (s Scope) Has(o Object) bool {
	return s.All || global(o.Kind) || slices.Contains(s.Workspaces, o.WorkspaceID)
}

// allows is Has, but also allows to view an object that is shared with a workspace of the scope,
// and the creation of an object whose workspace is not known yet, if the caller may create in any
// workspace; the workspace is checked later.
func (s Scope) allows(verb Verb, o Object) bool {
	return s.Has(o) || verb == View && s.shares(o) || verb == Create && o.WorkspaceID == 0 && len(s.Workspaces) > 0
}

func (s Scope) shares(o Object) bool {
	return slices.ContainsFunc(o.Shared, func(workspace int) bool { return slices.Contains(s.Workspaces, workspace) })
}
