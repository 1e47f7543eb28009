package v1

import "time"

// The endpoints of master.
var (
	GetInfo = Endpoint[None, Info]{Method: "GET", Path: "//info", Access: Public,
		Summary: "Get the product and version of this server: the first call of every client"}
	GetMaster = Endpoint[None, GetMasterResponse]{Method: "GET", Path: "/master", Access: Public,
		Summary: "Get the master and its cluster"}
	GetTelemetry = Endpoint[None, GetTelemetryResponse]{Method: "GET", Path: "/master/telemetry", Access: Public,
		Summary: "Check whether the cluster reports to its maker; Detent never does"}
	GetHealth = Endpoint[None, None]{Method: "GET", Path: "//health", Access: Public, Stream: true,
		Summary: "Check whether this master can serve: 200, or 503 with the servers that do not answer"}
	GetMeasurements = Endpoint[None, None]{Method: "GET", Path: "//metrics", Access: Public, Stream: true,
		Summary: "Get this master's metrics for Prometheus; from another machine with a bearer token"}
	GetScrapeTargets = Endpoint[None, []ScrapeTarget]{Method: "GET", Path: "//prom/det-http-sd-config", Access: Public,
		Summary: "List where Prometheus scrapes nodes: cAdvisor on port 8080, and NVIDIA's DCGM exporter on port 9400 of nodes with GPUs; from another machine with a bearer token"}
	ListProfiles = Endpoint[None, None]{Method: "GET", Path: "//debug/pprof", Access: ByAdmins, Object: KindCluster, Verb: Administer, Stream: true, Audit: AuditAlways,
		Summary: "List the profiles of this master, as a page"}
	GetProfile = Endpoint[None, None]{Method: "GET", Path: "//debug/pprof/:profile", Access: ByAdmins, Object: KindCluster, Verb: Administer, Stream: true, Audit: AuditAlways,
		Summary: "Profile this master: the heap, its goroutines, or its processor use for up to 60 seconds, in the form of Go's pprof",
		Others:  []string{"seconds", "debug", "gc"}}
	FollowUpdates = Endpoint[None, None]{Method: "GET", Path: "//stream", Access: ByBoth, Object: KindProject, Verb: View, List: true, Stream: true,
		Summary: "Follow projects, models and versions of models over a WebSocket, as Determined's streaming client does"}
	GetMasterConfig = Endpoint[None, GetMasterConfigResponse]{Method: "GET", Path: "/master/config", Access: ByAdmins, Object: KindCluster, Verb: Administer,
		Summary: "Get the master's configuration, without secrets"}
	PatchMasterConfig = Endpoint[PatchMasterConfigRequest, Empty]{Method: "PATCH", Path: "/master/config", Access: ByAdmins, Object: KindCluster, Verb: Administer, Again: true,
		Summary: "Change the level or the colour of the logs of all running masters; a master that starts later uses its configuration"}
	ListAudit = Endpoint[GetAuditRequest, AuditResponse]{Method: "GET", Path: "/detent/audit", Access: ByAdmins, Object: KindCluster, Verb: Administer, Audit: AuditAlways,
		Summary: "List the audit trail, the newest entries first"}
	GetClusterMessage = Endpoint[None, GetClusterMessageResponse]{Method: "GET", Path: "/master/cluster_message", Access: ByAdmins, Object: KindCluster, Verb: Administer,
		Summary: "Get the message to all users, also one that is not shown now"}
	SetClusterMessage = Endpoint[SetClusterMessageRequest, Empty]{Method: "PUT", Path: "/master/cluster_message", Access: ByAdmins, Object: KindCluster, Verb: Administer, Again: true,
		Summary: "Set the message to all users, and from when until when it is shown; it replaces the message before"}
	DeleteClusterMessage = Endpoint[None, Empty]{Method: "DELETE", Path: "/master/cluster_message", Access: ByAdmins, Object: KindCluster, Verb: Administer,
		Summary: "Clear the message to all users"}
	StreamMasterLogs = Endpoint[GetMasterLogsRequest, None]{Method: "GET", Path: "/master/logs", Access: ByUsers, Object: KindMasterLog, Verb: View, Stream: true,
		Summary: "Stream the log of the masters; a negative offset counts from the end"}
	TrustNomad = Endpoint[None, None]{Method: "POST", Path: "/detent/nomad/trust", Access: ByAdmins, Object: KindCluster, Verb: Administer, Again: true,
		Summary: "Trust Nomad's present state, after an administrator has checked it: the loop treats what Nomad no longer has as lost, once"}
	ListOrphans = Endpoint[None, GetOrphansResponse]{Method: "GET", Path: "/detent/nomad/orphans", Access: ByAdmins, Object: KindCluster, Verb: Administer,
		Summary: "List the jobs in Nomad that carry this cluster's id and have no row in the database; the master stops each an hour after it first saw the job"}
	DownloadRunner = Endpoint[None, None]{Method: "GET", Path: "//runner/:sha/:target", Access: Public, Stream: true,
		Summary: "Download the runner, the program that starts tasks"}
	DownloadRemover = Endpoint[None, None]{Method: "GET", Path: "//remover/:sha/:target", Access: Public, Stream: true,
		Summary: "Download the remover, the program of tasks that remove checkpoints"}
	DownloadDet = Endpoint[None, None]{Method: "GET", Path: "//cli/:sha/:target", Access: Public, Stream: true,
		Summary: "Download the command line, for programs in tasks"}
	DownloadHarness = Endpoint[None, None]{Method: "GET", Path: "//harness/:name", Access: Public, Stream: true,
		Summary: "Download the Python package for tasks, as <sha256>.tar.gz"}
	FollowLive = Endpoint[FollowLiveRequest, None]{Method: "GET", Path: "/detent/live", Access: ByUsers, Object: KindTrial, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Stream changes of state and the reports of trials as server-sent events, for pages"}
	GetOpenAPI = Endpoint[None, None]{Method: "GET", Path: "/openapi.json", Access: Public, Stream: true,
		Summary: "Get this description of the API, in OpenAPI 3.1"}
	GetSwagger = Endpoint[None, None]{Method: "GET", Path: "/api.swagger.json", Access: Public, Stream: true,
		Summary: "Get this description of the API under Determined's path"}
	GetDocs = Endpoint[None, None]{Method: "GET", Path: "//docs/rest-api", Access: Public, Stream: true,
		Summary: "Show this description of the API as a page"}
	GetPythonDocs = Endpoint[None, None]{Method: "GET", Path: "//docs/python", Access: Public, Stream: true,
		Summary: "Show the reference of the Python package: the list of its modules"}
	GetPythonModuleDocs = Endpoint[None, None]{Method: "GET", Path: "//docs/python/:module", Access: Public, Stream: true,
		Summary: "Show the reference of a module of the Python package"}
)

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

// ClusterMessage is a message of the administrators to all users.
type ClusterMessage struct {
	Message     string     `json:"message"`
	StartTime   time.Time  `json:"startTime"`
	EndTime     *time.Time `json:"endTime"` // null: until an administrator clears the message
	CreatedTime time.Time  `json:"createdTime"`
}

type GetClusterMessageResponse struct {
	ClusterMessage *ClusterMessage `json:"clusterMessage"`
}

// SetClusterMessageRequest sets the end as a time or as a duration (24h, 2d), or sets no end.
type SetClusterMessageRequest struct {
	Message   string     `json:"message"`
	StartTime *time.Time `json:"startTime"`
	EndTime   *time.Time `json:"endTime"`
	Duration  *string    `json:"duration"`
}

// Version is the version of all programs of Detent. Compatible is the release of Determined
// whose API Detent implements; Determined's clients compare it with their own version.
const (
	Version    = "0.1.0"
	Compatible = "0.38.1"
)
