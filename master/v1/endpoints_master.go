package v1

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
