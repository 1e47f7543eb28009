package auth

import (
	"slices"

	v1 "github.com/detent-ml/detent/master/v1"
)

// An Assignment is a role with the workspaces in which a user has it.
type Assignment struct {
	Role  RoleID
	Scope Scope
}

// Grants are the roles of a user, each once, in the order of their numbers.
type Grants []Assignment

// NewGrants collects pairs of a role and a workspace; 0 stands for the whole cluster. Pairs with a
// role that there is not are left out.
func NewGrants(pairs [][2]int) Grants {
	g := Grants{}
	for _, r := range roles {
		var in Scope
		has := false
		for _, pair := range pairs {
			if RoleID(pair[0]) != r.ID {
				continue
			}
			if has = true; pair[1] == 0 {
				in.All = true
			} else {
				in.Workspaces = append(in.Workspaces, pair[1])
			}
		}
		if in.All {
			in.Workspaces = nil
		}
		if has {
			slices.Sort(in.Workspaces)
			in.Workspaces = slices.Compact(in.Workspaces)
			g = append(g, Assignment{r.ID, in})
		}
	}
	return g
}

// Equal reports whether two users have the same roles in the same workspaces. Nil, which means
// that roles are not in use, equals only nil.
func (g *Grants) Equal(other *Grants) bool {
	if g == nil || other == nil {
		return g == other
	}
	return slices.EqualFunc(*g, *other, func(a, b Assignment) bool {
		return a.Role == b.Role && a.Scope.All == b.Scope.All && slices.Equal(a.Scope.Workspaces, b.Scope.Workspaces)
	})
}

// in returns the workspaces in which the roles contain a permission.
func (g Grants) in(p Permission) Scope {
	if p == anybody {
		return Everywhere()
	}
	var s Scope
	of := allowing[p]
	for _, a := range g {
		if !slices.Contains(of, a.Role) {
			continue
		}
		if a.Scope.All {
			return Everywhere()
		}
		if !p.Global {
			s.Workspaces = append(s.Workspaces, a.Scope.Workspaces...)
		}
	}
	slices.Sort(s.Workspaces)
	s.Workspaces = slices.Compact(s.Workspaces)
	return s
}

// scope returns the workspaces in which the roles allow a verb; none if the table does not have the verb.
func (g Grants) scope(verb Verb, kind Kind) Scope {
	p, ok := needed[kind][verb]
	if !ok {
		return Scope{}
	}
	return g.in(p)
}

// admin reports whether the user has the role ClusterAdmin.
func (g Grants) admin() bool { return g.in(administrateUser).All }

// allow decides for a user who acts with roles.
func (g Grants) allow(w Who, verb Verb, o Object) bool {
	s := g.scope(verb, o.Kind)
	owns := o.OwnerID == w.UserID && o.OwnerID != 0
	switch {
	case w.Within != "" && !owns && verb != View && verb != Create:
		return false
	case o.Kind == v1.KindToken && verb == Create:
		return s.All || len(s.Workspaces) > 0
	case o.Kind == v1.KindToken || o.Kind == v1.KindSession || o.Kind == v1.KindUser && verb == Change:
		return owns || s.All
	case o.Kind == v1.KindRole && verb == Assign: // for the whole cluster it gives rights over users, which a WorkspaceAdmin does not have
		return g.admin() || o.WorkspaceID != 0 && (s.All || slices.Contains(s.Workspaces, o.WorkspaceID))
	case !s.allows(verb, o) && (verb != View || !o.sharedIn(g.scope(View, v1.KindModel))):
		return false
	case slices.ContainsFunc(o.Needs, func(workspace int) bool {
		return !g.scope(View, v1.KindExperiment).Has(Object{Kind: v1.KindExperiment, WorkspaceID: workspace})
	}):
		return false
	case verb == Enter: // its programs act in the owner's name
		return owns || g.admin()
	case verb == Change && o.Kind == v1.KindModel && !owns:
		return g.in(deleteModelOfOthers).Has(o)
	}
	return true
}
