package v1

// The endpoints of master.
var (
	GetInfo = Endpoint[None, Info]{Method: "GET", Path: "//info", Access: Public,
		Summary: "What answers here: the first call of every client"}
	GetMaster = Endpoint[None, GetMasterResponse]{Method: "GET", Path: "/master", Access: Public,
		Summary: "The master and its cluster"}
	GetHealth = Endpoint[None, None]{Method: "GET", Path: "//health", Access: Public, Stream: true,
		Summary: "Whether this master can serve: 200, or 503 with what is away"}
	GetMeasurements = Endpoint[None, None]{Method: "GET", Path: "//metrics", Access: Public, Stream: true,
		Summary: "Measurements for Prometheus; from another machine a bearer token is needed"}
	GetMasterConfig = Endpoint[None, GetMasterConfigResponse]{Method: "GET", Path: "/master/config", Access: ByAdmins, Object: KindCluster, Verb: Administer,
		Summary: "The master's configuration, without secrets"}
	StreamMasterLogs = Endpoint[None, None]{Method: "GET", Path: "/master/logs", Access: ByUsers, Object: KindCluster, Verb: View, Stream: true,
		Summary: "What the masters have to tell, as a stream; offset may be negative",
		Params:  "follow limit offset"}
	TrustNomad = Endpoint[None, None]{Method: "POST", Path: "/detent/nomad/trust", Access: ByAdmins, Object: KindCluster, Verb: Administer, Again: true,
		Summary: "Say that you have looked, and that what Nomad lacks now is gone: the loop concludes from it once"}
	ListOrphans = Endpoint[None, GetOrphansResponse]{Method: "GET", Path: "/detent/nomad/orphans", Access: ByAdmins, Object: KindCluster, Verb: Administer,
		Summary: "Jobs in Nomad that carry this cluster's id and have no row in the database: each is stopped an hour after it was first seen"}
	DownloadRunner = Endpoint[None, None]{Method: "GET", Path: "//runner/:sha/:target", Access: Public, Stream: true,
		Summary: "The program that starts tasks"}
	DownloadDet = Endpoint[None, None]{Method: "GET", Path: "//cli/:sha/:target", Access: Public, Stream: true,
		Summary: "The command line, for programs in tasks"}
	DownloadHarness = Endpoint[None, None]{Method: "GET", Path: "//harness/:name", Access: Public, Stream: true,
		Summary: "The Python package for tasks, as <sha256>.tar.gz"}
	FollowLive = Endpoint[None, None]{Method: "GET", Path: "/detent/live", Access: ByUsers, Object: KindTrial, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Follow what moves, and the reports of trials, as server-sent events: what a page shows over one connection",
		Params:  "trials after"}
	GetOpenAPI = Endpoint[None, None]{Method: "GET", Path: "/openapi.json", Access: Public, Stream: true,
		Summary: "This interface in OpenAPI 3.1"}
	GetSwagger = Endpoint[None, None]{Method: "GET", Path: "/api.swagger.json", Access: Public, Stream: true,
		Summary: "The same, under the path that Determined has for it"}
	GetDocs = Endpoint[None, None]{Method: "GET", Path: "//docs/rest-api", Access: Public, Stream: true,
		Summary: "This interface as a page to read"}
)
