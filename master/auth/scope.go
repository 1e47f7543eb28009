package auth

import (
	"slices"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Grants say in which workspaces somebody may do what.
type Grants map[Verb][]int

// Scope is the workspaces that a list is cut to. The zero value has none: a list that
// is given no scope is empty, never whole.
type Scope struct {
	All        bool
	Workspaces []int
}

// Everywhere is the scope of the master itself.
func Everywhere() Scope { return Scope{All: true} }

// ScopeOf says in which workspaces somebody may do something.
func ScopeOf(w Who, verb Verb) Scope {
	if w.Grants == nil {
		return Everywhere()
	}
	return Scope{Workspaces: (*w.Grants)[verb]}
}

// global are the kinds of objects that are in no workspace.
func global(k Kind) bool {
	switch k {
	case v1.KindAgent, v1.KindCluster, v1.KindOwn, v1.KindPool, v1.KindUser:
		return true
	}
	return false
}

// Has tells whether an object is in the scope. What is in no workspace is in every
// scope.
func (s Scope) Has(o Object) bool {
	return s.All || global(o.Kind) || slices.Contains(s.Workspaces, o.WorkspaceID)
}

// allows is Has, and lets somebody begin to create who may do so anywhere: where it
// will be is known later, and asked then.
func (s Scope) allows(verb Verb, o Object) bool {
	return s.Has(o) || verb == Create && o.WorkspaceID == 0 && len(s.Workspaces) > 0
}
