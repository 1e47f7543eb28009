package api

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/accounts/login"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerInfo() {
	rest.Serve(a.router, v1.GetInfo, a.info)
	rest.Serve(a.router, v1.GetMaster, a.master)
	rest.Serve(a.router, v1.GetTelemetry, a.telemetry)
	rest.Serve(a.router, v1.GetClusterMessage, a.clusterMessage)
	rest.Serve(a.router, v1.SetClusterMessage, a.setClusterMessage)
	rest.Serve(a.router, v1.DeleteClusterMessage, a.deleteClusterMessage)
	rest.Serve(a.router, v1.ListDiskUse, a.listDiskUse)
	rest.Raw(a.router, v1.GetHealth, a.health)
	a.router.Head(v1.GetHealth.Line())
	rest.Raw(a.router, v1.GetMeasurements, a.prometheus)
}

func (a *API) info(context.Context, *rest.Call, *v1.None) (*v1.Info, error) {
	info := &v1.Info{Version: a.cfg.Version, MasterID: a.cfg.MasterID, ClusterID: a.cfg.ClusterID,
		ClusterName: a.cfg.ClusterName, DetentVersion: a.cfg.DetentVersion, PublicURL: a.cfg.PublicURL, SSOProviders: []v1.InfoSSOProvider{}}
	for _, p := range login.Offered(a.cfg.SignIn, a.cfg.PublicURL) {
		info.SSOProviders = append(info.SSOProviders, v1.InfoSSOProvider{Name: p.Name, SSOURL: p.SsoURL, Type: p.Type, AlwaysRedirect: p.AlwaysRedirect})
	}
	return info, nil
}

// telemetry answers that nothing is reported to anybody.
func (a *API) telemetry(context.Context, *rest.Call, *v1.None) (*v1.GetTelemetryResponse, error) {
	return &v1.GetTelemetryResponse{}, nil
}

func (a *API) master(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.GetMasterResponse, error) {
	return &v1.GetMasterResponse{ClusterID: a.cfg.ClusterID, ClusterName: a.cfg.ClusterName, MasterID: a.cfg.MasterID,
		RbacEnabled: bool(a.db.Roles), Version: a.cfg.Version, Product: "PRODUCT_UNSPECIFIED", UserManagementEnabled: true,
		Branding:       "determined", // the two values that clients know are determined and hpe
		SsoProviders:   login.Offered(a.cfg.SignIn, a.cfg.PublicURL),
		ClusterMessage: wireMessage(a.notice.shown(ctx, time.Now())),
	}, nil
}
