package accounts

import (
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB     *database.DB
	Tokens TokenLimits
	// Changed applies the change of an account at once to its sessions and streams.
	Changed func(user int)
}

// Routes adds the endpoints of settings and access tokens.
func Routes(r *rest.Router, d Deps) {
	rest.Serve(r, v1.GetUserSettings, d.settings)
	rest.Serve(r, v1.SetUserSettings, d.setSettings)
	rest.Serve(r, v1.ResetUserSettings, d.resetSettings)
	rest.Serve(r, v1.ListTokens, d.listTokens)
	rest.Serve(r, v1.CreateToken, d.createToken)
	rest.ServeOn(r, v1.ChangeToken, d.onToken(), d.changeToken)
}
