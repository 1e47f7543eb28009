package api

import (
	"context"

	"github.com/detent-ml/detent/master/logs/masterlog"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerMaster() {
	rest.Serve(a.router, v1.GetMasterConfig, a.masterConfig)
	rest.Serve(a.router, v1.PatchMasterConfig, a.patchMasterConfig)
	masterlog.Routes(a.router, masterlog.Deps{DB: a.db.DB, SignedIn: func(ctx context.Context, who rest.Credential) error {
		_, err := a.auth.ByToken(ctx, who)
		return err
	}})
}

func (a *API) masterConfig(context.Context, *rest.Call, *v1.None) (*v1.GetMasterConfigResponse, error) {
	return &v1.GetMasterConfigResponse{Config: v1.StructOf(a.cfg.Redacted())}, nil
}
