package api

import (
	"context"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerInfo() {
	serve(a, v1.GetInfo, a.info)
	serve(a, v1.GetMaster, a.master)
	serve(a, v1.GetTelemetry, a.telemetry)
	serve(a, v1.GetClusterMessage, a.clusterMessage)
	serve(a, v1.SetClusterMessage, a.setClusterMessage)
	serve(a, v1.DeleteClusterMessage, a.deleteClusterMessage)
	raw(a, v1.GetHealth, a.health)
	raw(a, v1.GetMeasurements, a.prometheus)
}

func (a *API) info(context.Context, *call, *v1.None) (*v1.Info, error) {
	info := &v1.Info{Version: a.cfg.Version, MasterID: a.cfg.MasterID, ClusterID: a.cfg.ClusterID,
		ClusterName: a.cfg.ClusterName, DetentVersion: a.cfg.DetentVersion, PublicURL: a.cfg.PublicURL, SSOProviders: []v1.InfoSSOProvider{}}
	for _, p := range a.ssoProviders() {
		info.SSOProviders = append(info.SSOProviders, v1.InfoSSOProvider{Name: p.Name, SSOURL: p.SsoURL, Type: p.Type, AlwaysRedirect: p.AlwaysRedirect})
	}
	return info, nil
}

// telemetry answers that nothing is reported to anybody.
func (a *API) telemetry(context.Context, *call, *v1.None) (*v1.GetTelemetryResponse, error) {
	return &v1.GetTelemetryResponse{}, nil
}

func (a *API) master(ctx context.Context, _ *call, _ *v1.None) (*v1.GetMasterResponse, error) {
	return &v1.GetMasterResponse{ClusterID: a.cfg.ClusterID, ClusterName: a.cfg.ClusterName, MasterID: a.cfg.MasterID,
		RbacEnabled: a.db.UsesRoles(), Version: a.cfg.Version, Product: "PRODUCT_UNSPECIFIED", UserManagementEnabled: true,
		Branding:       "determined", // the two values that clients know are determined and hpe
		SsoProviders:   a.ssoProviders(),
		ClusterMessage: wireMessage(a.notice.shown(ctx, time.Now())),
	}, nil
}
