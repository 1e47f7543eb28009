package v1

// A ScrapeTarget is an entry of GET /prom/det-http-sd-config, in the form of Prometheus' HTTP
// service discovery.
type ScrapeTarget struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

type GetMasterResponse struct {
	ClusterID             string          `json:"clusterId"`
	ClusterName           string          `json:"clusterName"`
	HasCustomLogo         bool            `json:"hasCustomLogo"`
	MasterID              string          `json:"masterId"`
	StrictJobQueueControl bool            `json:"strictJobQueueControl"`
	Version               string          `json:"version"`
	ClusterMessage        *ClusterMessage `json:"clusterMessage"` // null: no message is shown now
	Branding              string          `json:"branding"`
	ExternalLoginURI      string          `json:"externalLoginUri"`
	ExternalLogoutURI     string          `json:"externalLogoutUri"`
	FeatureSwitches       []string        `json:"featureSwitches"`
	Product               string          `json:"product"`
	RbacEnabled           bool            `json:"rbacEnabled"`
	SsoProviders          []SSOProvider   `json:"ssoProviders"`
	TelemetryEnabled      bool            `json:"telemetryEnabled"`
	UserManagementEnabled bool            `json:"userManagementEnabled"`
}

// GetMasterConfigResponse is the master's configuration without its secrets.
type GetMasterConfigResponse struct {
	Config Struct `json:"config"`
}

// PatchMasterConfigRequest changes the fields that its mask names.
type PatchMasterConfigRequest struct {
	Config    Config    `json:"config"`
	FieldMask FieldMask `json:"fieldMask"`
}

// Config is what can be changed of the masters' configuration while they run.
type Config struct {
	Log LogConfig `json:"log"`
}

type LogConfig struct {
	Level LogLevel `json:"level"`
	Color bool     `json:"color"`
}

// FieldMask names fields: log.level, log.color, or log for both.
type FieldMask struct {
	Paths []string `json:"paths"`
}

type SSOProvider struct {
	Name           string `json:"name"`
	SsoURL         string `json:"ssoUrl"`
	Type           string `json:"type"`
	AlwaysRedirect bool   `json:"alwaysRedirect"`
}

// Info has snake_case names: it is older than the rest of the API.
type Info struct {
	Version       string            `json:"version"`
	MasterID      string            `json:"master_id"`
	ClusterID     string            `json:"cluster_id"`
	ClusterName   string            `json:"cluster_name"`
	Telemetry     struct{}          `json:"telemetry"`
	SSOProviders  []InfoSSOProvider `json:"sso_providers"`
	DetentVersion string            `json:"detent_version"`
	PublicURL     string            `json:"public_url"`
}

// InfoSSOProvider is an identity provider in Info.
type InfoSSOProvider struct {
	Name           string `json:"name"`
	SSOURL         string `json:"sso_url"`
	Type           string `json:"type"`
	AlwaysRedirect bool   `json:"always_redirect"`
}

// GetTelemetryResponse is a message of the wire.
type GetTelemetryResponse struct {
	Enabled    bool   `json:"enabled"`
	SegmentKey string `json:"segmentKey"`
}
