package api

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/accounts/login"
	"github.com/detent-ml/detent/master/accounts/scim"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/workspaces"
)

// registerAccounts gives the room of accounts what it uses of others.
func (a *API) registerAccounts() {
	signIns := accounts.NewSignIns(a.db)
	accounts.Routes(a.router, accounts.Deps{DB: a.db, Roles: a.cfg.Roles, Callers: a.auth, Tokens: a.cfg.Tokens, SignIns: signIns, Jobs: a.cfg.JobSignIn,
		BlankLogin: a.cfg.BlankLogin, Forwarder: a.forwarders.Met, ProviderName: a.cfg.SignIn.NameOf,
		Workspace: func(ctx context.Context, id int) (auth.Object, error) {
			w, err := workspaces.Get(ctx, a.db, id)
			return w.Object(), err
		}, Workspaces: func(ctx context.Context) ([]int, error) { return workspaces.IDs(ctx, a.db) }, Owned: func(ctx context.Context) ([]accounts.Owned, error) { return experiments.Owned(ctx, a.db) }})
	providers := login.Deps{DB: a.db, Log: a.log, Roles: a.cfg.Roles, Callers: a.auth, SignIns: signIns, Providers: a.cfg.SignIn,
		ClusterName: a.cfg.ClusterName, AskFirst: proxy.AskFirst}
	login.Routes(a.router, providers)
	scim.Routes(a.router, scim.Deps{DB: a.db, Roles: a.cfg.Roles, Callers: a.auth, Secrets: a.cfg.SCIM, PublicURL: a.cfg.PublicURL})
	login.Recheck(a.stopping, providers, &a.rechecks)
}
