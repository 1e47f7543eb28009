package v1

import "time"

// GetWorkspaceProjectsResponse is a message of the wire.
type GetWorkspaceProjectsResponse struct {
	Pagination Pagination `json:"pagination"`
	Projects   []Project  `json:"projects"`
}

// GetWorkspaceResponse is a message of the wire.
type GetWorkspaceResponse struct {
	Workspace Workspace `json:"workspace"`
}

// GetWorkspacesResponse is a message of the wire.
type GetWorkspacesResponse struct {
	Pagination Pagination  `json:"pagination"`
	Workspaces []Workspace `json:"workspaces"`
}

// PatchWorkspace is a message of the wire.
type PatchWorkspace struct {
	AgentUserGroup             *AgentUserGroup `json:"agentUserGroup,omitempty"`
	CheckpointStorageConfig    Struct          `json:"checkpointStorageConfig,omitempty"`
	DefaultAuxPool             *string         `json:"defaultAuxPool,omitempty"`
	DefaultAuxResourcePool     *string         `json:"defaultAuxResourcePool,omitempty"`
	DefaultComputePool         *string         `json:"defaultComputePool,omitempty"`
	DefaultComputeResourcePool *string         `json:"defaultComputeResourcePool,omitempty"`
	Name                       *string         `json:"name,omitempty"`
}

// PostWorkspaceRequest is a message of the wire.
type PostWorkspaceRequest struct {
	Name                    string          `json:"name"`
	AgentUserGroup          *AgentUserGroup `json:"agentUserGroup,omitempty"`
	CheckpointStorageConfig Struct          `json:"checkpointStorageConfig,omitempty"`
	DefaultAuxPool          *string         `json:"defaultAuxPool,omitempty"`
	DefaultComputePool      *string         `json:"defaultComputePool,omitempty"`
}

// PostWorkspaceResponse is a message of the wire.
type PostWorkspaceResponse struct {
	Workspace Workspace `json:"workspace"`
	// NamespaceBindings is of Kubernetes, and always empty; clients count it.
	NamespaceBindings map[string]Struct `json:"namespaceBindings"`
}

// Workspace is a message of the wire.
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

// WorkspaceState is an enum of the wire.
type WorkspaceState string

// The values of WorkspaceState.
const (
	WorkspaceStateUnspecified  WorkspaceState = "WORKSPACE_STATE_UNSPECIFIED"
	WorkspaceStateDeleting     WorkspaceState = "WORKSPACE_STATE_DELETING"
	WorkspaceStateDeleteFailed WorkspaceState = "WORKSPACE_STATE_DELETE_FAILED"
	WorkspaceStateDeleted      WorkspaceState = "WORKSPACE_STATE_DELETED"
)

// PatchWorkspaceResponse is a workspace after its change.
type PatchWorkspaceResponse struct {
	Workspace         Workspace         `json:"workspace"`
	NamespaceBindings map[string]Struct `json:"namespaceBindings"`
}

// DeleteWorkspaceResponse says whether the deletion is done or goes on.
type DeleteWorkspaceResponse struct {
	Completed bool `json:"completed"`
}
