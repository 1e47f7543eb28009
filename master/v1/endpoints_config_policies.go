package v1

// The endpoints of config policies.
var (
	GetGlobalConfigPolicies = Endpoint[None, GetGlobalConfigPoliciesResponse]{Method: "GET", Path: "/config-policies/global/:workload", Access: ByBoth, Object: KindCluster, Verb: View,
		Summary: "Get the config policies of the cluster for EXPERIMENT or NTSC"}
	PutGlobalConfigPolicies = Endpoint[PutGlobalConfigPoliciesRequest, PutGlobalConfigPoliciesResponse]{Method: "PUT", Path: "/config-policies/global/:workload", Access: ByAdmins, Object: KindCluster, Verb: Administer, Again: true, BodyLimit: ConfigBody,
		Summary: "Set the config policies of the cluster"}
	DeleteGlobalConfigPolicies = Endpoint[None, None]{Method: "DELETE", Path: "/config-policies/global/:workload", Access: ByAdmins, Object: KindCluster, Verb: Administer, Again: true,
		Summary: "Delete the config policies of the cluster"}
	GetWorkspaceConfigPolicies = Endpoint[None, GetWorkspaceConfigPoliciesResponse]{Method: "GET", Path: "/config-policies/workspaces/:id/:workload", Access: ByBoth, Object: KindWorkspace, Verb: View,
		Summary: "Get the config policies of a workspace for EXPERIMENT or NTSC"}
	PutWorkspaceConfigPolicies = Endpoint[PutWorkspaceConfigPoliciesRequest, PutWorkspaceConfigPoliciesResponse]{Method: "PUT", Path: "/config-policies/workspaces/:id/:workload", Access: ByUsers, Object: KindWorkspace, Verb: Change, Again: true, BodyLimit: ConfigBody,
		Summary: "Set the config policies of a workspace"}
	DeleteWorkspaceConfigPolicies = Endpoint[None, None]{Method: "DELETE", Path: "/config-policies/workspaces/:id/:workload", Access: ByUsers, Object: KindWorkspace, Verb: Change, Again: true,
		Summary: "Delete the config policies of a workspace"}
)
