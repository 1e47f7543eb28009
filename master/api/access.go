package api

import (
	"net/http"

	"github.com/detent-ml/detent/master/accounts/scim"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// readsByPost are the endpoints that only read although their method is POST: an access token that may only read may call them.
var readsByPost = map[string]bool{
	v1.SearchRuns.Path: true, v1.SearchExperiments.Path: true, v1.GetModelDefFile.Path: true, v1.ListGroups.Path: true,
	v1.ListRoles.Path: true, v1.GetRolesByID.Path: true, v1.SearchRolesAssignableToScope.Path: true,
	v1.SearchMLflowRuns.Path: true, v1.SearchMLflowExperiments.Path: true, v1.SearchMLflowModels.Path: true, v1.FindMLflowLatest.Path: true,
}

// checkAccess fails if a caller may not call a route.
func checkAccess(r *rest.Route, who auth.Who) error {
	switch {
	case r.Access == v1.Public:
	case (r.Access == v1.BySCIM) != (who.Service == scim.Service):
		return fault.New(fault.Forbidden, "only a SCIM client with its own secret may call this endpoint")
	case r.Access == v1.BySCIM:
	case r.Access == v1.ByUsers && who.IsTask(), r.Access == v1.ByAdmins && who.IsTask():
		return fault.New(fault.Forbidden, "a task's token may not call this; sign in as a user")
	case r.Access == v1.ByTasks && !who.IsTask():
		return fault.New(fault.Forbidden, "only the task itself may call this endpoint")
	case who.Within != "" && !openToTasks(r.Line):
		return fault.New(fault.Forbidden, "a task's session may not do this; sign in as a user with det user login")
	case who.ReadOnly && (r.Verb == v1.Enter || r.Method != http.MethodGet && !readsByPost[r.Path]):
		return fault.New(fault.Forbidden, "this access token may only read; sign in, or use a token that was created without --read-only")
	case who.OwnerGone && !openToDeactivated(r.Line):
		return fault.New(fault.Unauthenticated, "user %s is deactivated; attempt %s may only report about itself", who.Username, who.AllocationID)
	case r.Access == v1.ByAdmins && !auth.Can(who, auth.Administer, auth.Object{Kind: r.Object}):
		return fault.New(fault.Forbidden, "only an admin may do this")
	case r.Verb == v1.Create && !auth.Can(who, auth.Create, auth.Object{Kind: r.Object}):
		return auth.May(who, auth.Create, auth.Object{Kind: r.Object})
	case r.Verb == v1.View && !r.Loads && !r.List && auth.Global(r.Object) && !auth.Can(who, auth.View, auth.Object{Kind: r.Object}):
		return fault.New(fault.Forbidden, "%s may not %s the %s", who.Username, r.Verb, r.Object)
	case who.Ended && !r.After:
		return fault.New(fault.Unauthenticated, "attempt %s has ended; its token may send only logs and its exit", who.AllocationID)
	}
	return nil
}
