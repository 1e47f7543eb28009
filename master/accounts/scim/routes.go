package scim

import (
	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/accounts/scim/protocol"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB        *database.DB
	Roles     accounts.Roles
	Callers   *accounts.Authenticator
	Secrets   *Secrets // nil: SCIM is off
	PublicURL string

	calls *calls // Routes makes it
}

// Routes adds the endpoints of SCIM, whose callers have a secret of their own and whose errors have a form of their own.
func Routes(r *rest.Router, d Deps) {
	d.calls = newCalls()
	r.AdmitBy(v1.BySCIM, d.admit)
	r.Speak(rest.Dialect{Prefix: prefix, Error: sendError, OtherMethod: otherMethod})
	rest.Raw(r, v1.ListSCIMUsers, d.listUsers)
	rest.Raw(r, v1.CreateSCIMUser, d.createUser)
	rest.Raw(r, v1.GetSCIMUser, onID(d.user))
	rest.Raw(r, v1.ReplaceSCIMUser, d.replaceUser)
	rest.Raw(r, v1.PatchSCIMUser, d.patchUser)
	rest.Raw(r, v1.DeleteSCIMUser, onID(d.deleteUser))
	rest.Raw(r, v1.ListSCIMGroups, d.listGroups)
	rest.Raw(r, v1.CreateSCIMGroup, d.createGroup)
	rest.Raw(r, v1.GetSCIMGroup, onID(d.group))
	rest.Raw(r, v1.ReplaceSCIMGroup, d.replaceGroup)
	rest.Raw(r, v1.PatchSCIMGroup, d.patchGroup)
	rest.Raw(r, v1.DeleteSCIMGroup, onID(d.deleteGroup))
	rest.Raw(r, v1.SearchSCIM, search)
	rest.Raw(r, v1.GetSCIMConfig, d.config)
	rest.Raw(r, v1.ListSCIMTypes, d.list(protocol.ResourceTypes))
	rest.Raw(r, v1.GetSCIMType, d.one(protocol.ResourceTypes))
	rest.Raw(r, v1.ListSCIMSchemas, d.list(protocol.Schemas))
	rest.Raw(r, v1.GetSCIMSchema, d.one(protocol.Schemas))
}
