package login

import (
	"log/slog"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/oidc"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints and the rechecks use of others.
type Deps struct {
	DB          *database.DB
	Log         *slog.Logger
	Roles       accounts.Roles
	Callers     *accounts.Authenticator
	SignIns     *accounts.SignIns
	Providers   *oidc.Providers // nil: none
	ClusterName string
	// AskFirst returns a path of the master which, if it leads to a task, asks the user to confirm.
	AskFirst func(path string) string
}

// Routes adds the endpoints of sign-ins with identity providers.
func Routes(r *rest.Router, d Deps) {
	rest.Raw(r, v1.StartSignIn, d.startSignIn)
	rest.Raw(r, v1.ConfirmSignIn, d.confirmSignIn)
	rest.Raw(r, v1.StartSignInWith, d.startSignIn)
	rest.Raw(r, v1.ConfirmSignInWith, d.confirmSignIn)
	rest.Raw(r, v1.FinishSignIn, d.finishSignIn)
	rest.Serve(r, v1.StartDeviceSignIn, d.startDevice)
	rest.Serve(r, v1.FinishDeviceSignIn, d.finishDevice)
	rest.Raw(r, v1.ProviderSignOut, d.providerSignOut)
}
