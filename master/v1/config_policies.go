package v1

// PutGlobalConfigPoliciesRequest sets the policies of the cluster for one type of workload.
type PutGlobalConfigPoliciesRequest struct {
	WorkloadType   string `json:"workloadType"`
	ConfigPolicies string `json:"configPolicies"` // YAML or JSON
}

// PutWorkspaceConfigPoliciesRequest sets the policies of a workspace.
type PutWorkspaceConfigPoliciesRequest struct {
	WorkspaceID    int    `json:"workspaceId"`
	WorkloadType   string `json:"workloadType"`
	ConfigPolicies string `json:"configPolicies"`
}

type GetGlobalConfigPoliciesResponse struct {
	ConfigPolicies Struct `json:"configPolicies,null"` // {} if none are set
}

type GetWorkspaceConfigPoliciesResponse struct {
	ConfigPolicies Struct `json:"configPolicies,null"` // {} if none are set
}

type PutGlobalConfigPoliciesResponse struct {
	ConfigPolicies Struct `json:"configPolicies,null"` // {} if none are set
}

type PutWorkspaceConfigPoliciesResponse struct {
	ConfigPolicies Struct `json:"configPolicies,null"` // {} if none are set
}
