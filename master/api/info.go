package api

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerInfo() {
	handle(a, "GET", "//info", public, "What answers here: the first call of every client", a.info)
	handle(a, "GET", "/master", public, "The master and its cluster", a.master)
	a.raw("GET", "//health", public, "Whether this master can serve: 200, or 503 with what is away", a.health)
	a.raw("GET", "//metrics", public, "Measurements for Prometheus; from another machine a bearer token is needed", a.prometheus)
}

// info is snake_case on the wire: it is older than the rest of the interface.
type info struct {
	Version       string   `json:"version"`
	MasterID      string   `json:"master_id"`
	ClusterID     string   `json:"cluster_id"`
	ClusterName   string   `json:"cluster_name"`
	Telemetry     struct{} `json:"telemetry"`
	SSOProviders  []string `json:"sso_providers"`
	DetentVersion string   `json:"detent_version"`
	PublicURL     string   `json:"public_url"`
}

func (a *API) info(context.Context, *call, *none) (*info, error) {
	return &info{Version: a.cfg.Version, MasterID: a.cfg.MasterID, ClusterID: a.cfg.ClusterID,
		ClusterName: a.cfg.ClusterName, DetentVersion: a.cfg.DetentVersion, PublicURL: a.cfg.PublicURL}, nil
}

func (a *API) master(context.Context, *call, *none) (*v1.GetMasterResponse, error) {
	return &v1.GetMasterResponse{ClusterID: a.cfg.ClusterID, ClusterName: a.cfg.ClusterName, MasterID: a.cfg.MasterID,
		Version: a.cfg.Version, Product: "PRODUCT_UNSPECIFIED", UserManagementEnabled: true,
		Branding: "determined", // the two values that clients know are determined and hpe
	}, nil
}
