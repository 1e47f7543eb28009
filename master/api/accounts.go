package api

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/accounts/login"
	"github.com/detent-ml/detent/master/accounts/scim"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/workspaces"
)

// registerAccounts gives the room of accounts what it uses of others.
func (a *API) registerAccounts() {
	signIns := accounts.NewSignIns(a.db.DB)
	accounts.Routes(a.router, accounts.Deps{DB: a.db.DB, Roles: a.db.Roles, Callers: a.auth, Tokens: a.cfg.Tokens, SignIns: signIns, Jobs: a.cfg.JobSignIn,
		BlankLogin: a.cfg.BlankLogin, Forwarder: a.forwarders.Met, ProviderName: a.cfg.SignIn.NameOf,
		Workspace: func(ctx context.Context, id int) (auth.Object, error) {
			w, err := workspaces.Get(ctx, a.db.DB, id)
			return w.Object(), err
		}, Workspaces: func(ctx context.Context) ([]int, error) { return workspaces.IDs(ctx, a.db.DB) }, Owned: a.db.OwnedExperiments})
	providers := login.Deps{DB: a.db.DB, Log: a.log, Roles: a.db.Roles, Callers: a.auth, SignIns: signIns, Providers: a.cfg.SignIn,
		ClusterName: a.cfg.ClusterName, AskFirst: proxy.AskFirst}
	login.Routes(a.router, providers)
	scim.Routes(a.router, scim.Deps{DB: a.db.DB, Roles: a.db.Roles, Callers: a.auth, Secrets: a.cfg.SCIM, PublicURL: a.cfg.PublicURL})
	login.Recheck(a.stopping, providers, &a.rechecks)
}
