package about

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (m *master) info(context.Context, *rest.Call, *v1.None) (*v1.Info, error) {
	providers := each.Of(m.Providers(), func(p v1.SSOProvider) v1.InfoSSOProvider {
		return v1.InfoSSOProvider{Name: p.Name, SSOURL: p.SsoURL, Type: p.Type, AlwaysRedirect: p.AlwaysRedirect}
	})
	return &v1.Info{Version: m.Version, MasterID: m.MasterID, ClusterID: m.ClusterID,
		ClusterName: m.ClusterName, DetentVersion: m.DetentVersion, PublicURL: m.PublicURL, SSOProviders: providers}, nil
}

// telemetry answers that nothing is reported to anybody.
func (m *master) telemetry(context.Context, *rest.Call, *v1.None) (*v1.GetTelemetryResponse, error) {
	return &v1.GetTelemetryResponse{}, nil
}

func (m *master) master(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.GetMasterResponse, error) {
	return &v1.GetMasterResponse{ClusterID: m.ClusterID, ClusterName: m.ClusterName, MasterID: m.MasterID,
		RbacEnabled: m.Roles, Version: m.Version, Product: "PRODUCT_UNSPECIFIED", UserManagementEnabled: true,
		Branding:       "determined", // the two values that clients know are determined and hpe
		SsoProviders:   m.Providers(),
		ClusterMessage: m.notice.shown(ctx, time.Now()).wire(),
	}, nil
}
