package v1

import "time"

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
	WorkspaceStateDeleted      WorkspaceState = "WORKSPACE_STATE_DELETED"
)

// PatchWorkspaceResponse is the changed workspace.
type PatchWorkspaceResponse struct {
	Workspace         Workspace         `json:"workspace"`
	NamespaceBindings map[string]Struct `json:"namespaceBindings"`
}

// DeleteWorkspaceResponse reports whether the deletion is complete.
type DeleteWorkspaceResponse struct {
	Completed bool `json:"completed"`
}
