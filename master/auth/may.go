package auth

import (
	"cmp"
	"fmt"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// May returns an error unless the user may do the verb on the object. If the user may not see the
// object, the error says that the object does not exist.
func May(who Who, verb Verb, object Object) error {
	if Can(who, verb, object) {
		return nil
	}
	if verb == Create {
		if in := object.WorkspaceID; in != 0 && !Sees(who, Object{Kind: v1.KindWorkspace, WorkspaceID: in}) {
			return fault.New(fault.NotFound, "workspace %d not found", in)
		}
	} else if !Sees(who, object) {
		return fault.New(fault.NotFound, "%s not found", cmp.Or(object.Name, string(object.Kind)))
	}
	if verb == Create && who.Grants != nil {
		where := "any workspace"
		if object.WorkspaceID != 0 {
			where = fmt.Sprintf("workspace %d", object.WorkspaceID)
		}
		return fault.New(fault.Forbidden, "%s may not %s this %s in %s; a role such as Editor would allow it (det rbac assign-role)", who.Username, verb, object.Kind, where)
	}
	if verb == Report { // a user who reports for an object changes it
		verb = Change
	}
	return fault.New(fault.Forbidden, "%s may not %s this %s", who.Username, verb, object.Kind)
}
