package api

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
)

// registerAccounts gives the room of accounts what it uses of others.
func (a *API) registerAccounts() {
	accounts.Routes(a.router, accounts.Deps{DB: a.db.DB, Roles: a.db.Roles, Callers: a.auth, Tokens: a.cfg.Tokens, SignIns: a.signIns, Jobs: a.cfg.JobSignIn,
		BlankLogin: a.cfg.BlankLogin, Forwarder: a.forwarders.met, ProviderName: a.cfg.SignIn.NameOf,
		Workspace: func(ctx context.Context, id int) (auth.Object, error) {
			w, err := a.db.Workspace(ctx, id)
			return ofWorkspace(w), err
		}, Workspaces: a.db.WorkspaceIDs, Owned: a.db.OwnedExperiments})
}
