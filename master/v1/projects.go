package v1

import "time"

type GetProjectResponse struct {
	Project Project `json:"project"`
}

type Note struct {
	Contents string `json:"contents"`
	Name     string `json:"name"`
}

type PostProjectRequest struct {
	Name        string  `json:"name"`
	WorkspaceID int     `json:"workspaceId"`
	Description *string `json:"description,omitempty"`
	Key         *string `json:"key,omitempty"`
}

type PostProjectResponse struct {
	Project Project `json:"project"`
}

type Project struct {
	Archived                bool           `json:"archived"`
	ErrorMessage            string         `json:"errorMessage"`
	ID                      int            `json:"id"`
	Immutable               bool           `json:"immutable"`
	Key                     string         `json:"key"`
	Name                    string         `json:"name"`
	Notes                   []Note         `json:"notes"`
	NumActiveExperiments    int            `json:"numActiveExperiments"`
	NumExperiments          int            `json:"numExperiments"`
	NumRuns                 int            `json:"numRuns"`
	State                   WorkspaceState `json:"state"`
	UserID                  int            `json:"userId"`
	Username                string         `json:"username"`
	WorkspaceID             int            `json:"workspaceId"`
	Description             string         `json:"description"`
	LastExperimentStartedAt *time.Time     `json:"lastExperimentStartedAt"`
	WorkspaceName           string         `json:"workspaceName"`
}

// PatchProject changes a project.
type PatchProject struct {
	Description *string `json:"description,omitempty"`
	Key         *string `json:"key,omitempty"`
	Name        *string `json:"name,omitempty"`
}

// PatchProjectResponse is the changed project.
type PatchProjectResponse struct {
	Project Project `json:"project"`
}

// DeleteProjectResponse reports whether the deletion is complete.
type DeleteProjectResponse struct {
	Completed bool `json:"completed"`
}

// PutProjectNotesRequest replaces a project's notes.
type PutProjectNotesRequest struct {
	Notes     []Note `json:"notes"`
	ProjectID int    `json:"projectId"`
}

// AddProjectNoteResponse has all notes of the project.
type AddProjectNoteResponse struct {
	Notes []Note `json:"notes"`
}

// PutProjectNotesResponse has all notes of the project.
type PutProjectNotesResponse struct {
	Notes []Note `json:"notes"`
}

// MoveRequest names a project.
type MoveRequest struct {
	DestinationProjectID int `json:"destinationProjectId"`
	ExperimentID         int `json:"experimentId"`
}

// MoveManyRequest moves experiments of a project to another project.
type MoveManyRequest struct {
	DestinationProjectID int                    `json:"destinationProjectId"`
	ExperimentIDs        []int                  `json:"experimentIds"`
	Filters              *BulkExperimentFilters `json:"filters,omitempty"`
	ProjectID            int                    `json:"projectId"`
}

// MoveProjectRequest names the workspace to which a project is moved.
type MoveProjectRequest struct {
	DestinationWorkspaceID int `json:"destinationWorkspaceId"`
	ProjectID              int `json:"projectId"`
}
