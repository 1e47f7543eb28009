package api

import "github.com/detent-ml/detent/master/accounts"

// registerAccounts gives the room of accounts what it uses of the callers whom this master remembers.
func (a *API) registerAccounts() {
	accounts.Routes(a.router, accounts.Deps{DB: a.db.DB, Tokens: a.cfg.Tokens, Changed: a.auth.AccountChanged})
}
