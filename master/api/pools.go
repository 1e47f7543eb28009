package api

import (
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerPools() {
	rest.ServeOn(a.router, v1.ListPoolWorkspaces, a.onPool(), a.poolWorkspaces)
	rest.ServeOn(a.router, v1.BindPool, a.onBoundPool(), a.bindPool)
	rest.ServeOn(a.router, v1.UnbindPool, a.onBoundPool(), a.unbindPool)
	rest.ServeOn(a.router, v1.ReplacePoolBindings, a.onBoundPool(), a.replaceBindings)
	rest.ServeOn(a.router, v1.ListWorkspacePools, a.onWorkspace(), a.workspacePools)
}
