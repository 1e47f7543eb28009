package v1

import "time"

// The endpoints of workspaces.
var (
	ListWorkspaces = Endpoint[GetWorkspacesRequest, GetWorkspacesResponse]{Method: "GET", Path: "/workspaces", Access: ByBoth, Object: KindWorkspace, Verb: View, List: true,
		Summary: "List workspaces"}
	CreateWorkspace = Endpoint[PostWorkspaceRequest, PostWorkspaceResponse]{Method: "POST", Path: "/workspaces", Access: ByUsers, Object: KindWorkspace, Verb: Create,
		Summary: "Create a workspace"}
	GetWorkspace = Endpoint[None, GetWorkspaceResponse]{Method: "GET", Path: "/workspaces/:id", Access: ByBoth, Object: KindWorkspace, Verb: View,
		Summary: "Get a workspace"}
	ChangeWorkspace = Endpoint[PatchWorkspace, PatchWorkspaceResponse]{Method: "PATCH", Path: "/workspaces/:id", Access: ByUsers, Object: KindWorkspace, Verb: Change, Again: true,
		Summary: "Change a workspace"}
	DeleteWorkspace = Endpoint[None, DeleteWorkspaceResponse]{Method: "DELETE", Path: "/workspaces/:id", Access: ByUsers, Object: KindWorkspace, Verb: Delete,
		Summary: "Delete an empty workspace"}
	ArchiveWorkspace = Endpoint[None, Empty]{Method: "POST", Path: "/workspaces/:id/archive", Access: ByUsers, Object: KindWorkspace, Verb: Change, Again: true,
		Summary: "Archive a workspace"}
	UnarchiveWorkspace = Endpoint[None, Empty]{Method: "POST", Path: "/workspaces/:id/unarchive", Access: ByUsers, Object: KindWorkspace, Verb: Change, Again: true,
		Summary: "Unarchive a workspace"}
	ListProjects = Endpoint[GetWorkspaceProjectsRequest, GetWorkspaceProjectsResponse]{Method: "GET", Path: "/workspaces/:id/projects", Access: ByBoth, Object: KindWorkspace, Verb: View, List: true,
		Summary: "List the projects of a workspace"}
	CreateProject = Endpoint[PostProjectRequest, PostProjectResponse]{Method: "POST", Path: "/workspaces/:id/projects", Access: ByUsers, Object: KindWorkspace, Verb: View,
		Summary: "Create a project in a workspace"}
	PinWorkspace = Endpoint[None, Empty]{Method: "POST", Path: "/workspaces/:id/pin", Access: ByUsers, Object: KindWorkspace, Verb: View, Again: true,
		Summary: "Pin a workspace"}
	UnpinWorkspace = Endpoint[None, Empty]{Method: "POST", Path: "/workspaces/:id/unpin", Access: ByUsers, Object: KindWorkspace, Verb: View, Again: true,
		Summary: "Unpin a workspace"}
)

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

// The endpoints of templates.
var (
	ListTemplates = Endpoint[GetTemplatesRequest, GetTemplatesResponse]{Method: "GET", Path: "/templates", Access: ByBoth, Object: KindTemplate, Verb: View, List: true,
		Summary: "List templates"}
	GetTemplate = Endpoint[None, TemplateResponse]{Method: "GET", Path: "/templates/:name", Access: ByBoth, Object: KindTemplate, Verb: View,
		Summary: "Get a template"}
	CreateTemplate = Endpoint[Template, TemplateResponse]{Method: "POST", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Create, BodyLimit: ConfigBody,
		Summary: "Create a template"}
	PutTemplate = Endpoint[Template, TemplateResponse]{Method: "PUT", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Change, Again: true, BodyLimit: ConfigBody,
		Summary: "Create a template, or replace its configuration"}
	ChangeTemplate = Endpoint[Struct, TemplateResponse]{Method: "PATCH", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Change, Again: true, BodyLimit: ConfigBody,
		Summary: "Replace the configuration of a template with the body"}
	DeleteTemplate = Endpoint[None, None]{Method: "DELETE", Path: "/templates/:name", Access: ByUsers, Object: KindTemplate, Verb: Change,
		Summary: "Delete a template"}
	RenameTemplate = Endpoint[PatchTemplateNameRequest, TemplateResponse]{Method: "PATCH", Path: "/template/rename", Access: ByUsers, Object: KindTemplate, Verb: Change, NamedIn: Body,
		Summary: "Rename a template"}
)

type GetWorkspaceProjectsResponse struct {
	Pagination Pagination `json:"pagination"`
	Projects   []Project  `json:"projects"`
}

// Records returns the records of the page.
func (r GetWorkspaceProjectsResponse) Records() ([]Project, Pagination) {
	return r.Projects, r.Pagination
}

type GetWorkspaceResponse struct {
	Workspace Workspace `json:"workspace"`
}

type GetWorkspacesResponse struct {
	Pagination Pagination  `json:"pagination"`
	Workspaces []Workspace `json:"workspaces"`
}

// Records returns the records of the page.
func (r GetWorkspacesResponse) Records() ([]Workspace, Pagination) { return r.Workspaces, r.Pagination }

type PatchWorkspace struct {
	AgentUserGroup             *AgentUserGroup `json:"agentUserGroup,omitempty"`
	CheckpointStorageConfig    Struct          `json:"checkpointStorageConfig,omitempty"`
	DefaultAuxPool             *string         `json:"defaultAuxPool,omitempty"`
	DefaultAuxResourcePool     *string         `json:"defaultAuxResourcePool,omitempty"`
	DefaultComputePool         *string         `json:"defaultComputePool,omitempty"`
	DefaultComputeResourcePool *string         `json:"defaultComputeResourcePool,omitempty"`
	Name                       *string         `json:"name,omitempty"`
}

type PostWorkspaceRequest struct {
	Name                    string          `json:"name"`
	AgentUserGroup          *AgentUserGroup `json:"agentUserGroup,omitempty"`
	CheckpointStorageConfig Struct          `json:"checkpointStorageConfig,omitempty"`
	DefaultAuxPool          *string         `json:"defaultAuxPool,omitempty"`
	DefaultComputePool      *string         `json:"defaultComputePool,omitempty"`
}

type PostWorkspaceResponse struct {
	Workspace Workspace `json:"workspace"`
	// NamespaceBindings is for Kubernetes, and always empty; clients read its length.
	NamespaceBindings map[string]Struct `json:"namespaceBindings"`
}

type Workspace struct {
	Archived                bool            `json:"archived"`
	ErrorMessage            string          `json:"errorMessage"`
	ID                      int             `json:"id"`
	Immutable               bool            `json:"immutable"`
	Name                    string          `json:"name"`
	NumExperiments          int             `json:"numExperiments"`
	NumProjects             int             `json:"numProjects"`
	Pinned                  bool            `json:"pinned"`
	State                   WorkspaceState  `json:"state"`
	UserID                  int             `json:"userId"`
	Username                string          `json:"username"`
	AgentUserGroup          *AgentUserGroup `json:"agentUserGroup"`
	CheckpointStorageConfig Struct          `json:"checkpointStorageConfig,null"`
	DefaultAuxPool          string          `json:"defaultAuxPool"`
	DefaultComputePool      string          `json:"defaultComputePool"`
	PinnedAt                *time.Time      `json:"pinnedAt"`
}

type WorkspaceState string

const (
	WorkspaceStateUnspecified  WorkspaceState = "WORKSPACE_STATE_UNSPECIFIED"
	WorkspaceStateDeleting     WorkspaceState = "WORKSPACE_STATE_DELETING"
	WorkspaceStateDeleteFailed WorkspaceState = "WORKSPACE_STATE_DELETE_FAILED"
)

// PatchWorkspaceResponse is the changed workspace.
type PatchWorkspaceResponse PostWorkspaceResponse

// DeleteWorkspaceResponse reports whether the deletion is complete.
type DeleteWorkspaceResponse DeleteProjectResponse

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

type GetWorkspaceConfigPoliciesResponse GetGlobalConfigPoliciesResponse

type PutGlobalConfigPoliciesResponse GetGlobalConfigPoliciesResponse

type PutWorkspaceConfigPoliciesResponse GetGlobalConfigPoliciesResponse

// Template is a configuration that is merged under those of experiments and tasks. Source,
// which Determined does not have, is the configuration as YAML, as the user wrote it.
type Template struct {
	Config      Struct  `json:"config"`
	Name        string  `json:"name"`
	WorkspaceID int     `json:"workspaceId"`
	Source      *string `json:"source,omitempty"`
}

type GetTemplatesResponse struct {
	Pagination Pagination `json:"pagination"`
	Templates  []Template `json:"templates"`
}

// Records returns the records of the page.
func (r GetTemplatesResponse) Records() ([]Template, Pagination) { return r.Templates, r.Pagination }

// TemplateResponse is the response of all requests for one template.
type TemplateResponse struct {
	Template Template `json:"template"`
}

type PatchTemplateNameRequest struct {
	NewName string `json:"newName"`
	OldName string `json:"oldName"`
}
